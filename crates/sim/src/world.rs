//! The world: processes over one store and one broker, and everybody who watches them.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use turnwise::Engine;
use turnwise_core::time::Time;
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::store::{Committed, Found, Outcome, Read, Store, StoreError, Unit};

use crate::chance::Chance;
use crate::executor::{Executor, OUTSIDE, lock};
use crate::faulty::Post;
use crate::outside::Outside;
use crate::plan::{Faults, Plan};
use crate::plant::{Plant, Planted};
use crate::shadow::{Seen, Shadow};
use crate::trace::Trace;

/// Hints that a process may be behind.
const HINTS: usize = 1_024;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which promise, by its number in the design; 0 if it is about the simulation itself.
    pub promise: u8,
    /// How.
    pub how: String,
}

/// Says that a promise was broken.
pub(crate) fn broken<T>(promise: u8, how: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { promise, how: how.into() })
}

/// What stands in one process's place.
pub(crate) struct Place {
    /// The hints that reach it.
    pub(crate) hints: broadcast::Sender<Arc<Committed>>,
    /// Its engine, while it has one.
    pub(crate) engine: Mutex<Option<Engine>>,
    /// Tells it to stop gracefully.
    pub(crate) stop: watch::Sender<bool>,
}

/// Everything.
pub(crate) struct World {
    pub(crate) executor: Arc<Executor>,
    pub(crate) plan: Plan,
    pub(crate) store: MemoryStore,
    pub(crate) post: Mutex<Post>,
    pub(crate) places: Vec<Place>,
    pub(crate) plant: Option<Plant>,
    pub(crate) planted: Mutex<Planted>,
    pub(crate) outside: Mutex<Outside>,
    shadow: Mutex<Shadow>,
    committed: Mutex<broadcast::Receiver<Arc<Committed>>>,
    trace: Mutex<Trace>,
    faults: Mutex<Faults>,
    broken: Mutex<Option<Broken>>,
    faulty: AtomicBool,
    finished: AtomicBool,
    commits: AtomicU64,
}

impl World {
    /// A world that has not begun.
    pub(crate) fn new(executor: Arc<Executor>, plan: Plan, plant: Option<Plant>, print: bool) -> Arc<Self> {
        let store = MemoryStore::new(executor.clone());
        let committed = store.watch();
        let place = |_| Place {
            hints: broadcast::channel(HINTS).0,
            engine: Mutex::new(None),
            stop: watch::channel(false).0,
        };
        Arc::new(World {
            places: (0..=plan.processes).map(place).collect(),
            post: Mutex::default(),
            plant,
            planted: Mutex::default(),
            outside: Mutex::default(),
            shadow: Mutex::new(Shadow::new(plan.calm)),
            committed: Mutex::new(committed),
            trace: Mutex::new(Trace::new(print)),
            faults: Mutex::default(),
            broken: Mutex::new(None),
            faulty: AtomicBool::new(!plan.calm),
            finished: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            executor,
            plan,
            store,
        })
    }

    pub(crate) fn now(&self) -> Time {
        self.executor.now()
    }

    pub(crate) fn draw<T>(&self, what: impl FnOnce(&mut Chance) -> T) -> T {
        self.executor.draw(what)
    }

