//! The engine: what a program holds in its hand.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};
use turnwise_core::ids::{BatchId, IdMaker, JobId, SessionId};
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_drivers::broker::Broker;
use turnwise_drivers::leases::Leases;
use turnwise_drivers::open;
use turnwise_drivers::store::{Found, Outcome, Read, Receipt, Store, StoreError, Unit};

use crate::flow::batch::Batch;
use crate::handler::{Registry, Worker};
use crate::hub::{self, Hub};
use crate::job::{Job, Submit};
use crate::known::Known;
use crate::loops::member;
use crate::running::Running;
use crate::runtime::Runtime;
use crate::vault::Vault;
use crate::{Config, Context, Error};

/// A work engine. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
    /// Dropping the last engine ends its heartbeat.
    alive: Arc<watch::Sender<bool>>,
    /// Closed when the tasks of the engine itself have ended.
    tasks: watch::Receiver<()>,
}

/// This process's session, as far as it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Liveness {
    pub(crate) session: SessionId,
    /// After this, on the local clock, nothing may be written in its name.
    pub(crate) trusted_until: Time,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) hub: Hub,
    pub(crate) known: Known,
    pub(crate) vault: Vault,
    pub(crate) liveness: watch::Sender<Option<Liveness>>,
    ids: Mutex<IdMaker>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("node", &self.inner.config.node).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens an engine. It takes submissions at once; it runs jobs when it is [started](Engine::start).
    pub async fn open(config: Config) -> Result<Self, Error> {
        config.validate()?;
        let drivers = open::open(&config.profile, config.clock.clone()).await?;
        Engine::on(config, drivers).await
    }

    /// Opens an engine on drivers that are open already: several engines may share them.
    pub async fn on(config: Config, drivers: open::Drivers) -> Result<Self, Error> {
        config.validate()?;
        let vault = Vault::open(&config.vault_key)?;
        let inner = Arc::new(Inner {
            store: drivers.store,
            broker: drivers.broker,
            leases: drivers.leases,
            runtime: config.runtime.clone(),
            registry: Registry::default(),
            hub: Hub::default(),
            known: Known::default(),
            vault,
            liveness: watch::channel(None).0,
            ids: Mutex::new(IdMaker::new(0)),
            config,
        });
        if drivers.alone {
            member::end_earlier_lives(&inner).await?;
        }
        member::join(&inner).await?;
        let (alive, ended) = watch::channel(true);
        let (guard, tasks) = watch::channel(());
        let (member, hub) = (member::run(inner.clone(), ended.clone()), hub::run(inner.clone(), ended));
        let other = guard.clone();
        inner.runtime.spawn(Box::pin(async move { (member.await, drop(guard)).0 }));
        inner.runtime.spawn(Box::pin(async move { (hub.await, drop(other)).0 }));
        Ok(Engine { inner, alive: Arc::new(alive), tasks })
    }

    /// Registers an async handler for a kind; what it answers can be said further on the returned worker.
    pub fn worker<J, F, Fut>(&self, handler: F) -> Worker
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = crate::Outcome<J::Output>> + Send + 'static,
    {
        self.inner.registry.add_async(handler)
    }

    /// Registers a handler that blocks or computes for long; it runs off the async threads.
    pub fn blocking_worker<J, F>(&self, handler: F) -> Worker
    where
        J: Job,
        F: Fn(J, Context) -> crate::Outcome<J::Output> + Send + Sync + 'static,
    {
        self.inner.registry.add_blocking(handler)
    }

    /// Declares a kind that this process has no handler for.
    pub async fn declare(&self, kind: turnwise_core::kind::Kind) -> Result<(), Error> {
        self.inner.commit_one(Unit::Declare(kind)).await.map(drop)
    }

    /// Submits one job. When this returns, the job outlives a crash of anything.
    pub async fn submit<J: Job>(&self, job: impl Into<Submit<J>>) -> Result<JobId, Error> {
        self.inner.declare_new_kinds().await?;
        let job = self.inner.new_job(&job.into(), None)?;
        let submission = turnwise_drivers::store::Submission { jobs: vec![job], ..Default::default() };
        let submitted = self.inner.submit_part(submission).await?;
        submitted.first().map(|job| job.id).ok_or_else(|| StoreError::Broken("no answer".into()).into())
    }

    /// Submits many jobs. They are taken one by one and sent in parts, so a long iterator needs no memory. If
    /// this fails halfway, the parts before are accepted; use a batch if it must be all or nothing to see.
    pub async fn submit_all<J: Job, I>(&self, jobs: I) -> Result<Vec<JobId>, Error>
    where
        I: IntoIterator,
        I::Item: Into<Submit<J>>,
    {
        self.inner.submit_all(jobs.into_iter().map(Into::into)).await
    }

    /// Begins a batch.
    pub fn batch<J: Job>(&self, name: impl Into<String>) -> Batch<J> {
        Batch::new(self.clone(), name.into())
    }

    /// Starts to run jobs: this process becomes a worker for its kinds, and schedules if nobody else does.
    pub async fn start(&self) -> Result<Running, Error> {
        Running::start(self).await
    }

    /// Runs jobs until `shutdown` ends, then stops gracefully.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let running = self.start().await?;
        shutdown.await;
        running.stop().await;
        Ok(())
    }

    /// Closes the engine. When this returns, the data directory is free for the next process. Stop it
    /// [running](Engine::start) first, and drop the clones, those that handlers hold among them: this waits until
    /// the last one is gone.
    ///
    /// Dropping an engine closes it too, some time later.
    pub async fn close(self) {
        let Engine { inner, alive, mut tasks } = self;
        drop(alive);
        // Nothing is ever said: the channel closes when the tasks have ended.
        while tasks.changed().await.is_ok() {}
        let (done, closed) = oneshot::channel();
        // The store writes its log back as it closes, which may take a moment.
        inner.runtime.clone().spawn_blocking(Box::new(move || {
            drop(inner);
            // Whoever waited may have gone.
            let _ = done.send(());
        }));
        // A runtime that ends drops the work instead of doing it: the engine is as closed as it gets.
        let _ = closed.await;
    }

    /// What this node is called.
    pub fn node(&self) -> &str {
        &self.inner.config.node
    }

    /// How long this node lives without a heartbeat.
    pub fn session_span(&self) -> std::time::Duration {
        self.inner.config.session
    }

    /// Closes when the last clone of this engine is gone.
    pub(crate) fn lives(&self) -> watch::Receiver<bool> {
        self.alive.subscribe()
    }

    /// The vault for secrets.
    pub fn vault(&self) -> crate::vault::VaultHandle<'_> {
        crate::vault::VaultHandle::new(&self.inner)
    }
}

