//! Handlers: what runs for a kind, and the kind's rules as its worker declares them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use turnwise_core::kind::Kind;
use turnwise_core::name::Name;
use turnwise_core::rate::Rate;
use turnwise_core::retry::{Class, Retry};
use turnwise_drivers::store::{Blob, Failure, Verdict};

use crate::context::Context;
use crate::job::Job;
use crate::outcome::{Outcome, Stop};
use crate::remote::Desk;
use crate::terms::LeaseTerms;

/// A handler as the crew calls it: with the payload as it was stored.
type Call<T> = dyn Fn(&[u8], Context) -> T + Send + Sync;
type Running = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// How a handler runs.
#[derive(Clone)]
pub(crate) enum Handler {
    /// As a future, which can be dropped.
    Async(Arc<Call<Running>>),
    /// As a function on a thread of its own, which can only be asked to stop.
    Blocking(Arc<Call<Verdict>>),
    /// In another program, which fetches the job from this desk and answers there.
    Outside(Arc<Desk>),
}

struct Entry {
    kind: Kind,
    slots: u32,
    handler: Handler,
    declared: bool,
    terms: LeaseTerms,
}

/// The kinds that this process has handlers for.
#[derive(Default)]
pub(crate) struct Registry(Arc<Mutex<BTreeMap<Name, Entry>>>);

impl Registry {
    pub(crate) fn add_async<J, F, Fut>(&self, handler: F) -> Worker
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<J::Output>> + Send + 'static,
    {
        let call = move |payload: &[u8], context: Context| -> Running {
            match serde_json::from_slice(payload) {
                Ok(job) => {
                    let run = handler(job, context);
                    Box::pin(async move { verdict(run.await) })
                }
                Err(error) => Box::pin(std::future::ready(unreadable(&error))),
            }
        };
        self.add::<J>(Handler::Async(Arc::new(call)))
    }

    pub(crate) fn add_blocking<J, F>(&self, handler: F) -> Worker
    where
        J: Job,
        F: Fn(J, Context) -> Outcome<J::Output> + Send + Sync + 'static,
    {
        let call = move |payload: &[u8], context: Context| match serde_json::from_slice(payload) {
            Ok(job) => verdict(handler(job, context)),
            Err(error) => unreadable(&error),
        };
        self.add::<J>(Handler::Blocking(Arc::new(call)))
    }

    fn add<J: Job>(&self, handler: Handler) -> Worker {
        // A kind is a constant of the program: a bad one is a mistake to be found at once.
        let name =
            Name::new(J::KIND).unwrap_or_else(|bad| panic!("the kind `{}` is no name: {bad}", J::KIND));
        let mut kind = Kind::new(name.clone());
        kind.sensitive = J::SENSITIVE.iter().map(|field| (*field).to_owned()).collect();
        lock(&self.0).insert(
            name.clone(),
            Entry { kind, slots: 1, handler, declared: false, terms: LeaseTerms::default() },
        );
        Worker { name, entries: self.0.clone() }
    }

    /// A kind that a program outside works at. One that is declared keeps its rules: they are not told again.
    pub(crate) fn add_outside(&self, kind: Kind, slots: u32, declared: bool, desk: Arc<Desk>) {
        let name = kind.name.clone();
        let (handler, terms) = (Handler::Outside(desk), LeaseTerms::default());
        lock(&self.0).insert(name, Entry { kind, slots, handler, declared, terms });
    }

    /// Kinds whose rules the store has not been told.
    pub(crate) fn undeclared(&self) -> Vec<Kind> {
        let entries = lock(&self.0);
        entries.values().filter(|entry| !entry.declared).map(|entry| entry.kind.clone()).collect()
    }

    /// The store was told these rules. Rules that were changed meanwhile are still to be told.
    pub(crate) fn declared(&self, kinds: &[Kind]) {
        let mut entries = lock(&self.0);
        for kind in kinds {
            if let Some(entry) = entries.get_mut(&kind.name) {
                entry.declared |= entry.kind == *kind;
            }
        }
    }

    pub(crate) fn handler(&self, kind: &Name) -> Option<Handler> {
        lock(&self.0).get(kind).map(|entry| entry.handler.clone())
    }

    /// Kinds, with the pool of each.
    pub(crate) fn kinds(&self) -> BTreeMap<Name, Name> {
        lock(&self.0).iter().map(|(name, entry)| (name.clone(), entry.kind.pool.clone())).collect()
    }

    /// The leases that kinds are bound to.
    pub(crate) fn leases(&self) -> BTreeMap<Name, Name> {
        let entries = lock(&self.0);
        let bound =
            entries.iter().filter_map(|(name, entry)| Some((name.clone(), entry.kind.lease.clone()?)));
        bound.collect()
    }

    /// How a lease is held: as the first kind says that is bound to it.
    pub(crate) fn terms(&self, lease: &Name) -> LeaseTerms {
        let entries = lock(&self.0);
        let bound = entries.values().find(|entry| entry.kind.lease.as_ref() == Some(lease));
        bound.map(|entry| entry.terms.clone()).unwrap_or_default()
    }

