//! What the jobs of a batch do.

use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Duration;

use turnwise::{Context, Engine, Error, Outcome, Stop};

use super::bingo::Settings;
use super::jobs::{Divide, Divided, Done, One, Stretch};
use super::known::{Event, Known};
use super::limits::{PEELED, PIECE_BYTES, RANGES};
use super::piece::Packed;
use super::simulate::{self, Ended, Failed};
use super::split;

/// What every handler has at hand. The engine is held by whoever registered them: a handler that held it would keep it
/// from ever closing.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) engine: Weak<Engine>,
    pub(crate) known: Arc<Known>,
    pub(crate) settings: Settings,
}

impl Desk {
    /// The engine, unless the process is about to end: then the job goes on elsewhere.
    pub(crate) fn engine(&self) -> Outcome<Arc<Engine>> {
        self.engine.upgrade().ok_or_else(goes_on_later)
    }

    /// The event that a job belongs to.
    pub(crate) fn event(&self, ctx: &Context) -> Outcome<Arc<Event>> {
        let Some(batch) = ctx.batch_id() else {
            return Err(Stop::never("it belongs to no batch: batches are made by `turnwise bingo run`"));
        };
        wait(self.known.event(&*self.engine()?, batch)).map_err(|error| match error {
            Error::Refused(refusal) => Stop::never(refusal),
            passing => passing.into(),
        })
    }
}

/// Waits for something on a thread that may block.
pub(crate) fn wait<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Handle::current().block_on(what)
}

/// A cancelled job ends as cancelled; at a shutdown it begins again later, and no attempt is burnt.
pub(crate) fn goes_on_later() -> Stop {
    Stop::snooze(Duration::ZERO)
}

/// `bingo.plan`: tries how long a run takes, and divides the batch by that.
#[allow(clippy::needless_pass_by_value, reason = "handlers are given their job and context")]
pub(crate) fn divide(desk: &Desk, _job: Divide, ctx: Context) -> Outcome<Divided> {
    let event = desk.event(&ctx)?;
    let runs = event.order.runs;
    let size = match desk.settings.range {
        Some(size) => size.max(runs.div_ceil(RANGES)),
        None => {
            let trial = simulate::trial(&event);
            split::size(runs, trial.run, PIECE_BYTES, trial.bytes)
        }
    };
    let mut ranges = 0;
    for range in split::ranges(runs, size) {
        ctx.submit_into_batch(Stretch { from: range.start, to: range.end })?;
        ranges += 1;
    }
    Ok(Divided { range: size, ranges })
}

/// `bingo.range`: simulates its runs. A run that fails is peeled off, to be tried on its own; the others stand.
///
/// What cannot be caught here (a process that dies, a thread that will not end) is found by halves: a range that was
/// taken from a dead worker, or that failed before, does nothing but divide itself.
#[allow(clippy::needless_pass_by_value, reason = "handlers are given their job and context")]
pub(crate) fn range(desk: &Desk, job: Stretch, ctx: Context) -> Outcome<Done> {
    let event = desk.event(&ctx)?;
    ordered(&event, &job.runs())?;
    if ctx.fence() > 1 && had_trouble(desk, &ctx)? {
        return divided(&ctx, &job.runs());
    }
    let Ended { piece, failed } = simulated(&event, job.runs(), 1, &ctx)?;
    if failed.len() > PEELED {
        tracing::warn!(failed = failed.len(), "more runs failed than one range may peel off: it is divided");
        return divided(&ctx, &job.runs());
    }
    match piece.pack() {
        Ok(packed) => peeled(&ctx, &failed, packed),
        Err(bytes) if job.to - job.from > 1 => {
            tracing::debug!(bytes, "what the range leaves does not fit into a result: it is divided");
            divided(&ctx, &job.runs())
        }
        Err(bytes) => Err(Stop::never(format!("a single run leaves {bytes} bytes, which no result holds"))),
    }
}

/// `bingo.run`: one run on its own. After its last attempt it is a dead letter: a failed run.
#[allow(clippy::needless_pass_by_value, reason = "handlers are given their job and context")]
pub(crate) fn one(desk: &Desk, job: One, ctx: Context) -> Outcome<Done> {
    let event = desk.event(&ctx)?;
    let run = job.run..job.run.saturating_add(1);
    ordered(&event, &run)?;
    // The first attempt was in the range.
    let attempt = u32::from(ctx.attempt()).saturating_add(1);
    let Ended { piece, failed } = simulated(&event, run, attempt, &ctx)?;
    if let Some(failed) = failed.first() {
        return Err(Stop::retry(told(&event, failed)));
    }
    let packed = piece.pack();
    packed.map(Done::Piece).map_err(|bytes| Stop::never(format!("the run leaves {bytes} bytes")))
}

/// Jobs that this application made name runs of their order; others may name any.
fn ordered(event: &Event, runs: &Range<u64>) -> Outcome {
    match runs.start < runs.end && runs.end <= event.order.runs {
        true => Ok(()),
        false => Err(Stop::never(format!(
            "runs {} to {} are not among the {} that were ordered",
            runs.start, runs.end, event.order.runs
        ))),
    }
}

/// What is wrong with a run, with all that is needed to try it again.
fn told(event: &Event, failed: &Failed) -> String {
    format!("run {} of seed `{}` failed: {}", failed.run, event.order.seed, failed.error)
}

/// Whether an earlier try at this job ended badly. A claim that was only given back is no trouble.
fn had_trouble(desk: &Desk, ctx: &Context) -> Outcome<bool> {
    let rows = wait(desk.engine()?.rows(vec![ctx.job()]))?;
    Ok(ctx.attempt() > 1 || rows.first().is_some_and(|row| row.header.rescues > 0))
}

/// Gives the runs of a range to jobs that commit with the end of this one; a single one is tried on its own.
fn divided(ctx: &Context, runs: &Range<u64>) -> Outcome<Done> {
    match runs.end - runs.start {
        1 => drop(ctx.submit_into_batch(One { run: runs.start })?),
        _ => {
            for half in split::halves(runs) {
                ctx.submit_into_batch(Stretch { from: half.start, to: half.end })?;
            }
        }
    }
    Ok(Done::Split)
}

fn peeled(ctx: &Context, failed: &[Failed], packed: Packed) -> Outcome<Done> {
    for failed in failed {
        tracing::warn!(run = failed.run, error = failed.error, "a run failed: it is tried on its own");
        ctx.submit_into_batch(One { run: failed.run })?;
    }
    Ok(Done::Piece(packed))
}

fn simulated(event: &Event, runs: Range<u64>, attempt: u32, ctx: &Context) -> Outcome<Ended> {
    simulate::simulate(event, runs, attempt, &|| !ctx.is_cancelled()).ok_or_else(goes_on_later)
}
