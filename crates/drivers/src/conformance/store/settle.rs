//! A run ends: what it leaves, what follows, and what a handler submits with it.

use turnwise_core::batch::Phase;
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::refusal::Refusal;
use turnwise_core::retry::Class;
use turnwise_core::time::{Time, secs};

use super::world::{World, failed, jobs_of, moved, settle};
use crate::store::{Blob, Control, Failure, NewJob, Settle, Submission, Unit, Verdict};

pub async fn done_keeps_the_result(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..3).map(|_| world.job("k"))).await;
    for (job, bytes) in jobs.iter().zip([0, 10, limits::RESULT_BYTES]) {
        let result: Blob = vec![3; bytes].into();
        let claimed = world.claim(*job).await;
        assert_eq!(world.settle(&claimed, Verdict::Done(Some(result.clone()))).await, State::Done);
        assert_eq!(world.details(*job).await.unwrap().result, Some(result));
    }
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let large = Verdict::Done(Some(vec![3; limits::RESULT_BYTES + 1].into()));
    let refusal = world.refused(settle(&claimed, large, Submission::default())).await;
    assert!(matches!(refusal, Refusal::TooLarge { .. }));
    world.done(&claimed).await;
    assert_eq!(world.details(job).await.unwrap().result, None);
}

pub async fn a_failed_run_is_tried_again_and_then_dead(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    for attempt in 1..=3 {
        let started = world.now();
        let claimed = world.claim(job).await;
        assert_eq!(claimed.header.attempt, attempt);
        world.advance(secs(1));
        let text = format!("attempt {attempt}");
        let verdict = Verdict::Failed { class: Class::Retry, failure: Failure::Panic, error: text.clone() };
        let state = world.settle(&claimed, verdict).await;
        let expected = if attempt < 3 { State::Retrying } else { State::Dead };
        assert_eq!(state, expected);
        let error = world.details(job).await.unwrap().errors.pop().unwrap();
        assert_eq!((error.attempt, error.fence, error.error), (attempt, u32::from(attempt), text));
        assert_eq!((error.started, error.ended, error.failure), (started, world.now(), Failure::Panic));
        if attempt < 3 {
            assert_eq!(world.header(job).await.at, world.now() + secs(10));
            assert!(matches!(world.claim_refused(job).await, Refusal::NotDue(_)));
            world.advance(secs(10));
        }
    }
    assert_eq!(world.details(job).await.unwrap().errors.len(), 3);
    assert!(matches!(world.claim_refused(job).await, Refusal::WrongState { state: State::Dead, .. }));
}

pub async fn an_error_has_a_class(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..3).map(|_| world.job("k"))).await;
    let fail = |class| Verdict::Failed { class, failure: Failure::Error, error: "no".into() };
    let claimed = world.claim(jobs[0]).await;
    assert_eq!(world.settle(&claimed, fail(Class::Never)).await, State::Dead);
    let claimed = world.claim(jobs[1]).await;
    assert_eq!(world.settle(&claimed, fail(Class::RetryAfter(secs(77)))).await, State::Retrying);
    assert_eq!(world.header(jobs[1]).await.at, world.now() + secs(77));
    let claimed = world.claim(jobs[2]).await;
    let longest = Class::RetryAfter(std::time::Duration::MAX);
    assert_eq!(world.settle(&claimed, fail(longest)).await, State::Retrying);
    assert_eq!(world.header(jobs[2]).await.at, world.now() + limits::DELAY);
}

pub async fn errors_are_cut_and_counted(world: World) {
    world.kind_with("k", |kind| kind.retry.attempts = 1_000).await;
    let job = world.submit_one(world.job("k")).await;
    for _ in 0..limits::ERRORS_KEPT + 5 {
        let claimed = world.claim(job).await;
        let text = "ä".repeat(limits::ERROR_BYTES);
        world.settle(&claimed, failed(&text)).await;
        world.advance(secs(10));
    }
    let errors = world.details(job).await.unwrap().errors;
    assert_eq!(errors.len(), limits::ERRORS_KEPT);
    assert_eq!((errors[0].attempt, errors[0].error.len()), (6, limits::ERROR_BYTES));
    assert!(errors.windows(2).all(|pair| pair[0].attempt + 1 == pair[1].attempt), "oldest first");
}

