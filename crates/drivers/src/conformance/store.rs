//! The store's rules, one function each: its name is the rule.
//!
//! A driver passes when [`crate::store_conformance`] has made and run a test of every rule for it, and when
//! [`differ::live_the_same`] finds no difference between it and another driver.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a rule's name is its sentence; a rule that does not hold panics; each rule owns its world"
)]

pub mod batches;
pub mod chance;
pub mod claims;
pub mod controls;
pub mod counts;
pub mod differ;
pub mod dump;
pub mod events;
pub mod generate;
pub mod lanes;
pub mod listings;
pub mod promises;
pub mod rights;
pub mod sessions;
pub mod settle;
pub mod steps;
pub mod submit;
pub mod sweeps;
pub mod tokens;
pub mod world;

/// Makes one test of every rule of the store for a driver: `store_conformance!(sqlite, SqliteFactory);`
#[macro_export]
macro_rules! store_conformance {
    ($driver:ident, $factory:ident) => {
        mod $driver {
            $crate::store_rules! { $factory
                promises {
                    a_refused_unit_leaves_no_trace strangers_are_not_rolled_back
                    what_was_answered_is_there_after_reopen a_resent_submission_is_accepted_once
                    one_live_claim an_older_fence_is_refused ready_is_in_submit_order
                    a_deep_line_hides_nobody a_tail_misses_nothing an_old_cursor_is_told
                    the_stores_clock_decides
                }
                submit {
                    a_new_job_is_there_as_it_was_sent an_unknown_kind_is_refused payloads_have_a_limit
                    absurd_delays_are_refused a_delayed_job_waits_for_its_time
                    a_quota_is_kept_inside_one_bulk_too a_job_that_is_there_needs_no_quota
                    an_id_stands_for_one_job a_unique_key_answers_with_the_same_job
                    a_unique_window_runs_from_submit every_key_of_a_job_answers_for_it doubles_inside_one_bulk_are_folded
                    a_key_until_settled_is_free_at_the_end a_sealed_batch_takes_no_more
                    an_empty_batch_is_refused a_batch_id_stands_for_one_batch
                    a_continuation_is_nobody_elses_job attempts_are_at_least_one
                }
                claims {
                    a_claim_has_all_that_a_worker_needs a_job_can_be_claimed_in_the_commit_that_brings_it
                    a_stale_ticket_is_refused a_dead_session_claims_nothing a_cap_holds_for_the_whole_kind
                    a_cap_holds_inside_one_commit a_key_has_its_own_cap
                    a_cap_that_comes_late_is_judged_by_the_truth rates_are_kept rates_outlive_a_restart
                    a_key_has_its_own_rate what_is_paused_is_not_claimed
                    a_bound_kind_is_claimed_by_the_leases_holder
                }
                settle {
                    done_keeps_the_result a_failed_run_is_tried_again_and_then_dead an_error_has_a_class
                    errors_are_cut_and_counted errors_are_bounded_whatever_comes_between
                    a_snooze_is_no_failure a_release_burns_no_attempt a_handler_can_stop_its_job
                    a_run_that_was_to_end_ends_cancelled fan_out_commits_with_the_completion
                    fan_out_of_other_verdicts_is_not_taken fan_out_grows_its_own_sealed_batch
                    a_replayed_job_grows_an_open_batch a_refused_fan_out_refuses_the_completion
                    a_completion_and_the_next_claim_fit_into_one_commit
                }
                steps {
                    steps_are_kept_in_the_order_they_ended a_retry_resumes_after_them
                    a_step_sent_again_is_the_same_step a_refused_fan_out_refuses_the_step
                    a_step_grows_its_own_sealed_batch an_older_fence_makes_no_step steps_have_limits
                    progress_is_what_was_said_last
                }
                lanes {
                    one_at_a_time_in_submit_order a_retry_overtakes_nobody
                    a_head_that_is_not_due_holds_its_lane cancelling_keeps_the_order
                    a_rescued_head_stays_the_head a_paused_lane_stands_still
                    a_head_that_runs_into_a_pause_is_held_when_it_comes_back a_held_head_keeps_its_due_time
                    a_strict_lane_halts_on_a_dead_letter a_replayed_job_joins_the_tail
                    a_lane_of_a_thousand_in_one_bulk who_waits_is_listed_from_the_end lanes_do_not_wait_for_each_other
                    a_lane_goes_across_batches_and_owners a_continuation_joins_its_lane_when_it_is_released
                    a_continuation_waits_for_a_paused_lane
                }
                batches {
                    then_follows_however_they_ended all_done_follows_if_all_were_done
                    a_parked_batch_is_repaired_by_replay a_repair_before_the_end_counts
                    a_parked_batch_is_released_by_hand a_parked_batch_can_be_given_up
                    replay_after_settling_never_counts_again an_open_batch_never_settles
                    cancelling_a_batch_ends_its_jobs_by_sweep
                    a_replay_lives_although_its_batch_was_cancelled
                    sweeping_a_batch_that_lives_changes_nothing an_abandoned_open_batch_can_be_cancelled
                    a_continuation_that_was_cancelled_stays_so a_forgotten_continuation_stops_nobody
                    a_forgotten_continuation_does_not_come_back_with_its_batch
                    the_last_two_of_a_batch_may_end_in_one_commit a_settled_batch_can_be_forgotten
                    batches_are_listed_newest_first
                }
                sessions {
                    a_beat_prolongs a_job_is_rescued_only_after_the_end
                    a_late_worker_may_still_end_what_nobody_rescued a_poison_job_ends_dead
                    a_rescued_job_that_was_to_end_ends a_session_is_buried_when_it_runs_nothing
                    a_closed_session_has_not_died numbers_differ there_are_only_so_many_numbers
                    numbers_go_on_after_reopen what_a_node_does_is_known_until_it_is_buried
                }
                rights {
                    one_holder_at_a_time terms_only_grow_whatever_happens only_the_current_term_is_renewed
                    what_is_given_back_is_free_at_once taking_a_lease_is_told
                }
                sweeps {
                    only_what_is_due_ripens a_sweep_has_a_limit what_is_forgotten_is_gone
                    forgetting_in_the_commit_that_wrote_it_leaves_nothing
                    what_has_not_ended_is_not_forgotten ended_jobs_are_found_by_age
                    a_trim_forgets_events_and_nothing_else what_has_ended_expires
                }
                counts {
                    every_state_is_counted counts_are_kept_apart totals_are_of_all_owners a_whole_life_leaves_the_right_counts
                    what_was_done_stays_counted an_owner_is_what_was_set
                }
                events {
                    a_life_is_told the_end_of_a_worker_is_told a_batch_is_told_in_order a_lane_is_told
                    settings_are_told_once what_somebody_did_is_told hints_name_the_lines_that_may_have_work
                    a_hint_has_the_last_cursor_after_reopen_too states_in_events_replay_to_the_rows
                }
                controls {
                    cancel_ends_what_has_not_ended retry_now_hurries_what_is_due_later
                    replay_revives_the_dead_and_the_cancelled
                    cancelling_a_running_job_twice_is_cancelling_it_once a_replayed_job_has_all_its_attempts
                    what_is_not_there_is_said_so rules_that_make_no_sense_are_refused
                    limits_change_and_nothing_else a_durable_queue_keeps_its_order
                }
                tokens { tokens_are_what_was_set there_are_only_so_many_tokens }
                listings {
                    listings_go_page_by_page every_filter_finds_what_fits times_are_those_in_the_ids
                    what_is_far_back_is_found lanes_have_names lines_say_what_their_jobs_have_in_common
                }
            }
        }
    };
}

/// Makes one test of each rule.
#[doc(hidden)]
#[macro_export]
macro_rules! store_rules {
    ($factory:ident $($chapter:ident { $($rule:ident)* })*) => {$(
        mod $chapter {
            $(
                #[tokio::test]
                async fn $rule() {
                    let world = <super::super::$factory as $crate::conformance::store::world::Factory>::fresh();
                    $crate::conformance::store::$chapter::$rule(world.await).await;
                }
            )*
        }
    )*};
}
