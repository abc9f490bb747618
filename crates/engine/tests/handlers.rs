//! What handlers may do to a worker: nothing. Panics, deadlines, shutdown, cancels, steps, fan-out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnwise::testing::TestEngine;
use turnwise::{BatchId, Config, Context, Engine, Job, Outcome, Phase, Retry, State, Stop, minutes, secs};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    n: u32,
}

impl Job for Task {
    const KIND: &'static str = "task";
    type Output = u32;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Child {
    n: u32,
}

impl Job for Child {
    const KIND: &'static str = "child";
    type Output = ();
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_never_a_dead_worker() {
    let test = TestEngine::new().await.unwrap();
    let handler = |job: Task, ctx: Context| async move {
        assert!(job.n != 0 || ctx.attempt() > 1, "the first attempt panics");
        Ok(job.n)
    };
    test.engine.worker(handler).retry(Retry::fixed(secs(1)).attempts(3));
    let running = test.engine.start().await.unwrap();
    let panics = test.engine.submit(Task { n: 0 }).await.unwrap();
    let works = test.engine.submit(Task { n: 7 }).await.unwrap();
    assert_eq!(test.engine.wait(works).await.unwrap().result::<Task>().unwrap(), Some(7));
    test.advance(secs(1)).await.unwrap();
    let job = test.engine.wait(panics).await.unwrap();
    assert_eq!((job.state, job.attempt), (State::Done, 2));
    assert!(job.errors[0].error.contains("the first attempt panics"), "{:?}", job.errors);
    running.stop().await;
}

#[tokio::test]
async fn a_blown_deadline_is_a_failed_attempt() {
    let test = TestEngine::new().await.unwrap();
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let handler = move |_job: Task, ctx: Context| {
        let tell = tell.clone();
        async move {
            if ctx.attempt() == 1 {
                tell.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(1)
        }
    };
    test.engine.worker(handler).deadline(secs(30)).retry(Retry::fixed(secs(1)).attempts(2));
    let running = test.engine.start().await.unwrap();
    let job = test.engine.submit(Task { n: 1 }).await.unwrap();
    begun.notified().await;
    test.advance(secs(30)).await.unwrap();
    test.advance(secs(1)).await.unwrap();
    let job = test.engine.wait(job).await.unwrap();
    assert_eq!((job.state, job.attempt), (State::Done, 2));
    assert!(job.errors[0].error.contains("deadline"));
    running.stop().await;
}

#[tokio::test]
async fn a_graceful_shutdown_burns_no_attempt() {
    let data = tempfile::tempdir().unwrap();
    let engine = Engine::open(Config::embedded(data.path()).grace(secs(0))).await.unwrap();
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    engine.worker(move |_job: Task, _ctx: Context| {
        let tell = tell.clone();
        async move {
            tell.notify_one();
            std::future::pending::<Outcome<u32>>().await
        }
    });
    let running = engine.start().await.unwrap();
    let job = engine.submit(Task { n: 1 }).await.unwrap();
    begun.notified().await;
    running.stop().await;
    let view = engine.job(job).await.unwrap().unwrap();
    assert_eq!((view.state, view.attempt), (State::Ready, 0));
    assert!(view.errors.is_empty(), "{:?}", view.errors);
    engine.worker(|job: Task, _ctx: Context| async move { Ok(job.n) });
    let running = engine.start().await.unwrap();
    assert_eq!(engine.wait(job).await.unwrap().attempt, 1);
    running.stop().await;
}

#[tokio::test]
async fn blocking_handlers_run_off_the_async_threads_and_are_told() {
    let test = TestEngine::new().await.unwrap();
    test.engine.blocking_worker(|job: Task, ctx: Context| {
        assert!(tokio::runtime::Handle::try_current().is_ok());
        if job.n == 0 {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            return Err(Stop::cancel());
        }
        Ok(job.n)
    });
    let running = test.engine.start().await.unwrap();
    let computes = test.engine.submit(Task { n: 5 }).await.unwrap();
    assert_eq!(test.engine.wait(computes).await.unwrap().result::<Task>().unwrap(), Some(5));
    let spins = test.engine.submit(Task { n: 0 }).await.unwrap();
    while test.engine.job(spins).await.unwrap().unwrap().state != State::Running {
        test.engine.next_commit().await;
    }
    assert_eq!(test.engine.cancel(spins).await.unwrap(), State::Running);
    assert_eq!(test.engine.wait(spins).await.unwrap().state, State::Cancelled);
    running.stop().await;
}

#[tokio::test]
async fn fan_out_commits_with_the_completion_and_never_doubles() {
    let test = TestEngine::new().await.unwrap();
    let children = Arc::new(AtomicU32::new(0));
    let counted = children.clone();
    test.engine.worker(move |_job: Child, _ctx: Context| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Outcome::Ok(()))
    });
    let parent = |job: Task, ctx: Context| async move {
        // In a step: commits with the step, once, although the attempt fails afterwards.
        ctx.step("first", || async { ctx.submit(Child { n: 1 }).map(drop) }).await?;
        // Outside: only commits with the completion.
        ctx.submit(Child { n: 2 })?;
        ctx.batch_then::<Child, Child, _>("fan", (0..3).map(|n| Child { n }), Child { n: 9 })?;
        if ctx.attempt() < 3 { Err(Stop::retry("again")) } else { Ok(job.n) }
    };
    test.engine.worker(parent).retry(Retry::fixed(secs(1)).attempts(5));
    let running = test.engine.start().await.unwrap();
    let job = test.engine.submit(Task { n: 1 }).await.unwrap();
    test.idle().await.unwrap();
    assert_eq!(children.load(Ordering::SeqCst), 1, "only the step's child is there yet");
    test.advance(secs(1)).await.unwrap();
    test.advance(secs(1)).await.unwrap();
    assert_eq!(test.engine.wait(job).await.unwrap().attempt, 3);
    test.idle().await.unwrap();
    assert_eq!(children.load(Ordering::SeqCst), 1 + 1 + 3 + 1);
    running.stop().await;
}

#[tokio::test]
async fn a_job_grows_its_own_batch_which_settles_after_it() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|job: Task, ctx: Context| async move {
        if job.n > 0 {
            ctx.submit_into_batch(Task { n: job.n - 1 })?;
        }
        Ok(job.n)
    });
    test.engine.worker(|_job: Child, _ctx: Context| async { Ok(()) });
    let running = test.engine.start().await.unwrap();
    let batch = test.engine.batch("tree").jobs([Task { n: 4 }]).then(Child { n: 0 }).submit().await.unwrap();
    let view = test.engine.wait_batch(batch.id).await.unwrap();
    assert_eq!((view.batch.total, view.batch.done, view.batch.phase), (5, 5, Phase::Settled));
    assert_eq!(test.engine.wait(batch.then.unwrap()).await.unwrap().state, State::Done);
    running.stop().await;
}

