//! Clearing: what waits is cancelled, what has ended is forgotten. What runs is never touched.

use serde::{Deserialize, Serialize};
use turnwise::{Engine, Error, State};
use utoipa::ToSchema;

use crate::queue;

/// What is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Requests that are ready or behind others: they are cancelled.
    Waiting,
    /// Requests that wait for a retry: they are cancelled.
    Delayed,
    /// Dead letters: they are forgotten.
    Failed,
    /// Requests that are done: they are forgotten. Their commits and names stay.
    Completed,
    /// All of these.
    All,
}

/// How many requests there are. Those that are done or failed count as long as they are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    /// Ready, or behind another.
    pub waiting: usize,
    /// Running.
    pub active: usize,
    /// Waiting for a retry.
    pub delayed: usize,
    /// Dead letters.
    pub failed: usize,
    /// Done.
    pub completed: usize,
}

/// What clearing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cleared {
    /// The counts before.
    pub before: Counts,
    /// The counts after.
    pub after: Counts,
    /// How many were cancelled or forgotten.
    pub cleared: usize,
}

/// How many requests there are now.
pub async fn counts(engine: &Engine) -> Result<Counts, Error> {
    let totals = engine.totals().await?;
    let tally = totals.get(&queue::kind()?).copied().unwrap_or_default();
    let count = |state| tally.of(state) as usize;
    // The tally of those that have ended goes on counting what was forgotten.
    let kept = async |state| Ok::<usize, Error>(queue::in_state(engine, state).await?.len());
    Ok(Counts {
        waiting: count(State::Ready) + count(State::Waiting),
        active: count(State::Running),
        delayed: count(State::Retrying) + count(State::Scheduled),
        failed: kept(State::Dead).await?,
        completed: kept(State::Done).await?,
    })
}

/// Clears, and counts before and after.
pub async fn clear(engine: &Engine, what: What) -> Result<Cleared, Error> {
    let before = counts(engine).await?;
    let mut cleared = 0;
    if matches!(what, What::Waiting | What::All) {
        // Those behind go first: otherwise each that is cancelled makes the next one ready.
        cleared += cancel(engine, State::Waiting).await?;
        cleared += cancel(engine, State::Ready).await?;
    }
    if matches!(what, What::Delayed | What::All) {
        cleared += cancel(engine, State::Retrying).await?;
        cleared += cancel(engine, State::Scheduled).await?;
    }
    if matches!(what, What::Failed | What::All) {
        cleared += forget(engine, State::Dead).await?;
    }
    if matches!(what, What::Completed | What::All) {
        cleared += forget(engine, State::Done).await?;
    }
    Ok(Cleared { before, after: counts(engine).await?, cleared })
}

/// Cancels what is in a state and has not begun. One that has begun since it was listed is left alone; one that begins in
/// the moment between the look and the word is told to stop, like any job that is cancelled.
async fn cancel(engine: &Engine, state: State) -> Result<usize, Error> {
    let mut cancelled = 0;
    for job in queue::in_state(engine, state).await? {
        let now = engine.rows(vec![job]).await?;
        if now.first().is_none_or(|row| row.header.state != state) {
            continue;
        }
        match engine.cancel(job).await {
            Ok(_) => cancelled += 1,
            Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cancelled)
}

async fn forget(engine: &Engine, state: State) -> Result<usize, Error> {
    engine.forget(queue::in_state(engine, state).await?).await
}
