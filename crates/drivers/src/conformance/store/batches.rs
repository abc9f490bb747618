//! A batch settles once, and its continuation is released once.

use turnwise_core::batch::{Phase, When};
use turnwise_core::event::Event;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::refusal::Refusal;
use turnwise_core::schedule::Target;
use turnwise_core::time::secs;

use super::dump::events_of;
use super::world::{World, jobs_of, settle};
use crate::store::{Control, Found, NewJob, Read, Submission, Sweep, Unit, Verdict};

use State::{Cancelled, Dead, Done, Ready, Running, Waiting};

async fn counts(world: &World, id: BatchId) -> (Phase, [u64; 5]) {
    let batch = world.batch(id).await;
    (batch.phase, [batch.total, batch.done, batch.dead, batch.cancelled, batch.repaired])
}

/// How often the store said that something became of a batch.
async fn said(world: &World, event: Event) -> usize {
    events_of(world.store()).await.into_iter().filter(|(_, _, known)| *known == event).count()
}

pub async fn then_follows_however_they_ended(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 3, Some(When::Settled)).await;
    world.run(jobs[0]).await;
    world.kill(jobs[1]).await;
    assert_eq!(world.state(then.unwrap()).await, Waiting);
    world.advance(secs(1));
    world.control(Control::Cancel(jobs[2])).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [3, 1, 1, 1, 0]));
    assert_eq!(world.batch(id).await.settled, world.now());
    assert_eq!(said(&world, Event::BatchSettled(id)).await, 1);
    world.run(then.unwrap()).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [3, 1, 1, 1, 0]), "it is not one of them");
    world.dump().await.check();
}

pub async fn all_done_follows_if_all_were_done(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 2, Some(When::AllDone)).await;
    world.run(jobs[0]).await;
    // A failure that a retry mends is none.
    let claimed = world.claim(jobs[1]).await;
    world.fail(&claimed).await;
    world.advance(secs(10));
    world.run(jobs[1]).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [2, 2, 0, 0, 0]));
    assert_eq!(world.state(then.unwrap()).await, Ready);
}

pub async fn a_parked_batch_is_repaired_by_replay(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 3, Some(When::AllDone)).await;
    world.kill(jobs[0]).await;
    world.control(Control::Cancel(jobs[1])).await;
    world.run(jobs[2]).await;
    assert_eq!(counts(&world, id).await, (Phase::Parked, [3, 1, 1, 1, 0]));
    world.control(Control::Replay(jobs[0])).await;
    // A replay that fails again repairs nothing and counts nothing.
    world.kill(jobs[0]).await;
    assert_eq!(counts(&world, id).await, (Phase::Parked, [3, 1, 1, 1, 0]));
    for job in [jobs[0], jobs[1]] {
        assert_eq!(world.state(then.unwrap()).await, Waiting);
        world.control(Control::Replay(job)).await;
        world.run(job).await;
    }
    assert_eq!(counts(&world, id).await, (Phase::Settled, [3, 1, 1, 1, 2]));
    assert_eq!(world.state(then.unwrap()).await, Ready);
    assert_eq!(said(&world, Event::BatchReleased(id)).await, 1);
    world.dump().await.check();
}

pub async fn a_repair_before_the_end_counts(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 2, Some(When::AllDone)).await;
    world.kill(jobs[0]).await;
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
    world.run(jobs[1]).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [2, 1, 1, 0, 1]));
    assert_eq!(world.state(then.unwrap()).await, Ready);
}

pub async fn a_parked_batch_is_released_by_hand(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 1, Some(When::AllDone)).await;
    let release = || Unit::Control(Control::ReleaseBatch(id));
    assert_eq!(world.refused(release()).await, Refusal::NotParked(id));
    world.kill(jobs[0]).await;
    world.ok(release()).await;
    assert_eq!(world.state(then.unwrap()).await, Ready);
    assert_eq!(world.refused(release()).await, Refusal::NotParked(id));
    // A late repair releases nothing again.
    world.run(then.unwrap()).await;
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [1, 0, 1, 0, 1]));
    assert_eq!(world.state(then.unwrap()).await, Done);
    world.dump().await.check();
}

pub async fn a_parked_batch_can_be_given_up(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 1, Some(When::AllDone)).await;
    world.kill(jobs[0]).await;
    world.control(Control::CancelBatch(id)).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [1, 0, 1, 0, 0]));
    assert_eq!(world.state(then.unwrap()).await, Cancelled);
    world.refused(Unit::Control(Control::CancelBatch(id))).await;
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
    assert_eq!(world.state(then.unwrap()).await, Cancelled, "the answer was no");
    world.dump().await.check();
}

