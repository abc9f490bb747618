//! Time that a test moves by hand.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use turnwise_core::time::Time;
use turnwise_drivers::clock::Clock;

use crate::runtime::{Runtime, Task};

/// Time that stands still until it is moved; tasks run on tokio.
#[derive(Debug, Default)]
pub struct ManualTime {
    shared: Arc<Shared>,
    chance: AtomicU64,
}

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    now: Time,
    next: u64,
    sleepers: BTreeMap<(Time, u64), Waker>,
}

impl Default for Shared {
    fn default() -> Self {
        // 2026-01-01: a plain day, so that ids and cron lines look like real ones.
        let now = Time::from_millis(1_767_225_600_000);
        Shared(Mutex::new(State { now, next: 0, sleepers: BTreeMap::new() }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ManualTime {
    /// Moves time on and wakes whoever slept until then.
    pub fn advance(&self, span: Duration) {
        let due = {
            let mut state = self.shared.lock();
            state.now = state.now + span;
            let later = (state.now + Duration::from_micros(1), 0);
            let still = state.sleepers.split_off(&later);
            std::mem::replace(&mut state.sleepers, still)
        };
        due.into_values().for_each(Waker::wake);
    }
}

impl Clock for ManualTime {
    fn now(&self) -> Time {
        self.shared.lock().now
    }
}

impl Runtime for ManualTime {
    fn now(&self) -> Time {
        self.shared.lock().now
    }

    fn sleep_until(&self, time: Time) -> Task {
        let number = {
            let mut state = self.shared.lock();
            state.next += 1;
            state.next
        };
        Box::pin(Sleep { shared: self.shared.clone(), key: (time, number) })
    }

    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        tokio::task::spawn_blocking(work);
    }

    fn random(&self) -> u64 {
        // Different each time is all that a test needs.
        self.chance.fetch_add(1, Ordering::Relaxed).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct Sleep {
    shared: Arc<Shared>,
    key: (Time, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if self.key.0 <= state.now {
            return Poll::Ready(());
        }
        state.sleepers.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.shared.lock().sleepers.remove(&self.key);
    }
}
