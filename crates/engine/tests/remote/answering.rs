//! How a worker outside answers: done, failed, later, cancelled, too late, twice.

use futures_util::FutureExt;
use serde_json::{Value, json};
use turnwise::{
    Error, JobId, Recall, RecallReason, Refusal, Retry, State, Stop, Time, limits, minutes, secs,
};

use crate::world::{SESSION, World, claim_one, done, is_stale, name, work};

#[tokio::test]
async fn a_job_is_claimed_and_done() {
    let world = World::new().await;
    let worker = world.worker(2).await;
    let jobs = world.submit([work(7).owner("acme"), work(8).owner("acme")]).await;
    let claimed = worker.claim(2).await.unwrap();
    assert_eq!(
        claimed.iter().map(|job| job.id).collect::<Vec<_>>(),
        jobs,
        "claimed together, handed out together"
    );
    let first = &claimed[0];
    assert_eq!((first.kind.as_str(), first.owner.as_str(), first.batch), ("work", "acme", None));
    assert_eq!((first.fence, first.attempt, first.payload["n"].as_u64()), (1, 1, Some(7)));
    assert_eq!((first.deadline, first.steps.len()), (None, 0));
    worker.progress(first.id, first.fence, 0.5, "half").await.unwrap();
    assert_eq!(world.job(jobs[0]).await.progress.unwrap().note, "half");
    worker.answer(first.id, first.fence, Ok(json!({"size": 3}))).await.unwrap();
    let view = world.job(jobs[0]).await;
    assert_eq!(
        (view.state, view.result),
        (State::Done, Some(json!({"size": 3}))),
        "durable when it is answered"
    );
    assert_eq!(world.job(jobs[1]).await.state, State::Running);
    worker.leave().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn failures_have_their_class_and_are_tried_again() {
    let world = World::new().await;
    world.declare(|kind| kind.retry = Retry::fixed(secs(5)).attempts(3)).await;
    let worker = world.worker(1).await;
    let job = world.submit_one().await;
    let first = claim_one(&worker).await;
    worker.answer(first.id, first.fence, Err(Stop::retry("no luck"))).await.unwrap();
    let view = world.job(job).await;
    assert_eq!((view.state, view.errors[0].error.as_str()), (State::Retrying, "no luck"));
    world.test.time.advance(secs(5));
    let second = claim_one(&worker).await;
    assert_eq!((second.id, second.fence, second.attempt, second.attempts), (job, 2, 2, 3));
    let failed_at = world.job(job).await.at;
    worker.answer(job, 2, Err(Stop::retry_after(minutes(2), "busy"))).await.unwrap();
    let view = world.job(job).await;
    assert_eq!((view.state, view.at), (State::Retrying, failed_at + minutes(2)));
    world.test.time.advance(secs(119));
    assert!(worker.beat().is_err(), "it was silent for longer than its session");
    let worker = world.worker(1).await;
    world.test.time.advance(secs(1));
    let third = claim_one(&worker).await;
    assert_eq!(third.attempt, 3);
    worker.answer(job, 3, Err(Stop::snooze(secs(1)))).await.unwrap();
    assert_eq!(world.job(job).await.attempt, 2, "a snooze burns nothing");
    world.test.time.advance(secs(1));
    let last = claim_one(&worker).await;
    worker.answer(job, last.fence, Err(Stop::never("bad input"))).await.unwrap();
    let view = world.job(job).await;
    assert_eq!((view.state, view.errors.len()), (State::Dead, 3));
    world.stop().await;
}

#[tokio::test]
async fn finished_steps_come_with_the_next_attempt() {
    let world = World::new().await;
    world.declare(|kind| kind.retry = Retry::fixed(secs(5)).attempts(3)).await;
    let worker = world.worker(1).await;
    let job = world.submit_one().await;
    let first = claim_one(&worker).await;
    worker.step(job, first.fence, "fetch", &json!([1, 2])).await.unwrap();
    worker.step(job, first.fence, "fetch", &json!("other")).await.unwrap();
    worker.answer(job, first.fence, Err(Stop::retry("later"))).await.unwrap();
    assert!(is_stale(&worker.step(job, first.fence, "store", &json!(0)).await));
    world.test.time.advance(secs(5));
    let second = claim_one(&worker).await;
    assert_eq!(second.steps.into_iter().collect::<Vec<_>>(), [(name("fetch"), json!([1, 2]))]);
    worker.answer(job, second.fence, Ok(Value::Null)).await.unwrap();
    assert_eq!(world.job(job).await.steps, [name("fetch")]);
    world.stop().await;
}

#[tokio::test]
async fn a_stale_fence_is_refused() {
    let world = World::new().await;
    let (worker, other) = (world.worker(1).await, world.worker(1).await);
    let job = world.submit_one().await;
    let first = claim_one(&worker).await;
    let wrong = [first.fence - 1, first.fence + 1];
    for fence in wrong {
        assert!(is_stale(&worker.answer(job, fence, Ok(Value::Null)).await));
        assert!(is_stale(&worker.release(job, fence).await));
        assert!(is_stale(&worker.progress(job, fence, 0.5, "").await));
        assert!(is_stale(&worker.step(job, fence, "a", &Value::Null).await));
    }
    assert!(is_stale(&other.answer(job, first.fence, Ok(Value::Null)).await), "it is not its claim");
    let unknown = JobId::from_u64(1);
    let answer = worker.answer(unknown, 1, Ok(Value::Null)).await;
    assert!(matches!(answer, Err(Error::Refused(Refusal::UnknownJob(_)))), "{answer:?}");
    assert_eq!(world.job(job).await.state, State::Running);
    worker.release(job, first.fence).await.unwrap();
    let second = claim_one(&other).await;
    assert_eq!((second.fence, second.attempt), (2, 1), "given back without burning an attempt");
    assert!(is_stale(&worker.answer(job, first.fence, Ok(Value::Null)).await), "somebody else has it");
    done(&other, &second).await;
    world.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_sent_again_is_answered_as_the_first() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    let job = world.submit_one().await;
    let claimed = claim_one(&worker).await;
    {
        // Given up before it was answered, as by a client whose connection broke.
        let mut first = Box::pin(worker.answer(job, claimed.fence, Ok(json!("first"))));
        assert!((&mut first).now_or_never().is_none());
    }
    let (second, third) = tokio::join!(
        worker.answer(job, claimed.fence, Ok(json!("second"))),
        worker.answer(job, claimed.fence, Ok(json!("third"))),
    );
    assert!(second.is_ok() && third.is_ok(), "{second:?} {third:?}");
    assert!(worker.answer(job, claimed.fence, Ok(json!("fourth"))).await.is_ok());
    assert_eq!(world.job(job).await.result, Some(json!("first")));
    assert!(is_stale(&worker.answer(job, claimed.fence, Err(Stop::retry("no"))).await), "another word");
    assert!(is_stale(&worker.release(job, claimed.fence).await));
    world.stop().await;
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_the_job_is_held_on() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    world.submit_one().await;
    let job = claim_one(&worker).await;
    let large = json!("x".repeat(limits::RESULT_BYTES));
    let refused = [
        worker.answer(job.id, job.fence, Ok(large.clone())).await,
        worker.answer(job.id, job.fence, Err(Stop::snooze(limits::DELAY + secs(1)))).await,
        worker.answer(job.id, job.fence, Err(Stop::retry_after(limits::DELAY + secs(1), ""))).await,
        worker.step(job.id, job.fence, "large", &large).await,
    ];
    for answer in refused {
        assert!(matches!(answer, Err(Error::Refused(_))), "{answer:?}");
    }
    assert_eq!(world.job(job.id).await.state, State::Running);
    done(&worker, &job).await;
    world.stop().await;
}

#[tokio::test]
async fn a_cancel_is_told() {
    let world = World::new().await;
    let worker = world.worker(2).await;
    world.submit([work(1), work(2)]).await;
    let jobs = worker.claim(2).await.unwrap();
    let (job, fence) = (jobs[0].id, jobs[0].fence);
    assert_eq!(worker.beat().unwrap(), []);
    world.test.engine.cancel(job).await.unwrap();
    let told = loop {
        let told = worker.beat().unwrap();
        if !told.is_empty() {
            break told;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(told, [Recall { job, fence, reason: RecallReason::Cancelled }]);
    worker.answer(job, fence, Err(Stop::cancel())).await.unwrap();
    assert_eq!(world.job(job).await.state, State::Cancelled);
    assert_eq!(worker.beat().unwrap(), []);
    done(&worker, &jobs[1]).await;
    world.stop().await;
}

#[tokio::test]
async fn a_deadline_is_a_failed_attempt_and_is_told() {
    let world = World::new().await;
    let retry = Retry::fixed(secs(1)).attempts(2);
    world.declare(|kind| (kind.deadline, kind.retry) = (Some(secs(5)), retry)).await;
    let worker = world.worker(1).await;
    let job = world.submit_one().await;
    let first = claim_one(&worker).await;
    assert!(first.deadline.is_some_and(|deadline| deadline > Time::ZERO));
    world.test.time.advance(secs(5));
    let view = world.until(job, State::Retrying).await;
    assert!(view.errors[0].error.contains("deadline"), "{:?}", view.errors);
    let recall = Recall { job, fence: first.fence, reason: RecallReason::Deadline };
    assert_eq!(worker.beat().unwrap(), [recall]);
    assert!(is_stale(&worker.answer(job, first.fence, Ok(Value::Null)).await));
    world.test.time.advance(secs(1));
    let second = claim_one(&worker).await;
    assert_eq!(worker.beat().unwrap(), [], "it runs there again, and should not stop");
    done(&worker, &second).await;
    assert_eq!(worker.beat().unwrap(), [recall]);
    world.test.time.advance(SESSION - secs(1));
    worker.beat().unwrap();
    world.test.time.advance(SESSION - secs(1));
    worker.beat().unwrap();
    world.test.time.advance(secs(5));
    assert_eq!(worker.beat().unwrap(), [], "it was told for long enough");
    world.stop().await;
}
