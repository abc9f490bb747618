//! The same batch without an engine: on the threads of this process, kept nowhere. Digit for digit what a batch gives.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::finish::Sum;
use super::known::Event;
use super::limits::{ATTEMPTS, PIECE_BYTES};
use super::order::Order;
use super::piece::Piece;
use super::results::{Failure, Results};
use super::simulate::{Ended, Failed, simulate, trial};
use super::split;

/// How far a run without an engine is.
#[derive(Debug, Default)]
pub struct Progress {
    ended: AtomicU64,
}

impl Progress {
    /// Runs that have ended.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

/// Simulates an order on so many threads, and waits for it.
pub fn run_here(order: Order, threads: usize, progress: &Progress) -> Results {
    let event = Event::new(order);
    let trial = trial(&event);
    let size = split::size(event.order.runs, trial.run, PIECE_BYTES, trial.bytes);
    let ranges = Mutex::new(split::ranges(event.order.runs, size));
    let sum = Mutex::new(Sum::new(&event));
    let work = || {
        loop {
            // The lock is not held while runs are simulated.
            let range = ranges.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(range) = range else { return };
            let length = range.end - range.start;
            let Some(Ended { piece, failed }) = simulate(&event, range, 1, &|| true) else { return };
            let mut found = vec![piece];
            let mut lost = Vec::new();
            for failed in failed {
                match again(&event, failed.run) {
                    Ok(Ended { piece, .. }) => found.push(piece),
                    Err(failed) => lost.push(failed),
                }
            }
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            for Piece { aggregate, nanos, .. } in &found {
                sum.take(aggregate, *nanos);
            }
            lost.into_iter().for_each(|failed| sum.fail(failure(&event, failed)));
            progress.ended.fetch_add(length, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.stored(&event, false).named(&event.plan)
}

/// A run that failed, tried on its own.
fn again(event: &Event, run: u64) -> Result<Ended, Failed> {
    let mut error = String::new();
    for attempt in 1..=u32::from(ATTEMPTS) {
        if let Some(mut ended) = simulate(event, run..run + 1, attempt + 1, &|| true) {
            match ended.failed.pop() {
                None => return Ok(ended),
                Some(failed) => error = failed.error,
            }
        }
    }
    Err(Failed { run, error })
}

fn failure(event: &Event, Failed { run, error }: Failed) -> Failure {
    let seed = event.order.seed.clone();
    let error = format!("run {run} of seed `{seed}` failed: {error}");
    Failure { run, count: 1, seed, attempts: ATTEMPTS, error }
}