pub async fn errors_are_bounded_whatever_comes_between(world: World) {
    world.kind_with("k", |kind| kind.retry.attempts = 1_000).await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session().await;
    let (mut version, mut fence) = (1, 0);
    for _ in 0..limits::ERRORS_KEPT + 20 {
        for verdict in [Verdict::Released, Verdict::Released, failed("no")] {
            fence += 1;
            let claim = Unit::Claim(crate::store::Claim { job, version, session, term: None });
            let end = Settle { job, fence, verdict, submission: Submission::default() };
            let outcomes = world.commit(vec![claim, Unit::Settle(end)]).await;
            assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
            version += 2;
        }
        world.advance(secs(10));
    }
    let errors = world.details(job).await.unwrap().errors;
    assert_eq!(errors.len(), limits::ERRORS_KEPT);
    assert_eq!(errors.last().unwrap().fence, fence, "the latest are kept");
}

pub async fn a_snooze_is_no_failure(world: World) {
    world.kind("k").await;
    let job = world.submit_one(NewJob { attempts: Some(1), ..world.job("k") }).await;
    for _ in 0..5 {
        let claimed = world.claim(job).await;
        assert_eq!(claimed.header.attempt, 1);
        assert_eq!(world.settle(&claimed, Verdict::Snoozed(secs(30))).await, State::Scheduled);
        assert!(matches!(world.claim_refused(job).await, Refusal::NotDue(_)));
        world.advance(secs(30));
    }
    assert_eq!(world.details(job).await.unwrap().errors, []);
    let claimed = world.claim(job).await;
    let absurd = Verdict::Snoozed(std::time::Duration::MAX);
    world.refused(settle(&claimed, absurd, Submission::default())).await;
    world.done(&claimed).await;
}

pub async fn a_release_burns_no_attempt(world: World) {
    world.kind("k").await;
    let job = world.submit_one(NewJob { attempts: Some(1), ..world.job("k") }).await;
    for round in 1..=5 {
        let claimed = world.claim(job).await;
        assert_eq!((claimed.header.attempt, claimed.header.fence), (1, round));
        assert_eq!(world.settle(&claimed, Verdict::Released).await, State::Ready);
    }
    let header = world.header(job).await;
    assert_eq!((header.attempt, header.rescues), (0, 0));
}

pub async fn a_handler_can_stop_its_job(world: World) {
    world.kind("k").await;
    let jobs = world.submit([world.job("k"), world.job("k")]).await;
    let claimed = world.claim(jobs[0]).await;
    assert_eq!(world.settle(&claimed, Verdict::Cancelled).await, State::Cancelled);
    assert_eq!(world.details(jobs[0]).await.unwrap().errors, []);
    let claimed = world.claim(jobs[1]).await;
    assert_eq!(world.settle(&claimed, Verdict::Dead("useless".into())).await, State::Dead);
    assert_eq!(world.details(jobs[1]).await.unwrap().errors[0].error, "useless");
}

pub async fn a_run_that_was_to_end_ends_cancelled(world: World) {
    world.kind("k").await;
    let verdicts = [
        failed("late"),
        Verdict::Snoozed(secs(1)),
        Verdict::Cancelled,
        Verdict::Dead("late".into()),
        Verdict::Released,
    ];
    for verdict in verdicts {
        let job = world.submit_one(world.job("k")).await;
        let claimed = world.claim(job).await;
        world.control(Control::Cancel(job)).await;
        assert_eq!(world.settle(&claimed, verdict.clone()).await, State::Cancelled, "{verdict:?}");
    }
    // What was done was done.
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    world.control(Control::Cancel(job)).await;
    assert_eq!(world.done(&claimed).await, State::Done);
    world.dump().await.check();
}

pub async fn fan_out_commits_with_the_completion(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let children = [world.job("k"), world.lane_job("k", "lane")];
    let ids = children.clone().map(|child| child.id);
    let unit = settle(&claimed, Verdict::Done(None), jobs_of(children));
    assert_eq!(moved(world.ok(unit.clone()).await), State::Done);
    assert_eq!(world.states(&ids).await, [State::Ready, State::Ready]);
    // Sent again after an unknown outcome: the claim is over, and nothing doubles.
    assert!(world.refused(unit).await.is_stale());
}

