//! What is counted about jobs, for whoever installed a recorder of metrics. Each process counts what it did itself, so the sum
//! over all processes is what happened.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;
use metrics::{Counter, Histogram, counter, histogram};
use turnwise_core::job::State;
use turnwise_core::name::Name;
use turnwise_drivers::store::{Submitted, Verdict};

/// Owners whose turns are counted apart. The others are counted together: labels must not grow with customers.
const OWNERS: usize = 50;
/// What they are called together.
const OTHERS: &str = "…others";

/// Jobs were accepted.
pub(crate) fn submitted<'a>(jobs: impl Iterator<Item = (&'a Name, &'a Submitted)>) {
    let mut kinds: HashMap<&Name, u64> = HashMap::new();
    for (kind, accepted) in jobs {
        if !accepted.existing {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    for (kind, count) in kinds {
        counter!("turnwise_jobs_submitted_total", "kind" => kind.to_string()).increment(count);
    }
}

/// Jobs were taken from a dead worker.
pub(crate) fn rescued(count: usize) {
    counter!("turnwise_jobs_rescued_total").increment(count as u64);
}

/// Writes were refused because somebody else has the right by now.
pub(crate) fn refused_stale(count: usize) {
    counter!("turnwise_refused_stale_writes_total").increment(count as u64);
}

/// A lease was taken.
pub(crate) fn lease_taken(lease: &Name) {
    counter!("turnwise_leases_taken_total", "lease" => lease.to_string()).increment(1);
}

/// The jobs of one kind in this process.
pub(crate) struct KindMeter {
    started: Counter,
    done: Counter,
    cancelled: Counter,
    dead: Counter,
    failed: Counter,
    retried: Counter,
    waited: Histogram,
    ran: Histogram,
}

impl KindMeter {
    pub(crate) fn new(kind: &Name) -> Self {
        let kind = kind.to_string();
        let finished = |state: &'static str| counter!("turnwise_jobs_finished_total", "kind" => kind.clone(), "state" => state);
        KindMeter {
            started: counter!("turnwise_jobs_started_total", "kind" => kind.clone()),
            done: finished("done"),
            cancelled: finished("cancelled"),
            dead: finished("dead"),
            failed: counter!("turnwise_jobs_failed_total", "kind" => kind.clone()),
            retried: counter!("turnwise_jobs_retried_total", "kind" => kind.clone()),
            waited: histogram!("turnwise_start_latency_seconds", "kind" => kind.clone()),
            ran: histogram!("turnwise_run_seconds", "kind" => kind.clone()),
        }
    }

    /// A job was claimed, so long after it was submitted. Only first attempts tell how long one waits for its turn.
    pub(crate) fn started(&self, first: bool, since_submitted: Duration) {
        self.started.increment(1);
        if first {
            self.waited.record(since_submitted);
        }
    }

    /// A handler took so long.
    pub(crate) fn ran(&self, taken: Duration) {
        self.ran.record(taken);
    }

    /// A run was committed: what its handler said, and where the job is now.
    pub(crate) fn settled(&self, verdict: &Verdict, state: State) {
        if matches!(verdict, Verdict::Failed { .. } | Verdict::Dead(_)) {
            self.failed.increment(1);
        }
        match state {
            State::Done => self.done.increment(1),
            State::Dead => self.dead.increment(1),
            State::Cancelled => self.cancelled.increment(1),
            State::Retrying => self.retried.increment(1),
            _ => {}
        }
    }
}

/// Turns by owner.
#[derive(Default)]
pub(crate) struct TurnMeter(Mutex<HashMap<Name, Counter>>);

impl TurnMeter {
    /// An owner took a turn.
    pub(crate) fn taken(&self, owner: &Name) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counter) = known.get(owner) {
            return counter.increment(1);
        }
        let label = if known.len() < OWNERS { owner.as_str() } else { OTHERS };
        let counter = counter!("turnwise_turns_total", "owner" => label.to_owned());
        counter.increment(1);
        if known.len() < OWNERS {
            known.insert(owner.clone(), counter);
        }
    }
}