    pub(crate) fn shadow(&self) -> MutexGuard<'_, Shadow> {
        lock(&self.shadow)
    }

    pub(crate) fn trace(&self) -> MutexGuard<'_, Trace> {
        lock(&self.trace)
    }

    pub(crate) fn note(&self, process: usize, what: std::fmt::Arguments<'_>) {
        let now = self.now();
        self.trace().line(now, process, what);
    }

    /// A promise was broken, unless one was before.
    pub(crate) fn judge(&self, found: Result<(), Broken>) {
        if let Err(found) = found {
            self.note(OUTSIDE, format_args!("BROKEN promise {}: {}", found.promise, found.how));
            lock(&self.broken).get_or_insert(found);
        }
    }

    pub(crate) fn broken(&self) -> Option<Broken> {
        lock(&self.broken).clone()
    }

    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(crate) fn faults(&self) -> Faults {
        lock(&self.faults).clone()
    }

    pub(crate) fn count(&self, what: &'static str) {
        lock(&self.faults).count(what);
    }

    /// Whether faults still happen.
    pub(crate) fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::Relaxed)
    }

    pub(crate) fn end_faults(&self) {
        self.faulty.store(false, Ordering::Relaxed);
    }

    /// The world is at rest.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    /// Whether a fault with these odds happens now.
    pub(crate) fn strikes(&self, what: &'static str, in_a_million: u32) -> bool {
        let struck = self.is_faulty() && self.draw(|chance| chance.happens(in_a_million));
        if struck {
            self.count(what);
        }
        struck
    }

    /// A usual time on the way.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_micros(self.draw(|chance| 20 + chance.skewed(self.plan.latency)))
    }

    /// A process dies where it stands.
    pub(crate) fn crash(&self, process: usize, why: &'static str) {
        self.note(process, format_args!("crashes: {why}"));
        self.count("crashes");
        self.executor.doom(process);
    }

    /// Commits, with everybody watching.
    pub(crate) fn apply(
        &self,
        process: usize,
        life: u32,
        units: &[Unit],
    ) -> Result<Vec<Outcome>, StoreError> {
        let now = self.now();
        let sent = self.planted_units(units);
        let (mut outcomes, hint) = self.commit_unseen(&sent)?;
        self.planted_answers(units, &mut outcomes);
        self.commits.fetch_add(1, Ordering::Relaxed);
        for (unit, outcome) in units.iter().zip(&outcomes) {
            let mut trace = self.trace();
            match outcome {
                Ok(_) => trace.line(now, process, format_args!("ok {}", brief(unit))),
                Err(refusal) => trace.line(now, process, format_args!("no {}: {refusal}", brief(unit))),
            }
        }
        let seen = Seen { now, process, life, units, outcomes: &outcomes, events: &hint.events };
        let judged = self.shadow().observe(&seen);
        self.judge(judged);
        self.planted_after(units, &outcomes, &hint);
        self.hand_out(&hint);
        Ok(outcomes)
    }

    /// Commits without anybody watching.
    pub(crate) fn commit_unseen(&self, units: &[Unit]) -> Result<(Vec<Outcome>, Arc<Committed>), StoreError> {
        let outcomes = self.store.commit_now(units);
        let hint = lock(&self.committed).try_recv();
        match (outcomes, hint) {
            (Ok(outcomes), Ok(hint)) => Ok((outcomes, hint)),
            (Err(error), _) => {
                self.judge(broken(0, format!("the store broke: {error}")));
                Err(error)
            }
            (Ok(_), Err(error)) => {
                self.judge(broken(0, format!("a commit without a hint: {error}")));
                Err(StoreError::Broken("no hint".into()))
            }
        }
    }

    /// Hints go to every process; some are lost or late.
    fn hand_out(&self, hint: &Arc<Committed>) {
        for place in &self.places[1..] {
            if self.strikes("hints lost", self.plan.odds.hint_lost) {
                continue;
            }
            let sender = place.hints.clone();
            let hint = hint.clone();
            if self.strikes("hints late", self.plan.odds.hint_late) {
                let late = Duration::from_micros(self.draw(|chance| chance.skewed(3_000_000)));
                let sleep = self.executor.sleep(late);
                self.executor.spawn(
                    OUTSIDE,
                    Box::pin(async move {
                        sleep.await;
                        // Nobody listening is fine.
                        let _ = sender.send(hint);
                    }),
                );
            } else {
                // Nobody listening is fine.
                let _ = sender.send(hint);
            }
        }
    }

    /// Asks the store itself, now.
    pub(crate) fn look(&self, what: Read) -> Option<Found> {
        now(self.store.read(what)).and_then(Result::ok)
    }
}

/// The answer of a future that does not wait.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// A unit in few words.
fn brief(unit: &Unit) -> String {
    match unit {
        Unit::Submit(submission) => {
            let ids: Vec<String> =
                submission.jobs.iter().map(|job| format!("{}:{}", job.kind, job.id)).collect();
            format!(
                "submit [{}] open {} seal {}",
                ids.join(" "),
                submission.open.len(),
                submission.seal.len()
            )
        }
        Unit::Claim(claim) => {
            format!("claim {} v{} by {} term {:?}", claim.job, claim.version, claim.session, claim.term)
        }
        Unit::Settle(settle) => {
            let verdict = match &settle.verdict {
                turnwise_drivers::store::Verdict::Done(_) => "done".to_owned(),
                other => format!("{other:?}"),
            };
            format!("settle {} f{} {verdict} +{}", settle.job, settle.fence, settle.submission.jobs.len())
        }
        Unit::Step(step) => {
            format!("step {} f{} {} +{}", step.job, step.fence, step.name, step.submission.jobs.len())
        }
        Unit::Declare(kind) => format!("declare {}", kind.name),
        Unit::Schedule(name, schedule) => format!("schedule {name} {}", schedule.is_some()),
        other => format!("{other:?}"),
    }
}
