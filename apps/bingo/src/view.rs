//! What there is to see of batches: how far they are, what they came to, their single runs, and how two compare.

mod compare;
mod export;
mod status;

pub use compare::{Comparison, Measure, TeamComparison, compare};
pub use export::{Export, Format};
pub use status::{Listed, Status, StatusWord};

use turnwise::{BatchId, Error, Refusal};

use crate::work::{Bingo, Results, results_of};
use crate::{Scenario, Timeline};

impl Bingo {
    /// What a batch came to. Refused while it has not come to anything.
    pub async fn results(&self, batch: BatchId) -> Result<Results, Error> {
        let results = results_of(&self.engine, batch).await?;
        results.ok_or_else(|| {
            Refusal::Invalid(format!("batch {batch} has no results yet: look at its status")).into()
        })
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
        event.plan.timeline(&event.seed, run).map_err(|fault| Refusal::Invalid(fault.to_string()).into())
    }

    /// The scenario of a batch.
    pub async fn scenario(&self, batch: BatchId) -> Result<Scenario, Error> {
        Ok(self.known.event(&self.engine, batch).await?.order.scenario.clone())
    }
}
