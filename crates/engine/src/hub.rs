//! The hub: listens to the store's hints and wakes whoever waits for a job or a batch. A hint that is lost costs
//! time only: waiters look for themselves from time to time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, watch};
use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::name::Name;
use turnwise_drivers::store::Committed;

use crate::engine::Inner;
use crate::meter::{self, TurnMeter};
use crate::worker::Crew;

#[derive(Default)]
pub(crate) struct Hub {
    waiting: Mutex<Waiting>,
    /// A schedule was saved.
    pub(crate) schedules: Notify,
    /// Jobs that this process has seen end.
    ended: AtomicU64,
    /// Writes of this process that were refused because somebody else has the right by now.
    stale: AtomicU64,
    /// Turns that owners took in this process.
    pub(crate) turns: TurnMeter,
    /// Told after every commit.
    pub(crate) commits: Notify,
    /// The crew that is told of cancels.
    pub(crate) crew: Mutex<Option<Arc<Crew>>>,
    /// Kinds with ready work that no living worker has a handler for.
    alarms: Mutex<BTreeSet<Name>>,
}

#[derive(Default)]
struct Waiting {
    jobs: HashMap<JobId, Arc<Notify>>,
    batches: HashMap<BatchId, Arc<Notify>>,
}

/// Somebody who waits; stops waiting when dropped.
pub(crate) struct Waiter<'a> {
    hub: &'a Hub,
    pub(crate) told: Arc<Notify>,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Job(JobId),
    Batch(BatchId),
}

impl Hub {
    pub(crate) fn wait_for_job(&self, job: JobId) -> Waiter<'_> {
        let told = self.lock().jobs.entry(job).or_default().clone();
        Waiter { hub: self, told, what: What::Job(job) }
    }

    pub(crate) fn wait_for_batch(&self, batch: BatchId) -> Waiter<'_> {
        let told = self.lock().batches.entry(batch).or_default().clone();
        Waiter { hub: self, told, what: What::Batch(batch) }
    }

    pub(crate) fn count_stale(&self, writes: usize) {
        if writes > 0 {
            self.stale.fetch_add(writes as u64, Ordering::Relaxed);
            meter::refused_stale(writes);
        }
    }

    pub(crate) fn stale(&self) -> u64 {
        self.stale.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self, committed: &Committed) {
        let crew = self.crew.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let waiting = self.lock();
        let mut ended = 0;
        for event in &committed.events {
            if matches!(event, Event::Job { state, .. } if state.is_final()) {
                ended += 1;
            }
            match event {
                Event::Job { job, state: State::Running, cause: Cause::Cancelled, .. } => {
                    if let Some(crew) = &crew {
                        crew.tell_cancel(*job);
                    }
                }
                Event::Job { job, state, .. } if state.is_final() && !waiting.jobs.is_empty() => {
                    if let Some(told) = waiting.jobs.get(job) {
                        told.notify_waiters();
                    }
                }
                Event::BatchSettled(batch) | Event::BatchParked(batch) | Event::BatchReleased(batch) => {
                    if let Some(told) = waiting.batches.get(batch) {
                        told.notify_waiters();
                    }
                }
                _ => {}
            }
        }
        self.ended.fetch_add(ended, Ordering::AcqRel);
        self.commits.notify_waiters();
    }

    /// How many jobs this process has seen end.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// Kinds that wait for a worker.
    pub(crate) fn alarms(&self) -> BTreeSet<Name> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_alarms(&self, now: BTreeSet<Name>) {
        let mut known = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in now.difference(&known) {
            tracing::warn!(%kind, "jobs of this kind are ready, but no living worker has a handler for it");
        }
        *known = now;
    }

    fn all_may_look(&self) {
        let waiting = self.lock();
        waiting.jobs.values().chain(waiting.batches.values()).for_each(|told| told.notify_waiters());
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.hub.lock();
        // The map holds one, this waiter another: nobody else waits for it.
        if Arc::strong_count(&self.told) == 2 {
            match self.what {
                What::Job(job) => drop(waiting.jobs.remove(&job)),
                What::Batch(batch) => drop(waiting.batches.remove(&batch)),
            }
        }
    }
}

/// Passes hints on until the engine ends.
pub(crate) async fn run(inner: Arc<Inner>, mut ended: watch::Receiver<bool>) {
    let mut hints = inner.store.watch();
    loop {
        tokio::select! {
            biased;
            _ = ended.changed() => return,
            hint = hints.recv() => match hint {
                Ok(committed) => inner.hub.told(&committed),
                Err(RecvError::Lagged(_)) => inner.hub.all_may_look(),
                Err(RecvError::Closed) => return,
            },
        }
    }
}
