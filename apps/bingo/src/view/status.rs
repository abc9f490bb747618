//! Where a batch is in its life.

use serde::{Deserialize, Serialize};
use turnwise::{BatchId, BatchView, Error, Job as _, JobId, JobView, Name, Phase, Refusal, State};
use utoipa::ToSchema;

use crate::work::limits::{LOOKED_AT, PAGE};
use crate::work::{Bingo, Finish, Stored, Verdict};

/// A batch and how far it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Status {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// Where it is in its life. It has ended when its aggregates are written, not before.
    pub status: StatusWord,
    /// What is to be said about it, if all did not go well.
    pub message: Option<String>,
    /// The scenario's name.
    pub scenario: String,
    /// What the luck of every run is made from.
    pub seed: String,
    /// Runs that were ordered.
    pub runs: u64,
    /// Runs that have ended; about so many while it runs, because whole ranges are counted.
    pub ended_runs: u64,
    /// Runs that failed for good.
    pub failed_runs: u64,
    /// When it was started, in microseconds since 1970.
    pub started: i64,
    /// When its aggregates were written; 0 before that.
    pub ended: i64,
    /// How long it has taken, or took, in seconds.
    pub seconds: f64,
    /// Runs in a second, from its start to now or to its end.
    pub runs_per_s: f64,
    /// About how long it will take from now, in seconds.
    pub seconds_left: Option<f64>,
    /// Jobs that it consists of at the moment.
    pub jobs: u64,
    /// Jobs that have not ended.
    pub pending_jobs: u64,
}

/// Where a batch is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusWord {
    /// Nothing of it has begun.
    Pending,
    /// It is simulated, or its aggregates are being merged.
    Running,
    /// Every run was simulated, and the aggregates are there.
    Completed,
    /// Some runs failed. The aggregates of the others are there.
    Error,
    /// Somebody ended it early. The aggregates of what was simulated are there.
    Cancelled,
}

/// What is shown of an order. The scenario was checked when it was accepted: to be listed it need not be worked out.
#[derive(Deserialize)]
struct Ordered {
    runs: u64,
    seed: String,
    scenario: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A page of batches, newest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Listed {
    /// The batches.
    pub batches: Vec<Status>,
    /// The cursor of the next page, unless this is the last.
    pub next: Option<String>,
}

impl Bingo {
    /// How far a batch is. It costs a few looks at the store, however many runs there are.
    pub async fn status(&self, batch: BatchId) -> Result<Status, Error> {
        let view = self.engine.batch_view(batch).await?.ok_or(Refusal::UnknownBatch(batch))?;
        let finish = crate::work::finish_of(&self.engine, batch).await?;
        let finish = self.engine.job(finish).await?.ok_or(Refusal::UnknownBatch(batch))?;
        self.told(&view, &finish).await
    }

    /// Batches of bingo, newest first, that `sees` lets see. Those of other applications are passed over, but no more than a
    /// few thousand: a page may hold few batches although more follow.
    pub async fn list(
        &self,
        before: Option<BatchId>,
        sees: impl Fn(&Name) -> bool + Send,
    ) -> Result<Listed, Error> {
        let mut batches = Vec::new();
        let mut before = before;
        for _ in 0..LOOKED_AT / PAGE {
            let found = self.engine.batches(before, PAGE).await?;
            let (is_last, ours) = (found.len() < PAGE, self.finishes(&found).await?);
            for view in found {
                if batches.len() == PAGE {
                    return Ok(Listed { batches, next: before.map(|before| before.to_string()) });
                }
                before = Some(view.batch.id);
                let then = view.batch.then.filter(|then| ours.contains(&then.job));
                let Some(then) = then.filter(|_| sees(&view.batch.owner)) else { continue };
                let Some(finish) = self.engine.job(then.job).await? else { continue };
                match self.told(&view, &finish).await {
                    Ok(status) => batches.push(status),
                    // Somebody else made it. It must not hide the others.
                    Err(Error::Refused(_)) => {}
                    Err(other) => return Err(other),
                }
            }
            if is_last {
                return Ok(Listed { batches, next: None });
            }
        }
        Ok(Listed { batches, next: before.map(|before| before.to_string()) })
    }

    /// Those jobs that finish one of these batches and belong to bingo.
    async fn finishes(&self, found: &[BatchView]) -> Result<Vec<JobId>, Error> {
        let then = found.iter().filter_map(|view| Some(view.batch.then?.job)).collect();
        let rows = self.engine.rows(then).await?;
        let ours = rows.into_iter().filter(|row| &*row.line.kind == Finish::KIND);
        Ok(ours.map(|row| row.header.id).collect())
    }

    async fn told(&self, view: &BatchView, finish: &JobView) -> Result<Status, Error> {
        let batch = &view.batch;
        let order = Ordered::deserialize(&finish.payload).map_err(|error| {
            Refusal::Invalid(format!("the order of batch {} is broken: {error}", batch.id))
        })?;
        let results = finish.result::<Finish>().map_err(|error| {
            Refusal::Invalid(format!("the results of batch {} cannot be read: {error}", batch.id))
        })?;
        let now = self.engine.time().await?;
        let over = finish.state.is_final();
        let seconds = if over { finish.at } else { now }.since(batch.opened).as_secs_f64();
        let ended_runs = match &results {
            Some(results) => results.simulated + results.failed_runs,
            None => ended(view, order.runs),
        };
        let runs_per_s = if seconds > 0.0 { ended_runs as f64 / seconds } else { 0.0 };
        let left = order.runs.saturating_sub(ended_runs) as f64 / runs_per_s;
        let (status, message) = word(view, finish, results.as_ref());
        Ok(Status {
            id: batch.id.to_string(),
            name: batch.name.to_string(),
            owner: batch.owner.to_string(),
            status,
            message,
            scenario: order.scenario.name,
            seed: order.seed,
            runs: order.runs,
            ended_runs,
            failed_runs: results.as_ref().map_or(0, |results| results.failed_runs),
            started: batch.opened.as_micros(),
            ended: if over { finish.at.as_micros() } else { 0 },
            seconds,
            runs_per_s,
            seconds_left: (!over && left.is_finite()).then_some(left),
            jobs: batch.total,
            pending_jobs: view.pending,
        })
    }
}

/// About how many runs have ended, by the counters of the batch: the first job only divides it.
fn ended(view: &BatchView, runs: u64) -> u64 {
    let ranges = view.batch.total.saturating_sub(1);
    let ended = ranges - view.pending.min(ranges);
    match ranges {
        0 => 0,
        _ => u64::try_from(u128::from(runs) * u128::from(ended) / u128::from(ranges)).unwrap_or(runs),
    }
}

fn word(view: &BatchView, finish: &JobView, results: Option<&Stored>) -> (StatusWord, Option<String>) {
    if let Some(results) = results {
        let word = match results.verdict {
            Verdict::Completed => StatusWord::Completed,
            Verdict::Error => StatusWord::Error,
            Verdict::Cancelled => StatusWord::Cancelled,
        };
        return (word, results.message.clone());
    }
    match finish.state {
        State::Cancelled => {
            (StatusWord::Cancelled, Some("it was cancelled before its pieces were merged".into()))
        }
        State::Dead => {
            let why = finish.errors.last().map_or("no attempt said why", |error| &error.error);
            (StatusWord::Error, Some(format!("its pieces could not be merged: {why}")))
        }
        _ if view.batch.phase == Phase::Sealed && view.batch.total <= 1 && view.batch.done == 0 => {
            (StatusWord::Pending, None)
        }
        _ => (StatusWord::Running, None),
    }
}
