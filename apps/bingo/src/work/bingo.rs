//! The application as a program holds it: its handlers on an engine, and what can be asked of it.

use std::sync::Arc;

use turnwise::{BatchHandle, Engine, Error, Retry, millis, secs};

use super::finish::finish;
use super::handlers::{self, Desk};
use super::jobs::{Divide, Finish};
use super::known::Known;
use super::limits::{ATTEMPTS, RANGE_DEADLINE};
use super::order::Order;

/// How a worker works at batches.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Ranges that run at once in this process; two for each processor unless said.
    pub slots: Option<u32>,
    /// Ranges that run at once in all processes together.
    pub cap: Option<u32>,
    /// Runs in a range, instead of measuring how many fit into its time.
    pub range: Option<u64>,
}

impl Settings {
    /// While what one range gave is written to the disk, another has its processor, which would fall asleep otherwise. On a
    /// virtual machine that seems to cost more than the time asleep: stopping a simulation without an engine for 1 ms in every
    /// 11 made its runs take 9 % more processor time. Against the same runs without an engine a batch took, on two processors,
    /// 7 to 12 % longer with two slots, 7 to 10 % with three, with eight as much as with four (twelve or more pairs each, most
    /// known to within 3 %), and with four 3.4 ± 0.6 and 2.1 ± 0.2 % (`turnwise bench bingo` with 100 and 60
    /// pairs).
    fn slots(&self) -> u32 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.slots.unwrap_or_else(|| u32::try_from(2 * processors).unwrap_or(2))
    }
}

/// Bingo on an engine. The handlers work as long as a clone of it is kept: drop them all before the engine is closed.
#[derive(Clone, Debug)]
pub struct Bingo {
    pub(crate) engine: Arc<Engine>,
    pub(crate) known: Arc<Known>,
}

impl Bingo {
    /// Registers the handlers.
    #[must_use = "the handlers work as long as this is kept"]
    pub fn register(engine: &Engine, settings: Settings) -> Bingo {
        let bingo = Bingo { engine: Arc::new(engine.clone()), known: Arc::default() };
        let (slots, cap) = (settings.slots(), settings.cap);
        let desk = Desk { engine: Arc::downgrade(&bingo.engine), known: bingo.known.clone(), settings };
        let at = desk.clone();
        engine.blocking_worker(move |job, ctx| handlers::divide(&at, job, ctx));
        let at = desk.clone();
        let ranges = engine.blocking_worker(move |job, ctx| handlers::range(&at, job, ctx));
        // A range that was taken from a dead worker divides itself, so being taken again is not held against it.
        let ranges = ranges
            .slots(slots)
            .deadline(RANGE_DEADLINE)
            .retry(Retry::fixed(secs(1)).attempts(10))
            .rescues(100);
        if let Some(cap) = cap {
            ranges.cap(cap);
        }
        let at = desk.clone();
        let one = engine.blocking_worker(move |job, ctx| handlers::one(&at, job, ctx));
        one.retry(Retry::exponential(millis(100)).attempts(ATTEMPTS)).rescues(ATTEMPTS - 1);
        engine.blocking_worker(move |job, ctx| finish(&desk, job, ctx)).rescues(100);
        bingo
    }

    /// Starts a batch for an owner. When this returns, it outlives a crash of anything.
    pub async fn start(&self, order: Order, owner: Option<&str>) -> Result<BatchHandle, Error> {
        let batch = self.engine.batch(order.name.clone()).jobs([Divide {}]);
        let batch = match owner {
            Some(owner) => batch.owner(owner),
            None => batch,
        };
        batch.then(Finish { order }).submit().await
    }

    /// Ends a batch early. What was simulated by then is merged all the same.
    pub async fn cancel(&self, batch: turnwise::BatchId) -> Result<(), Error> {
        super::known::finish_of(&self.engine, batch).await?;
        self.engine.cancel_batch(batch).await
    }
}