pub async fn replay_after_settling_never_counts_again(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 2, Some(When::Settled)).await;
    world.kill(jobs[0]).await;
    world.control(Control::Cancel(jobs[1])).await;
    world.run(then.unwrap()).await;
    for job in &jobs {
        world.control(Control::Replay(*job)).await;
        world.kill(*job).await;
        world.control(Control::Replay(*job)).await;
        world.run(*job).await;
    }
    assert_eq!(counts(&world, id).await, (Phase::Settled, [2, 0, 1, 1, 2]));
    assert_eq!(world.state(then.unwrap()).await, Done);
    assert_eq!(said(&world, Event::BatchSettled(id)).await, 1);
}

pub async fn an_open_batch_never_settles(world: World) {
    world.kind("k").await;
    let (open, then) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let part = || NewJob { batch: Some(id), ..world.job("k") };
    let [first, second] = [part(), part()];
    world.send(Submission { open: vec![open], ..jobs_of([first.clone()]) }).await;
    world.run(first.id).await;
    assert_eq!(counts(&world, id).await, (Phase::Open, [1, 1, 0, 0, 0]));
    world.submit_one(second.clone()).await;
    world.run(second.id).await;
    assert_eq!(world.state(then.unwrap()).await, Waiting);
    // The last part seals it, and that settles it at once; sealing again changes nothing.
    let seal = Submission { seal: vec![id], ..Submission::default() };
    world.send(seal.clone()).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [2, 2, 0, 0, 0]));
    let before = world.dump().await;
    world.send(seal).await;
    before.assert_same(&world.dump().await, "sealing twice");
    assert_eq!(world.state(then.unwrap()).await, Ready);
}

pub async fn cancelling_a_batch_ends_its_jobs_by_sweep(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 4, Some(When::Settled)).await;
    let stranger = world.submit_one(world.job("k")).await;
    world.run(jobs[0]).await;
    let running = world.claim(jobs[1]).await;
    world.control(Control::CancelBatch(id)).await;
    world.control(Control::CancelBatch(id)).await;
    // From now on nothing of it starts, and nothing joins it.
    assert_eq!(world.claim_refused(jobs[2]).await, Refusal::BatchCancelled(id));
    let more = NewJob { batch: Some(id), ..world.job("k") };
    assert_eq!(world.refused(Unit::Submit(jobs_of([more.clone()]))).await, Refusal::BatchCancelled(id));
    let fan_out = settle(&running, Verdict::Done(None), jobs_of([more]));
    assert_eq!(world.refused(fan_out).await, Refusal::BatchCancelled(id));
    let unfinished = unfinished(&world, id).await;
    assert_eq!(unfinished, jobs[1..], "the continuation is not one of them");
    let sweep = Sweep::CancelJobs(unfinished.into_iter().chain([stranger, jobs[0]]).collect());
    assert_eq!(world.sweep(sweep).await, 3);
    assert_eq!(world.states(&jobs).await, [Done, Running, Cancelled, Cancelled]);
    assert_eq!((world.state(stranger).await, world.state(then.unwrap()).await), (Ready, Waiting));
    world.fail(&running).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [4, 1, 0, 3, 0]));
    // `then` means always: it can be claimed although its batch was cancelled.
    world.run(then.unwrap()).await;
    world.dump().await.check();
}

async fn unfinished(world: &World, batch: BatchId) -> Vec<JobId> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = world.read(Read::BatchJobs { batch, after, limit: 2 }).await;
        let Found::Ids { ids, after: next, .. } = page else { panic!("ids were asked for") };
        found.extend(ids);
        if next.is_none() {
            return found;
        }
        after = next;
    }
}

pub async fn a_replay_lives_although_its_batch_was_cancelled(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 1, Some(When::AllDone)).await;
    world.control(Control::CancelBatch(id)).await;
    world.sweep(Sweep::CancelJobs(jobs.clone())).await;
    assert_eq!(world.batch(id).await.phase, Phase::Parked);
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
    assert_eq!(world.state(then.unwrap()).await, Ready);
    world.run(then.unwrap()).await;
}

pub async fn sweeping_a_batch_that_lives_changes_nothing(world: World) {
    world.kind("k").await;
    let (_, jobs, _) = world.batch_of("k", 2, None).await;
    let before = world.dump().await;
    assert_eq!(world.sweep(Sweep::CancelJobs(jobs)).await, 0);
    before.assert_same(&world.dump().await, "a sweep of a batch that was not cancelled");
}

