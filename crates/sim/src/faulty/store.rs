//! The store as one process reaches it: far away, and over a bad wire.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, oneshot};
use turnwise_core::event::Cursor;
use turnwise_drivers::store::{
    Answer, Committed, Filter, Found, JobsPage, Outcome, Read, Ready, ReadyAnswer, Store, StoreError, Tail,
    Unit,
};

use crate::executor::OUTSIDE;
use crate::world::World;

type Commits = Result<Vec<Outcome>, StoreError>;

/// The store, for one life of one process.
pub(crate) struct FaultyStore {
    world: Arc<World>,
    process: usize,
    life: u32,
}

impl FaultyStore {
    /// The store as this process reaches it.
    pub(crate) fn new(world: Arc<World>, process: usize) -> Self {
        let life = world.executor.life(process);
        FaultyStore { world, process, life }
    }

    /// Answers, perhaps late, perhaps not at all.
    fn answer<T: Send + 'static>(
        &self,
        found: Option<Result<T, StoreError>>,
    ) -> Answer<'_, Result<T, StoreError>> {
        let odds = &self.world.plan.odds;
        if self.world.strikes("reads failed", odds.read_fails) {
            return Box::pin(ready(Err(StoreError::Failed("the wire is cut".into()))));
        }
        let found = found.unwrap_or(Err(StoreError::Closed));
        if self.world.strikes("reads late", odds.read_late) {
            let late = Duration::from_micros(self.world.draw(|chance| chance.skewed(2_000_000)));
            let sleep = self.world.executor.sleep(late);
            return Box::pin(async move {
                sleep.await;
                found
            });
        }
        Box::pin(ready(found))
    }
}

/// Carries a commit to the store and its answer back. What is on its way arrives even if its sender dies.
async fn carry(
    world: Arc<World>,
    process: usize,
    life: u32,
    units: Vec<Unit>,
    reply: oneshot::Sender<Commits>,
) {
    world.executor.sleep(world.latency()).await;
    let odds = &world.plan.odds;
    let slow = world.strikes("slow commits", odds.slow_commit);
    let (before, after) = world.draw(|chance| {
        let most = if chance.percent(25) { 90_000_000 } else { 20_000_000 };
        let wait = Duration::from_micros(if slow { chance.skewed(most) } else { 0 });
        if chance.percent(50) { (wait, Duration::ZERO) } else { (Duration::ZERO, wait) }
    });
    if slow {
        world.executor.sleep(before).await;
    }
    if world.strikes("commits refused", odds.refused) {
        let full = world.draw(|chance| chance.percent(50));
        let error = if full { StoreError::Full } else { StoreError::Failed("it was not done".into()) };
        world.note(process, format_args!("commit of {} units failed: {error}", units.len()));
        // A sender that died does not listen.
        let _ = reply.send(Err(error));
        return;
    }
    let mut answer = world.apply(process, life, &units);
    if world.executor.life(process) == life && world.strikes("crashes after commit", odds.crash_after) {
        world.crash(process, "after its commit");
    }
    if world.strikes("answers lost", odds.answer_lost) {
        world.note(process, format_args!("the answer is lost"));
        answer = Err(StoreError::Failed("the outcome is unknown".into()));
    }
    if slow {
        world.executor.sleep(after).await;
    }
    world.executor.sleep(world.latency()).await;
    // A sender that died does not listen.
    let _ = reply.send(answer);
}

impl Store for FaultyStore {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Commits> {
        let (world, process, life) = (self.world.clone(), self.process, self.life);
        Box::pin(async move {
            if world.strikes("crashes before commit", world.plan.odds.crash_before) {
                world.crash(process, "before its commit");
                pending::<()>().await;
            }
            let (reply, answer) = oneshot::channel();
            world.executor.spawn(OUTSIDE, Box::pin(carry(world.clone(), process, life, units, reply)));
            answer.await.unwrap_or(Err(StoreError::Closed))
        })
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        self.answer(crate::world::now(self.world.store.read(what)))
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        self.answer(crate::world::now(self.world.store.ready(what)))
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        self.answer(crate::world::now(self.world.store.tail(after, limit)))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        self.answer(crate::world::now(self.world.store.list(filter)))
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.world.places[self.process].hints.subscribe()
    }
}
