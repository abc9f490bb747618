//! The end of a batch: its pieces become one, in one commit with what is said about it.

use serde::{Deserialize, Serialize};
use turnwise::{BatchId, Context, Engine, Filter, Job as _, JobId, JobRow, JobView, Outcome, State, Stop};

use super::handlers::{Desk, goes_on_later, wait};
use super::jobs::{Divide, Done, Finish, One, Stretch};
use super::known::Event;
use super::limits::FAILURES_TOLD;
use super::piece::{Index, Opened};
use crate::kept::Extent;
use crate::{Aggregate, Summary};

/// Jobs in one look.
const PAGE: usize = 500;

/// What a batch came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// How it ended.
    pub verdict: Verdict,
    /// What is to be said about it, if all did not go well.
    pub message: Option<String>,
    /// Runs that were ordered.
    pub runs: u64,
    /// Runs that are in the aggregates.
    pub simulated: u64,
    /// Runs that failed for good.
    pub failed_runs: u64,
    /// The first of them.
    pub failures: Vec<Failure>,
    /// Processor time that all workers together spent in the simulation, in microseconds.
    pub simulation_us: u64,
    /// The aggregates, for each team.
    pub summary: Summary,
    /// Where the single runs are.
    pub(crate) index: Index,
}

impl Results {
    /// The results as people and programs see them: where the single runs are is nobody's affair.
    pub fn shown(&self) -> serde_json::Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("index");
        }
        shown
    }
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every run was simulated.
    Completed,
    /// Some runs failed. The aggregates are those of the others.
    Error,
    /// Somebody ended it early. The aggregates are those of the runs that were simulated.
    Cancelled,
}

/// A run that failed for good, with all that is needed to try it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The first run.
    pub run: u64,
    /// How many runs from there; 1 unless a whole range was lost.
    pub count: u64,
    /// The seed of the batch, from which the run's luck comes.
    pub seed: String,
    /// How often it was tried on its own.
    pub attempts: u16,
    /// What went wrong the last time.
    pub error: String,
}

/// What was found so far.
pub(crate) struct Sum {
    aggregate: Aggregate,
    index: Index,
    failures: Vec<Failure>,
    failed_runs: u64,
    nanos: u64,
    /// Why the batch was never divided.
    undivided: Option<String>,
}

impl Sum {
    pub(crate) fn new(event: &Event) -> Sum {
        Sum {
            aggregate: Aggregate::new(&event.plan),
            index: Index::default(),
            failures: Vec::new(),
            failed_runs: 0,
            nanos: 0,
            undivided: None,
        }
    }

