//! Every limit of a batch, in one place, with the relations between them checked at build time.

use std::time::Duration;

use turnwise::limits::{JOBS_PER_FANOUT, PAYLOAD_BYTES, RESULT_BYTES};

/// Most runs of one batch.
pub(crate) const RUNS: u64 = 100_000_000;
/// Most results of single teams in one batch: a run of three teams has three. They are kept, a few bytes each.
pub(crate) const TEAM_RUNS: u64 = 400_000_000;
/// Most rows and tiles, counted for each team, that a batch keeps times of: its aggregates are one result of a job.
pub(crate) const TIMES_KEPT: usize = 4_096;
/// Longest seed, in bytes.
pub(crate) const SEED_BYTES: usize = 256;
/// Largest order: the scenario and a little more.
pub(crate) const ORDER_BYTES: usize = PAYLOAD_BYTES;
/// How long a range should take: long enough that the engine's part is small, short enough that a crash costs little. It is
/// twice as long while two ranges share a processor.
pub(crate) const RANGE_TIME: Duration = Duration::from_millis(100);
/// A range that takes longer than this is stopped, and divided.
pub(crate) const RANGE_DEADLINE: Duration = Duration::from_secs(600);
/// How long the plan may try how fast runs are.
pub(crate) const TRIAL_TIME: Duration = Duration::from_millis(20);
/// Most runs in a trial.
pub(crate) const TRIAL_RUNS: u64 = 1_024;
/// Most runs in one range.
pub(crate) const RANGE_RUNS: u64 = 65_536;
/// Most ranges of a batch, before any is split: with more runs, ranges take longer.
pub(crate) const RANGES: u64 = 9_000;
/// Runs of one range that may fail and be tried on their own. A range with more is divided first.
pub(crate) const PEELED: usize = 500;
/// Attempts of a run on its own, after it failed in its range.
pub(crate) const ATTEMPTS: u16 = 5;
/// Failed runs that are told one by one; the others are counted.
pub(crate) const FAILURES_TOLD: usize = 100;
/// Characters of an error that are told with a failed run.
pub(crate) const FAILURE_CHARS: usize = 300;
/// Bytes of an encoded piece that fit into a result, which is text: three bytes are four letters.
pub(crate) const PIECE_BYTES: usize = (RESULT_BYTES - 1_024) / 4 * 3;
/// Runs between two looks at whether to go on.
pub(crate) const LOOK_RUNS: u64 = 64;
/// Scenarios that a process keeps ready to be simulated.
pub(crate) const KNOWN: usize = 8;
/// Batches in one page of a listing.
pub(crate) const PAGE: usize = 100;
/// Batches of the engine, of whatever kind, among which one page is looked for.
pub(crate) const LOOKED_AT: usize = 2_000;
/// Jobs of a batch in one look.
pub(crate) const JOBS_PER_LOOK: usize = 500;
/// Runs that a process tells event by event at once.
pub(crate) const TOLD_AT_ONCE: usize = 2;

const _: () = assert!(RANGES <= JOBS_PER_FANOUT as u64);
const _: () = assert!(PEELED <= JOBS_PER_FANOUT);
