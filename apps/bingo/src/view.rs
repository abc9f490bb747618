//! What there is to see of batches: how far they are, what they came to, their single runs, and how two compare.

mod compare;
mod export;
mod status;

pub use compare::{Comparison, Measure, TeamComparison, compare};
pub use export::{Export, Format};
pub use status::{Listed, Status, StatusWord};

use tokio::sync::Semaphore;
use turnwise::{BatchId, Error, Refusal};

use crate::work::limits::TOLD_AT_ONCE;
use crate::work::{Bingo, Results, stored_of};
use crate::{Scenario, Timeline};

/// A run takes a thread for as long as it has attempts. Readers share a few, so that they leave the server its processors.
static TELLERS: Semaphore = Semaphore::const_new(TOLD_AT_ONCE);

impl Bingo {
    /// What a batch came to. Refused while it has not come to anything.
    pub async fn results(&self, batch: BatchId) -> Result<Results, Error> {
        let stored = stored_of(&self.engine, batch).await?.ok_or_else(|| {
            Refusal::Invalid(format!("batch {batch} has no results yet: look at its status"))
        })?;
        Ok(stored.named(&self.known.event(&self.engine, batch).await?.plan))
    }

    /// One run of a batch again, event by event.
    pub async fn timeline(&self, batch: BatchId, run: u64) -> Result<Timeline, Error> {
        let event = self.known.event(&self.engine, batch).await?;
        let runs = event.order.runs;
        if run >= runs {
            let last = runs - 1;
            return Err(
                Refusal::Invalid(format!("run: batch {batch} has runs 0 to {last}, and no {run}")).into()
            );
        }
        // The semaphore is never closed, so there is always a turn.
        let turn = TELLERS.acquire().await.ok();
        let told = tokio::task::spawn_blocking(move || {
            // Whoever asked may be gone by then; its turn lasts as long as the work.
            let _turn = turn;
            event.plan.timeline(&event.seed, run).map_err(|fault| fault.to_string())
        });
        let told = told.await.unwrap_or_else(|_| Err(format!("run {run} could not be told: it panicked")));
        told.map_err(|why| Refusal::Invalid(why).into())
    }

    /// The scenario of a batch.
    pub async fn scenario(&self, batch: BatchId) -> Result<Scenario, Error> {
        Ok(self.known.event(&self.engine, batch).await?.order.scenario.clone())
    }
}