    /// Slots by pool: what the kinds of a pool ask for together.
    pub(crate) fn pools(&self) -> BTreeMap<Name, u32> {
        let mut pools = BTreeMap::new();
        for entry in lock(&self.0).values() {
            *pools.entry(entry.kind.pool.clone()).or_insert(0) += entry.slots;
        }
        pools
    }

    /// The names of the kinds.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        lock(&self.0).keys().cloned().collect()
    }
}

/// A handler that was registered. What is said here takes effect when the engine is started, or with the next
/// submission.
#[derive(Clone)]
pub struct Worker {
    name: Name,
    entries: Arc<Mutex<BTreeMap<Name, Entry>>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Worker").field(&self.name).finish()
    }
}

impl Worker {
    /// How many run at once in this process; 1 unless said.
    pub fn slots(self, slots: u32) -> Self {
        self.set(|entry| entry.slots = slots.clamp(1, turnwise_core::limits::SLOTS))
    }

    /// What happens after a failure.
    pub fn retry(self, retry: Retry) -> Self {
        self.set(|entry| entry.kind.retry = retry)
    }

    /// How long the handler may take; a longer run is a failed attempt.
    pub fn deadline(self, span: Duration) -> Self {
        self.set(|entry| entry.kind.deadline = Some(span))
    }

    /// How many run at once in all processes together.
    pub fn cap(self, cap: u32) -> Self {
        self.set(|entry| entry.kind.cap = Some(cap))
    }

    /// How many run at once for one limit key.
    pub fn cap_per_key(self, cap: u32) -> Self {
        self.set(|entry| entry.kind.key_cap = Some(cap))
    }

    /// How many start in a time, in all processes together.
    pub fn rate(self, rate: Rate) -> Self {
        self.set(|entry| entry.kind.rate = Some(rate))
    }

    /// How many start in a time for one limit key.
    pub fn rate_per_key(self, rate: Rate) -> Self {
        self.set(|entry| entry.kind.key_rate = Some(rate))
    }

    /// The pool of slots that it shares with other kinds: owners take turns in the pool as a whole.
    ///
    /// # Panics
    ///
    /// If the pool's name is no name.
    pub fn pool(self, pool: &str) -> Self {
        let pool = Name::new(pool).unwrap_or_else(|bad| panic!("the pool `{pool}` is no name: {bad}"));
        self.set(|entry| entry.kind.pool = pool)
    }

    /// Only the holder of this lease runs its jobs.
    ///
    /// # Panics
    ///
    /// If the lease's name is no name.
    pub fn lease(self, lease: &str) -> Self {
        let lease = Name::new(lease).unwrap_or_else(|bad| panic!("the lease `{lease}` is no name: {bad}"));
        self.set(|entry| entry.kind.lease = Some(lease))
    }

    /// The same, held in this way.
    ///
    /// # Panics
    ///
    /// If the lease's name is no name.
    pub fn lease_for(self, lease: &str, terms: LeaseTerms) -> Self {
        self.lease(lease).set(|entry| entry.terms = terms)
    }

    /// How often a job may be taken from a dead worker before it is dead itself.
    pub fn rescues(self, rescues: u16) -> Self {
        self.set(|entry| entry.kind.rescues = rescues)
    }

    fn set(self, change: impl FnOnce(&mut Entry)) -> Self {
        if let Some(entry) = lock(&self.entries).get_mut(&self.name) {
            change(entry);
            entry.declared = false;
        }
        self
    }
}

fn lock(entries: &Mutex<BTreeMap<Name, Entry>>) -> MutexGuard<'_, BTreeMap<Name, Entry>> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a handler's answer means to the store.
pub(crate) fn verdict<T: Serialize>(outcome: Outcome<T>) -> Verdict {
    match outcome {
        Ok(output) => match serde_json::to_vec(&output) {
            // A handler that gives nothing costs nothing.
            Ok(bytes) if bytes == b"null" => Verdict::Done(None),
            Ok(bytes) => Verdict::Done(Some(Blob::from(bytes))),
            Err(error) => failed(Class::Never, Failure::Error, format!("its result is no JSON: {error}")),
        },
        Err(Stop::Fail { class, error }) => failed(class, Failure::Error, error),
        Err(Stop::Snooze(span)) => Verdict::Snoozed(span),
        Err(Stop::Cancel) => Verdict::Cancelled,
        Err(Stop::Dead(error)) => Verdict::Dead(error),
    }
}

pub(crate) fn unreadable(error: &serde_json::Error) -> Verdict {
    let text = format!("its payload does not fit the handler: {error}");
    failed(Class::Never, Failure::Payload, text)
}

pub(crate) fn failed(class: Class, failure: Failure, error: String) -> Verdict {
    Verdict::Failed { class, failure, error }
}