pub async fn an_abandoned_open_batch_can_be_cancelled(world: World) {
    world.kind("k").await;
    let (empty, then) = world.new_batch("k", Some(When::Settled));
    world.send(Submission { open: vec![empty.clone()], ..Submission::default() }).await;
    world.control(Control::CancelBatch(empty.id)).await;
    assert_eq!(counts(&world, empty.id).await, (Phase::Settled, [0; 5]));
    assert_eq!(world.state(then.unwrap()).await, Cancelled, "nothing of it ever was");
    // One whose jobs have all ended settles at once.
    let (open, then) = world.new_batch("k", Some(When::Settled));
    let member = NewJob { batch: Some(open.id), ..world.job("k") };
    let id = open.id;
    world.send(Submission { open: vec![open], ..jobs_of([member.clone()]) }).await;
    world.run(member.id).await;
    world.control(Control::CancelBatch(id)).await;
    assert_eq!(counts(&world, id).await, (Phase::Settled, [1, 1, 0, 0, 0]));
    assert_eq!(world.state(then.unwrap()).await, Ready);
    let unknown = BatchId::from_u64(3);
    let refusal = world.refused(Unit::Control(Control::CancelBatch(unknown))).await;
    assert_eq!(refusal, Refusal::UnknownBatch(unknown));
    world.dump().await.check();
}

pub async fn a_continuation_that_was_cancelled_stays_so(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 1, Some(When::Settled)).await;
    let then = then.unwrap();
    world.control(Control::Cancel(then)).await;
    // Nothing would hold it back before its batch has settled.
    assert!(matches!(world.refused(Unit::Control(Control::Replay(then))).await, Refusal::Invalid(_)));
    world.run(jobs[0]).await;
    assert_eq!((world.batch(id).await.phase, world.state(then).await), (Phase::Settled, Cancelled));
    world.control(Control::Replay(then)).await;
    world.run(then).await;
    world.dump().await.check();
}

pub async fn a_forgotten_continuation_stops_nobody(world: World) {
    world.kind("k").await;
    for end in [Done, Dead, Cancelled] {
        let when = if end == Done { When::Settled } else { When::AllDone };
        let (id, jobs, then) = world.batch_of("k", 2, Some(when)).await;
        world.control(Control::Cancel(then.unwrap())).await;
        assert_eq!(world.sweep(Sweep::Forget(vec![then.unwrap()])).await, 1);
        world.run(jobs[0]).await;
        match end {
            Done => world.run(jobs[1]).await,
            Dead => {
                world.kill(jobs[1]).await;
                world.control(Control::ReleaseBatch(id)).await;
            }
            _ => {
                world.control(Control::Cancel(jobs[1])).await;
                world.control(Control::CancelBatch(id)).await;
            }
        }
        assert_eq!(world.batch(id).await.phase, Phase::Settled);
    }
    world.dump().await.check();
}

pub async fn a_forgotten_continuation_does_not_come_back_with_its_batch(world: World) {
    world.kind("k").await;
    let (open, then) = world.new_batch("k", Some(When::Settled));
    let submission = Submission { open: vec![open.clone()], ..Submission::default() };
    world.send(submission.clone()).await;
    world.control(Control::CancelBatch(open.id)).await;
    world.sweep(Sweep::Forget(vec![then.unwrap()])).await;
    // Sent again, very late: nothing would ever release it.
    assert!(world.send(submission).await[0].existing);
    assert!(world.details(then.unwrap()).await.is_none());
}

pub async fn the_last_two_of_a_batch_may_end_in_one_commit(world: World) {
    world.kind("k").await;
    let (id, jobs, then) = world.batch_of("k", 2, Some(When::Settled)).await;
    let [one, two] = [world.claim(jobs[0]).await, world.claim(jobs[1]).await];
    let done = |claimed| settle(claimed, Verdict::Done(None), Submission::default());
    let outcomes = world.commit(vec![done(&one), done(&two), done(&one)]).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert_eq!(counts(&world, id).await, (Phase::Settled, [2, 2, 0, 0, 0]));
    let released = events_of(world.store())
        .await
        .into_iter()
        .filter(|(_, _, event)| matches!(event, Event::Job { job, state: Ready, .. } if Some(*job) == then));
    assert_eq!(released.count(), 1);
}

pub async fn a_settled_batch_can_be_forgotten(world: World) {
    world.kind("k").await;
    let (id, jobs, _) = world.batch_of("k", 1, None).await;
    let forget = || Unit::Sweep(Sweep::ForgetBatch(id));
    world.control(Control::Pause(Target::Batch(id), true)).await;
    world.refused(forget()).await;
    world.control(Control::Cancel(jobs[0])).await;
    world.ok(forget()).await;
    assert_eq!(world.refused(forget()).await, Refusal::UnknownBatch(id));
    // Its jobs do not need it; and its pause went with it, or nobody could end it.
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
}

pub async fn batches_are_listed_newest_first(world: World) {
    world.kind("k").await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.batch_of("k", 1, None).await.0);
    }
    ids.reverse();
    let page = |before| Read::Batches { before, limit: 3 };
    let Found::Batches(first) = world.read(page(None)).await else { panic!("batches were asked for") };
    let Found::Batches(second) = world.read(page(Some(first[2].id))).await else { panic!("batches") };
    assert_eq!(first.iter().chain(&second).map(|batch| batch.id).collect::<Vec<_>>(), ids);
}
