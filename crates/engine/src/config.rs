//! Settings of an engine: one structure, checked once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use turnwise_core::limits;
use turnwise_drivers::clock::{Clock, SystemClock};
#[cfg(feature = "fleet")]
use turnwise_drivers::open::FleetOptions;
use turnwise_drivers::open::Profile;
use turnwise_drivers::store::Roles;

use crate::Error;
use crate::runtime::{Runtime, TokioRuntime};
use crate::trace::Tracer;
use crate::vault::KeySource;

/// How an engine runs. Everything has a default that fits most.
#[derive(Clone)]
pub struct Config {
    pub(crate) profile: Profile,
    pub(crate) node: String,
    pub(crate) session: Duration,
    pub(crate) beat: Duration,
    pub(crate) scheduler_lease: Duration,
    pub(crate) keep_finished: Duration,
    pub(crate) keep_events: Duration,
    pub(crate) grace: Duration,
    pub(crate) vault_key: KeySource,
    pub(crate) roles: Roles,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Config {
    /// One machine, nothing to install: the data is in this directory.
    pub fn embedded(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let key = KeySource::MadeIn(directory.join("vault.key"));
        Config::of(Profile::Embedded { directory, most_bytes: None }, key)
    }

    /// Many machines over servers that they share. The vault's key is in `TURNWISE_VAULT_KEY`, the same for all of them,
    /// unless [said](Config::vault_key) otherwise; without one, this process can read only its own secrets.
    #[cfg(feature = "fleet")]
    pub fn fleet(servers: FleetOptions) -> Self {
        const KEY: &str = "TURNWISE_VAULT_KEY";
        let key = match std::env::var_os(KEY) {
            Some(_) => KeySource::Env(KEY.into()),
            None => KeySource::Throwaway,
        };
        Config::of(Profile::Fleet(Box::new(servers)), key)
    }

    /// In memory: gone when the engine is dropped.
    pub fn memory() -> Self {
        Config::of(Profile::Memory, KeySource::Throwaway)
    }

    pub(crate) fn of(profile: Profile, vault_key: KeySource) -> Self {
        Config {
            profile,
            node: "node".into(),
            session: limits::SESSION,
            beat: limits::BEAT,
            scheduler_lease: limits::SCHEDULER_LEASE,
            keep_finished: Duration::from_secs(7 * 86_400),
            keep_events: Duration::from_secs(7 * 86_400),
            grace: Duration::from_secs(10),
            vault_key,
            roles: Roles::default(),
            tracer: None,
            runtime: Arc::new(TokioRuntime::new()),
            clock: Arc::new(SystemClock),
        }
    }

    /// What this process is called.
    pub fn node(mut self, name: impl Into<String>) -> Self {
        self.node = name.into();
        self
    }

    /// How long a process lives without a heartbeat; it sends three in that time.
    pub fn session(mut self, span: Duration) -> Self {
        self.session = span;
        self.beat = span.mul_f32(0.3);
        self
    }

    /// How long the scheduler's right to plan lasts without being renewed.
    pub fn scheduler_lease(mut self, span: Duration) -> Self {
        self.scheduler_lease = span;
        self
    }

    /// How long finished jobs are kept; seven days unless said.
    pub fn keep_finished(mut self, span: Duration) -> Self {
        self.keep_finished = span;
        self
    }

    /// How long events are kept; seven days unless said.
    pub fn keep_events(mut self, span: Duration) -> Self {
        self.keep_events = span;
        self
    }

    /// How long a shutdown waits for running handlers before it gives their jobs back; ten seconds unless said.
    pub fn grace(mut self, span: Duration) -> Self {
        self.grace = span;
        self
    }

    /// Refuse to grow beyond so many bytes, as if the disk were full.
    pub fn most_bytes(mut self, bytes: u64) -> Self {
        if let Profile::Embedded { most_bytes, .. } = &mut self.profile {
            *most_bytes = Some(bytes);
        }
        self
    }

    /// Where the vault's key comes from.
    pub fn vault_key(mut self, source: KeySource) -> Self {
        self.vault_key = source;
        self
    }

    /// What this process does when it is started; everything unless said.
    pub fn roles(mut self, roles: Roles) -> Self {
        self.roles = roles;
        self
    }

    /// Who wants to see the traces of jobs.
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Another source of time, tasks and chance.
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtime = runtime;
        self
    }

    /// Another clock for the store to judge by.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.session < Duration::from_millis(100) {
            return Err(Error::Config("a session under 100 ms would end by itself: make it longer".into()));
        }
        if self.beat * 2 > self.session {
            return Err(Error::Config("a session must last for at least two beats: make it longer".into()));
        }
        if self.scheduler_lease < Duration::from_millis(100) {
            return Err(Error::Config("a scheduler lease under 100 ms would end by itself".into()));
        }
        Ok(())
    }
}
