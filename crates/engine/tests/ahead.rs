//! Claims ahead of the slots: they run in their turn, and go back when what is before them takes long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnwise::testing::TestEngine;
use turnwise::{Context, Job, JobId, Outcome, State, Time, limits, millis};

const DEADLINE: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Work {
    waits: bool,
}

impl Job for Work {
    const KIND: &'static str = "work";
    type Output = ();
}

/// A job that was done, its fence and its deadline.
type Done = (JobId, u32, Time);

/// An engine with one slot that knows its jobs to be short.
struct World {
    test: TestEngine,
    gate: Arc<Notify>,
    done: Arc<Mutex<Vec<Done>>>,
    /// The deadline of what begins before time moves.
    deadline: Time,
}

impl World {
    async fn new() -> (World, turnwise::Running) {
        let test = TestEngine::new().await.unwrap();
        let (gate, done) = (Arc::new(Notify::new()), Arc::default());
        let mut world = World { test, gate, done, deadline: Time::ZERO };
        let (gate, done) = (world.gate.clone(), world.done.clone());
        let handler = move |job: Work, ctx: Context| {
            let (gate, done) = (gate.clone(), done.clone());
            async move {
                if job.waits {
                    gate.notified().await;
                } else {
                    done.lock().unwrap().push((ctx.job(), ctx.fence(), ctx.deadline().unwrap()));
                }
                Outcome::Ok(())
            }
        };
        world.test.engine.worker(handler).deadline(DEADLINE);
        let running = world.test.engine.start().await.unwrap();
        for _ in 0..3 {
            world.test.engine.submit(Work { waits: false }).await.unwrap();
        }
        world.test.idle().await.unwrap();
        world.deadline = std::mem::take(&mut *world.done.lock().unwrap())[0].2;
        (world, running)
    }

    /// The one slot is taken by a job that waits at the gate, and these are behind it.
    async fn behind(&self, count: usize) -> (JobId, Vec<JobId>) {
        let first = self.test.engine.submit(Work { waits: true }).await.unwrap();
        self.until(&[first], State::Running).await;
        let works = (0..count).map(|_| Work { waits: false });
        (first, self.test.engine.submit_all(works).await.unwrap())
    }

    /// Waits until all of these are in a state.
    async fn until(&self, jobs: &[JobId], state: State) {
        loop {
            let mut all = true;
            for &job in jobs {
                all &= self.test.engine.job(job).await.unwrap().unwrap().state == state;
            }
            if all {
                return;
            }
            self.test.engine.next_commit().await;
        }
    }

    fn done(&self) -> Vec<Done> {
        self.done.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn what_is_claimed_ahead_waits_for_its_slot() {
    let (world, running) = World::new().await;
    let (_, behind) = world.behind(5).await;
    world.until(&behind, State::Running).await;
    assert_eq!(world.done(), [], "there is one slot, and it is taken");
    // Its time begins when it does.
    let late = limits::AHEAD_PATIENCE - millis(1);
    world.test.time.advance(late);
    world.gate.notify_one();
    world.until(&behind, State::Done).await;
    let wanted: Vec<_> = behind.iter().map(|job| (*job, 1, world.deadline + late)).collect();
    assert_eq!(world.done(), wanted, "in their order, with all of their time");
    running.stop().await;
}

#[tokio::test]
async fn what_waits_too_long_goes_back_once_and_burns_nothing() {
    let (world, running) = World::new().await;
    let (_, behind) = world.behind(5).await;
    world.until(&behind, State::Running).await;
    world.test.time.advance(limits::AHEAD_PATIENCE);
    world.until(&behind, State::Ready).await;
    for _ in 0..5 {
        world.test.time.advance(limits::AHEAD_PATIENCE);
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }
    world.gate.notify_one();
    world.until(&behind, State::Done).await;
    for (job, fence, _) in world.done() {
        assert_eq!(fence, 2, "it was claimed ahead once, and then to run");
        assert_eq!(world.test.engine.job(job).await.unwrap().unwrap().attempt, 1);
    }
    running.stop().await;
}

#[tokio::test]
async fn a_stop_gives_back_what_was_claimed_ahead() {
    let (world, running) = World::new().await;
    let (first, behind) = world.behind(5).await;
    world.until(&behind, State::Running).await;
    let stopping = tokio::spawn(running.stop());
    world.until(&behind, State::Ready).await;
    world.gate.notify_one();
    stopping.await.unwrap();
    assert_eq!(world.test.engine.job(first).await.unwrap().unwrap().state, State::Done);
    assert_eq!(world.done(), []);
}
