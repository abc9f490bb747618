//! What the engine needs from the world: time, tasks and chance. Passed in, so that tests and the simulation
//! own all three.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use turnwise_core::time::Time;
use turnwise_drivers::clock::{Clock, SystemClock};

/// A boxed future that can be handed to a runtime.
pub type Task<T = ()> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Time, tasks and chance.
pub trait Runtime: Send + Sync {
    /// Now, on a clock that never steps back.
    fn now(&self) -> Time;

    /// Ends at a time on that clock.
    fn sleep_until(&self, time: Time) -> Task;

    /// Runs a task beside others.
    fn spawn(&self, task: Task);

    /// Runs a function that may block or compute for long, off the async threads.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);

    /// A number that nobody can guess.
    fn random(&self) -> u64;
}

/// The usual runtime: tokio, and the machine's monotonic clock set by its wall clock once.
#[derive(Clone, Copy, Debug)]
pub struct TokioRuntime {
    wall: Time,
    start: Instant,
}

impl TokioRuntime {
    /// A runtime on the tokio runtime of the caller.
    pub fn new() -> Self {
        TokioRuntime { wall: SystemClock.now(), start: Instant::now() }
    }
}

impl Default for TokioRuntime {
    fn default() -> Self {
        TokioRuntime::new()
    }
}

impl Runtime for TokioRuntime {
    fn now(&self) -> Time {
        self.wall + self.start.elapsed()
    }

    fn sleep_until(&self, time: Time) -> Task {
        // Tokio cannot wait for centuries; nobody else wants to.
        let span = time.since(self.wall).min(Duration::from_secs(30 * 365 * 86_400));
        Box::pin(tokio::time::sleep_until((self.start + span).into()))
    }

    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        tokio::task::spawn_blocking(work);
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without the system's randomness an id could repeat: better to stop than to guess.
        getrandom::fill(&mut bytes).expect("the system gives random numbers");
        u64::from_le_bytes(bytes)
    }
}