#[tokio::test]
async fn a_snooze_is_no_failure() {
    let test = TestEngine::new().await.unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    test.engine.worker(move |job: Task, ctx: Context| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            assert_eq!(ctx.attempt(), 1);
            if first { Err(Stop::snooze(minutes(5))) } else { Ok(job.n) }
        }
    });
    let running = test.engine.start().await.unwrap();
    let job = test.engine.submit(Task { n: 3 }).await.unwrap();
    test.idle().await.unwrap();
    assert_eq!(test.engine.job(job).await.unwrap().unwrap().state, State::Scheduled);
    test.advance(minutes(5)).await.unwrap();
    assert_eq!(test.engine.wait(job).await.unwrap().attempt, 1);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    running.stop().await;
}

#[tokio::test]
async fn dead_letters_keep_every_error_and_replay_in_bulk() {
    let test = TestEngine::new().await.unwrap();
    let healed = Arc::new(AtomicU32::new(0));
    let look = healed.clone();
    let handler = move |job: Task, ctx: Context| {
        let healed = look.load(Ordering::SeqCst) == 1;
        async move {
            if healed {
                Ok(job.n)
            } else {
                Err(Stop::retry(format!("attempt {} of {}", ctx.attempt(), job.n)))
            }
        }
    };
    test.engine.worker(handler).slots(4).retry(Retry::fixed(secs(1)).attempts(2));
    let running = test.engine.start().await.unwrap();
    let jobs = test.engine.submit_all((0..10).map(|n| Task { n })).await.unwrap();
    test.idle().await.unwrap();
    test.advance(secs(1)).await.unwrap();
    for job in &jobs {
        let dead = test.engine.wait(*job).await.unwrap();
        assert_eq!((dead.state, dead.errors.len()), (State::Dead, 2));
        assert!(dead.errors[1].error.starts_with("attempt 2 of"));
    }
    healed.store(1, Ordering::SeqCst);
    assert_eq!(test.engine.replay_dead(Some("task"), None).await.unwrap(), 10);
    assert_eq!(test.engine.replay_dead(Some("task"), None).await.unwrap(), 0);
    test.idle().await.unwrap();
    for job in &jobs {
        let done = test.engine.job(*job).await.unwrap().unwrap();
        assert_eq!((done.state, done.errors.len()), (State::Done, 2), "the history stays");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_parked_batch_is_released_by_a_replay() {
    let test = TestEngine::new().await.unwrap();
    let healed = Arc::new(AtomicU32::new(0));
    let look = healed.clone();
    test.engine.worker(move |job: Task, _ctx: Context| {
        let fails = job.n == 1 && look.load(Ordering::SeqCst) == 0;
        async move { if fails { Err(Stop::never("no")) } else { Ok(job.n) } }
    });
    test.engine.worker(|_job: Child, _ctx: Context| async { Ok(()) });
    let running = test.engine.start().await.unwrap();
    let batch = test.engine.batch("all").jobs((0..3).map(|n| Task { n })).then_if_all_done(Child { n: 0 });
    let batch = batch.submit().await.unwrap();
    let view = test.engine.wait_batch(batch.id).await.unwrap();
    assert_eq!((view.batch.phase, view.batch.dead), (Phase::Parked, 1));
    healed.store(1, Ordering::SeqCst);
    assert_eq!(test.engine.replay_dead(None, None).await.unwrap(), 1);
    assert_eq!(test.engine.wait(batch.then.unwrap()).await.unwrap().state, State::Done);
    let view = test.engine.batch_view(batch.id).await.unwrap().unwrap();
    assert_eq!((view.batch.phase, view.batch.done, view.batch.dead), (Phase::Settled, 2, 1));
    running.stop().await;
    assert!(test.engine.wait_batch(BatchId::from_u64(1)).await.is_err());
}
