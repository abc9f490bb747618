//! What this process knows of the batches that it works at: each scenario is read and worked out once, not for each
//! range.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::{fmt, sync::Arc};

use turnwise::{BatchId, Engine, Error, JobId, Refusal};

use super::jobs::Finish;
use super::limits::KNOWN;
use super::order::Order;
use crate::{Plan, Seed};
use turnwise::Job as _;

/// An order that is ready to be simulated.
pub(crate) struct Event {
    /// What was ordered.
    pub(crate) order: Order,
    /// The scenario, worked out.
    pub(crate) plan: Plan,
    /// The luck.
    pub(crate) seed: Seed,
}

impl Event {
    pub(crate) fn new(order: Order) -> Event {
        Event { plan: Plan::new(&order.scenario), seed: Seed::new(&order.seed), order }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("name", &self.order.name).finish_non_exhaustive()
    }
}

/// The last few events, by their batch.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<VecDeque<(BatchId, Arc<Event>)>>);

impl Known {
    /// The event of a batch.
    pub(crate) async fn event(&self, engine: &Engine, batch: BatchId) -> Result<Arc<Event>, Error> {
        if let Some(event) = self.find(batch) {
            return Ok(event);
        }
        let finish = finish_of(engine, batch).await?;
        let view = engine.job(finish).await?.ok_or(Refusal::UnknownBatch(batch))?;
        let Finish { order } = serde_json::from_value(view.payload).map_err(|error| {
            Refusal::Invalid(format!("the order of batch {batch} cannot be read: {error}"))
        })?;
        let event = Arc::new(Event::new(order));
        self.keep(batch, &event);
        Ok(event)
    }

    fn find(&self, batch: BatchId) -> Option<Arc<Event>> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().find(|(known, _)| *known == batch).map(|(_, event)| event.clone())
    }

    fn keep(&self, batch: BatchId, event: &Arc<Event>) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.iter().all(|(known, _)| *known != batch) {
            events.truncate(KNOWN - 1);
            events.push_front((batch, event.clone()));
        }
    }
}

/// The job that finishes a batch; an error if it is not a batch of bingo.
pub(crate) async fn finish_of(engine: &Engine, batch: BatchId) -> Result<JobId, Error> {
    let view = engine.batch_view(batch).await?.ok_or(Refusal::UnknownBatch(batch))?;
    let finish = match view.batch.then {
        Some(then) => engine.rows(vec![then.job]).await?.pop(),
        None => None,
    };
    match finish {
        Some(row) if &*row.line.kind == Finish::KIND => Ok(row.header.id),
        _ => Err(Refusal::Invalid(format!(
            "batch {batch} is no batch of bingo: `turnwise bingo list` shows those that are"
        ))
        .into()),
    }
}