impl Inner {
    pub(crate) fn name(&self, text: &str) -> Result<Name, Error> {
        Ok(Name::new(text)?)
    }

    pub(crate) fn next_job(&self) -> JobId {
        self.ids().job(self.runtime.now())
    }

    pub(crate) fn next_batch(&self) -> BatchId {
        BatchId::from_u64(self.ids().next(self.runtime.now()))
    }

    pub(crate) fn set_number(&self, number: u16) {
        *self.ids() = IdMaker::new(number);
    }

    fn ids(&self) -> MutexGuard<'_, IdMaker> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process may act in the name of its session.
    pub(crate) fn is_trusted(&self) -> bool {
        let now = self.runtime.now();
        self.liveness.borrow().is_some_and(|liveness| liveness.trusted_until > now)
    }

    pub(crate) async fn commit(&self, units: Vec<Unit>) -> Result<Vec<Outcome>, StoreError> {
        let outcomes = self.store.commit(units).await?;
        let stale = outcomes.iter().filter(|outcome| outcome.as_ref().is_err_and(Refusal::is_stale)).count();
        self.hub.count_stale(stale);
        Ok(outcomes)
    }

    pub(crate) async fn commit_one(&self, unit: Unit) -> Result<Receipt, Error> {
        let mut outcomes = self.commit(vec![unit]).await?;
        Ok(outcomes.pop().ok_or_else(odd_answer)??)
    }

    pub(crate) async fn read(&self, what: Read) -> Result<Found, Error> {
        Ok(self.store.read(what).await?)
    }

    /// The time on the store's clock.
    pub(crate) async fn store_time(&self) -> Result<Time, Error> {
        match self.read(Read::Clock).await? {
            Found::Clock(time) => Ok(time),
            _ => Err(odd_answer()),
        }
    }

    /// Declares kinds that were registered since the last time.
    pub(crate) async fn declare_new_kinds(&self) -> Result<(), Error> {
        let kinds = self.registry.undeclared();
        if kinds.is_empty() {
            return Ok(());
        }
        let units = kinds.iter().cloned().map(Unit::Declare).collect();
        for outcome in self.commit(units).await? {
            outcome?;
        }
        self.registry.declared(&kinds);
        Ok(())
    }
}

/// The store answered another question than was asked.
pub(crate) fn odd_answer() -> Error {
    Error::Store(StoreError::Broken("it answered another question than was asked".into()))
}
