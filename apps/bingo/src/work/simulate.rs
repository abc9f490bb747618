//! Runs, one after the other: the one way in which they are simulated, in jobs and without an engine.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::known::Event;
use super::limits::{LOOK_RUNS, TRIAL_RUNS, TRIAL_TIME};
use super::piece::Piece;
use crate::{Aggregate, Run, Runs, Scratch};

/// What came of some runs.
pub(crate) struct Ended {
    /// Those that went well.
    pub(crate) piece: Piece,
    /// Those that failed.
    pub(crate) failed: Vec<Failed>,
}

/// A run that failed.
pub(crate) struct Failed {
    pub(crate) run: u64,
    pub(crate) error: String,
}

/// Simulates runs. `attempt` is which try at them this is, for drills; nothing if `goes_on` says no.
pub(crate) fn simulate(
    event: &Event,
    runs: Range<u64>,
    attempt: u32,
    goes_on: &dyn Fn() -> bool,
) -> Option<Ended> {
    let begin = processor_time();
    let delay = Duration::from_millis(event.order.scenario.simulation_delay_ms().into());
    let mut failed = Vec::new();
    let mut aggregate = Aggregate::new(&event.plan);
    let mut kept = Runs::new(event.plan.teams().len());
    let (mut run, mut scratch) = (Run::default(), Scratch::new());
    for index in runs {
        if (index.is_multiple_of(LOOK_RUNS) || !delay.is_zero()) && !goes_on() {
            return None;
        }
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        match tried(event, index, attempt, &mut run, &mut scratch).and_then(|()| keep(&mut kept, &run)) {
            Ok(()) => aggregate.add(&run),
            Err(error) => {
                failed.push(Failed { run: index, error });
                // Whatever a panic left behind is not used again.
                (run, scratch) = (Run::default(), Scratch::new());
            }
        }
    }
    let nanos = processor_time().saturating_sub(begin);
    Some(Ended { piece: Piece { aggregate, runs: kept, nanos }, failed })
}

/// Nanoseconds of a processor that this thread has had. Whatever else the machine does in between is not the simulation's.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)).unwrap_or(0)
}

/// One run. A fault, a panic and a drill are all a run that failed.
fn tried(
    event: &Event,
    index: u64,
    attempt: u32,
    run: &mut Run,
    scratch: &mut Scratch,
) -> Result<(), String> {
    if let Some(trouble) = event.order.scenario.trouble()
        && trouble.fails(index, attempt)
    {
        return Err("this is a drill: the scenario asks for it under `trouble`".into());
    }
    let played = catch_unwind(AssertUnwindSafe(|| event.plan.run(&event.seed, index, run, scratch)));
    match played {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(fault.to_string()),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied();
            let said = said.or(panic.downcast_ref::<String>().map(String::as_str));
            Err(format!("the simulation panicked: {}", said.unwrap_or("without a message")))
        }
    }
}

fn keep(kept: &mut Runs, run: &Run) -> Result<(), String> {
    kept.push(run).map_err(|fault| fault.to_string())
}

/// What a few runs cost.
pub(crate) struct Trial {
    /// Time for one run.
    pub(crate) run: Duration,
    /// Bytes that one run leaves.
    pub(crate) bytes: usize,
}

/// Tries the first runs, to see what one costs. Only how a batch is divided depends on it.
pub(crate) fn trial(event: &Event) -> Trial {
    let delay = Duration::from_millis(event.order.scenario.simulation_delay_ms().into());
    let begin = Instant::now();
    let (mut run, mut scratch) = (Run::default(), Scratch::new());
    let mut aggregate = Aggregate::new(&event.plan);
    let mut kept = Runs::new(event.plan.teams().len());
    let mut runs = 0;
    while runs < event.order.runs.min(TRIAL_RUNS) && (runs == 0 || begin.elapsed() < TRIAL_TIME) {
        let tried = tried(event, runs, 1, &mut run, &mut scratch);
        if tried.and_then(|()| keep(&mut kept, &run)).is_ok() {
            aggregate.add(&run);
        }
        runs += 1;
    }
    let time = begin.elapsed() / u32::try_from(runs).unwrap_or(u32::MAX);
    let bytes = Piece { aggregate, runs: kept, nanos: 0 }.bytes();
    Trial { run: time + delay, bytes: bytes.div_ceil(usize::try_from(runs).unwrap_or(1)) }
}
