//! The end of a batch: its pieces become one, in one commit with what is said about it.

use std::ops::Range;

use turnwise::{BatchId, Context, Engine, Filter, Job as _, JobRow, JobView, Outcome, State, Stop};

use super::handlers::{Desk, goes_on_later, wait};
use super::jobs::{Divide, Done, Finish, One, Stretch};
use super::known::Event;
use super::limits::{FAILURES_TOLD, JOBS_PER_LOOK};
use super::piece::Opened;
use super::results::{Failure, Stored, Verdict, brief};
use crate::Aggregate;

/// What was found so far.
pub(crate) struct Sum {
    aggregate: Aggregate,
    failures: Vec<Failure>,
    failed_runs: u64,
    /// Runs whose jobs somebody cancelled one by one.
    cancelled_runs: u64,
    nanos: u64,
    /// Why the batch was never divided.
    undivided: Option<String>,
}

impl Sum {
    pub(crate) fn new(event: &Event) -> Sum {
        Sum {
            aggregate: Aggregate::new(&event.plan),
            failures: Vec::new(),
            failed_runs: 0,
            cancelled_runs: 0,
            nanos: 0,
            undivided: None,
        }
    }

    /// Adds a piece: its sum, and the time that it took.
    pub(crate) fn take(&mut self, aggregate: &Aggregate, nanos: u64) {
        self.aggregate.merge(aggregate);
        self.nanos = self.nanos.saturating_add(nanos);
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failed_runs += failure.count;
        self.failures.push(Failure { error: brief(&failure.error), ..failure });
        // The first ones are told, whatever order they come in.
        if self.failures.len() > 2 * FAILURES_TOLD {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.failures.sort_by_key(|failure| failure.run);
        self.failures.truncate(FAILURES_TOLD);
    }

    /// What it comes to. Its digits depend on what was found and not on the order in which it was.
    pub(crate) fn stored(mut self, event: &Event, cancelled: bool) -> Stored {
        self.shorten();
        let (runs, simulated) = (event.order.runs, self.aggregate.runs());
        if self.undivided.is_some() && !cancelled {
            self.failed_runs = runs;
        }
        let message = match cancelled {
            true => Some(format!("it was cancelled: {simulated} of {runs} runs were simulated")),
            false => self.complaint(simulated, runs),
        };
        let verdict = match (cancelled, &message) {
            (true, _) => Verdict::Cancelled,
            (false, None) => Verdict::Completed,
            (false, Some(_)) => Verdict::Error,
        };
        Stored {
            verdict,
            message,
            runs,
            simulated,
            failed_runs: self.failed_runs,
            simulation_us: self.nanos / 1_000,
            figures: self.aggregate.bare(),
            failures: self.failures,
        }
    }

    /// What became of the runs that were not simulated, if there are any.
    fn complaint(&self, simulated: u64, runs: u64) -> Option<String> {
        let (failed, cancelled) = (self.failed_runs, self.cancelled_runs);
        let gone = runs.saturating_sub(simulated + failed + cancelled);
        let why = self.undivided.as_deref();
        let why = why.or(self.failures.first().map(|first| first.error.as_str())).unwrap_or("see its jobs");
        let parts = [
            (failed, format!("{failed} of {runs} runs failed: {why}")),
            (cancelled, format!("{cancelled} of {runs} runs were cancelled with their jobs: run it again")),
            (gone, format!("what {gone} of {runs} runs gave is not kept any more: run it again")),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// `bingo.finish`: merges the pieces one by one, so that memory does not grow with the runs.
#[allow(clippy::needless_pass_by_value, reason = "handlers are given their job and context")]
pub(crate) fn finish(desk: &Desk, _job: Finish, ctx: Context) -> Outcome<Stored> {
    let engine = desk.engine()?;
    let event = desk.event(&ctx)?;
    let Some(batch) = ctx.batch_id() else { return Err(Stop::never("it belongs to no batch")) };
    let Some(view) = wait(engine.batch_view(batch))? else { return Err(Stop::never("its batch is gone")) };
    let mut sum = Sum::new(&event);
    let mut filter = Filter { batch: Some(batch), limit: JOBS_PER_LOOK, ..Filter::default() };
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
            None => return Ok(sum.stored(&event, view.batch.cancel)),
        }
    }
}

/// Adds what one job of the batch gave.
fn gather(engine: &Engine, event: &Event, row: &JobRow, sum: &mut Sum) -> Outcome {
    let (kind, state) = (&*row.line.kind, row.header.state);
    let divides = kind == Divide::KIND;
    if !(divides || has_runs(row)) || !state.is_final() || divides && state == State::Done {
        return Ok(());
    }
    let Some(view) = wait(engine.job(row.header.id))? else { return Ok(()) };
    match state {
        State::Done => {
            if let Some(piece) = piece_of(&view)? {
                sum.take(&piece.aggregate, piece.nanos);
            }
        }
        State::Cancelled => sum.cancelled_runs += count(&covered(event, &view)?),
        _ if divides => sum.undivided = Some(brief(last_error(&view))),
        _ => sum.fail(failure(event, &view)?),
    }
    Ok(())
}

/// Whether a job simulates runs.
pub(crate) fn has_runs(row: &JobRow) -> bool {
    [Stretch::KIND, One::KIND].contains(&&*row.line.kind)
}

/// What a job of runs gave, unless it was divided instead.
pub(crate) fn piece_of(view: &JobView) -> Outcome<Option<Opened>> {
    // Both kinds give the same.
    match view.result::<Stretch>()? {
        Some(Done::Piece(packed)) => packed.open().map(Some).map_err(Stop::never),
        Some(Done::Split) | None => Ok(None),
    }
}

/// Which runs of the order a job was to simulate, itself or by others.
fn covered(event: &Event, view: &JobView) -> Outcome<Range<u64>> {
    let payload = view.payload.clone();
    let runs = match &*view.kind {
        One::KIND => {
            let One { run } = serde_json::from_value(payload)?;
            run..run.saturating_add(1)
        }
        Stretch::KIND => serde_json::from_value::<Stretch>(payload)?.runs(),
        _ => 0..event.order.runs,
    };
    Ok(runs.start..runs.end.min(event.order.runs))
}

fn count(runs: &Range<u64>) -> u64 {
    runs.end.saturating_sub(runs.start)
}

fn failure(event: &Event, view: &JobView) -> Outcome<Failure> {
    let runs = covered(event, view)?;
    let attempts = if &*view.kind == One::KIND { view.attempt } else { 0 };
    let (seed, error) = (event.order.seed.clone(), last_error(view).to_owned());
    Ok(Failure { run: runs.start, count: count(&runs), seed, attempts, error })
}

fn last_error(view: &JobView) -> &str {
    view.errors.last().map_or("no attempt said why", |error| &error.error)
}

/// The results of a batch that has ended, if they are written.
pub(crate) async fn stored_of(engine: &Engine, batch: BatchId) -> Result<Option<Stored>, turnwise::Error> {
    let finish = super::known::finish_of(engine, batch).await?;
    match engine.job(finish).await? {
        Some(view) => view.result::<Finish>(),
        None => Ok(None),
    }
}