    /// Adds a piece: its sum, the time that it took, and which runs of which job it is.
    pub(crate) fn take(&mut self, aggregate: &Aggregate, nanos: u64, extent: Option<Extent>, job: JobId) {
        self.aggregate.merge(aggregate);
        self.nanos = self.nanos.saturating_add(nanos);
        if let Some(extent) = extent {
            self.index.add(extent, job);
        }
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failed_runs += failure.count;
        self.failures.push(failure);
        // The first ones are told, whatever order they come in.
        if self.failures.len() > 2 * FAILURES_TOLD {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.failures.sort_by_key(|failure| failure.run);
        self.failures.truncate(FAILURES_TOLD);
    }

    /// The results, whose digits depend on what was found and not on the order in which it was.
    pub(crate) fn results(mut self, event: &Event, cancelled: bool) -> Results {
        self.shorten();
        let runs = event.order.runs;
        let simulated = self.index.sort();
        let failed_runs = if self.undivided.is_some() && !cancelled { runs } else { self.failed_runs };
        let missing = runs.saturating_sub(simulated + failed_runs);
        let (verdict, message) = match (cancelled, failed_runs, missing) {
            (true, ..) => (
                Verdict::Cancelled,
                Some(format!("it was cancelled: {simulated} of {runs} runs were simulated")),
            ),
            (false, 0, 0) => (Verdict::Completed, None),
            (false, 0, _) => (
                Verdict::Error,
                Some(format!("what {missing} of {runs} runs gave is not kept any more: run it again")),
            ),
            (false, ..) => (Verdict::Error, Some(self.failed(failed_runs, runs))),
        };
        Results {
            verdict,
            message,
            runs,
            simulated,
            failed_runs,
            simulation_us: self.nanos / 1_000,
            summary: self.aggregate.summary(&event.plan),
            failures: self.failures,
            index: self.index,
        }
    }

    fn failed(&self, failed: u64, runs: u64) -> String {
        let why = self.undivided.as_deref();
        let why = why.or(self.failures.first().map(|first| first.error.as_str())).unwrap_or("see its jobs");
        format!("{failed} of {runs} runs failed: {why}")
    }
}

/// `bingo.finish`: merges the pieces one by one, so that memory does not grow with the runs.
#[allow(clippy::needless_pass_by_value, reason = "handlers are given their job and context")]
pub(crate) fn finish(desk: &Desk, _job: Finish, ctx: Context) -> Outcome<Results> {
    let engine = desk.engine()?;
    let event = desk.event(&ctx)?;
    let Some(batch) = ctx.batch_id() else { return Err(Stop::never("it belongs to no batch")) };
    let Some(view) = wait(engine.batch_view(batch))? else { return Err(Stop::never("its batch is gone")) };
    let mut sum = Sum::new(&event);
    let mut filter = Filter { batch: Some(batch), limit: PAGE, ..Filter::default() };
    loop {
        let (rows, before) = wait(engine.jobs(filter.clone()))?;
        for row in rows {
            if ctx.is_cancelled() {
                return Err(goes_on_later());
            }
            gather(&engine, &event, &row, &mut sum)?;
        }
        match before {
            Some(before) => filter.before = Some(before),
            None => return Ok(sum.results(&event, view.batch.cancel)),
        }
    }
}

/// Adds what one job of the batch gave.
fn gather(engine: &Engine, event: &Event, row: &JobRow, sum: &mut Sum) -> Outcome {
    let (kind, state) = (&*row.line.kind, row.header.state);
    let of_runs = kind == Stretch::KIND || kind == One::KIND;
    if !(of_runs && matches!(state, State::Done | State::Dead)
        || kind == Divide::KIND && state == State::Dead)
    {
        return Ok(());
    }
    let Some(view) = wait(engine.job(row.header.id))? else { return Ok(()) };
    if kind == Divide::KIND {
        sum.undivided = Some(last_error(&view));
    } else if state == State::Dead {
        sum.fail(failure(event, &view)?);
    } else if let Some(piece) = piece_of(&view)? {
        sum.take(&piece.aggregate, piece.nanos, piece.extent, view.id);
    }
    Ok(())
}

/// What a job of runs gave, unless it was divided instead.
pub(crate) fn piece_of(view: &JobView) -> Outcome<Option<Opened>> {
    // Both kinds give the same.
    match view.result::<Stretch>()? {
        Some(Done::Piece(packed)) => packed.open().map(Some).map_err(Stop::never),
        Some(Done::Split) | None => Ok(None),
    }
}

fn failure(event: &Event, view: &JobView) -> Outcome<Failure> {
    let (run, count, attempts) = if &*view.kind == One::KIND {
        let one: One = serde_json::from_value(view.payload.clone())?;
        (one.run, 1, view.attempt)
    } else {
        let range: Stretch = serde_json::from_value(view.payload.clone())?;
        (range.from, range.to - range.from, 0)
    };
    Ok(Failure { run, count, seed: event.order.seed.clone(), attempts, error: last_error(view) })
}

fn last_error(view: &JobView) -> String {
    view.errors.last().map_or_else(|| "no attempt said why".to_owned(), |error| error.error.clone())
}

/// The results of a batch that has ended, if they are written.
pub(crate) async fn results_of(engine: &Engine, batch: BatchId) -> Result<Option<Results>, turnwise::Error> {
    let finish = super::known::finish_of(engine, batch).await?;
    match engine.job(finish).await? {
        Some(view) => view.result::<Finish>(),
        None => Ok(None),
    }
}