pub async fn fan_out_of_other_verdicts_is_not_taken(world: World) {
    world.kind("k").await;
    for verdict in [failed("no"), Verdict::Snoozed(secs(1)), Verdict::Dead("no".into()), Verdict::Released] {
        let job = world.submit_one(world.job("k")).await;
        let claimed = world.claim(job).await;
        let child = world.job("k");
        world.ok(settle(&claimed, verdict, jobs_of([child.clone()]))).await;
        assert!(world.details(child.id).await.is_none());
    }
}

pub async fn fan_out_grows_its_own_sealed_batch(world: World) {
    world.kind("k").await;
    let (batch, jobs, _) = world.batch_of("k", 1, None).await;
    let claimed = world.claim(jobs[0]).await;
    let child = NewJob { batch: Some(batch), ..world.job("k") };
    world.ok(settle(&claimed, Verdict::Done(None), jobs_of([child.clone()]))).await;
    let found = world.batch(batch).await;
    assert_eq!((found.phase, found.total, found.done), (Phase::Sealed, 2, 1));
    // Not another's, and not after it settled.
    let (other, _, _) = world.batch_of("k", 1, None).await;
    let claimed = world.claim(child.id).await;
    let stranger = NewJob { batch: Some(other), ..world.job("k") };
    let unit = settle(&claimed, Verdict::Done(None), jobs_of([stranger]));
    assert_eq!(world.refused(unit).await, Refusal::Sealed(other));
    world.done(&claimed).await;
    assert_eq!(world.batch(batch).await.phase, Phase::Settled);
    world.dump().await.check();
}

pub async fn a_replayed_job_grows_an_open_batch(world: World) {
    world.kind("k").await;
    let (open, _) = world.new_batch("k", None);
    let id = open.id;
    let member = NewJob { batch: Some(id), ..world.job("k") };
    world.send(Submission { open: vec![open], ..jobs_of([member.clone()]) }).await;
    world.kill(member.id).await;
    world.control(Control::Replay(member.id)).await;
    let claimed = world.claim(member.id).await;
    let child = NewJob { batch: Some(id), ..world.job("k") };
    world.ok(settle(&claimed, Verdict::Done(None), jobs_of([child]))).await;
    let found = world.batch(id).await;
    assert_eq!((found.total, found.dead, found.repaired, found.done), (2, 1, 1, 0));
    world.dump().await.check();
}

pub async fn a_refused_fan_out_refuses_the_completion(world: World) {
    world.kind("k").await;
    let lane = world.submit([world.lane_job("k", "lane"), world.lane_job("k", "lane")]).await;
    let claimed = world.claim(lane[0]).await;
    let result = || Verdict::Done(Some(vec![1; 10].into()));
    let too_many = (0..=limits::JOBS_PER_FANOUT).map(|_| world.job("k"));
    let bad = [
        jobs_of([world.job("k"), world.job("nobody's")]),
        Submission { seal: vec![turnwise_core::ids::BatchId::from_u64(7)], ..jobs_of([world.job("k")]) },
        jobs_of(too_many),
    ];
    for submission in bad {
        world.refused(settle(&claimed, result(), submission)).await;
    }
    // The claim stands, and the handler may end otherwise.
    assert_eq!(world.state(lane[0]).await, State::Running);
    world.ok(settle(&claimed, result(), jobs_of([world.job("k")]))).await;
    assert_eq!(world.state(lane[1]).await, State::Ready);
}

pub async fn a_completion_and_the_next_claim_fit_into_one_commit(world: World) {
    world.kind("k").await;
    let lane = world.submit((0..3).map(|_| world.lane_job("k", "lane"))).await;
    let session = world.session().await;
    let claimed = world.claim_as(lane[0], session).await;
    let claim = |job: JobId, version| Unit::Claim(crate::store::Claim { job, version, session, term: None });
    let done = settle(&claimed, Verdict::Done(None), Submission::default());
    let outcomes = world.commit(vec![claim(lane[1], 1), done, claim(lane[1], 2), claim(lane[2], 1)]).await;
    let fine: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(fine, [false, true, true, false]);
    let header = world.header(lane[1]).await;
    assert!(header.state == State::Running && header.at > Time::ZERO);
    world.dump().await.check();
}
