//! The lease suite over each store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use turnwise_core::time::Time;
use turnwise_drivers::clock::Clock;
use turnwise_drivers::conformance::leases::LeasesFactory;
use turnwise_drivers::leases::Leases;
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::sqlite::{SqliteOptions, SqliteStore};
use turnwise_drivers::store::Store;
use turnwise_drivers::store_leases::StoreLeases;

/// A clock that only the test moves. Microseconds.
struct Hands(AtomicI64);

impl Hands {
    fn new() -> Arc<Self> {
        Arc::new(Hands(AtomicI64::new(1_000_000)))
    }

    fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Leases and the store that they are in.
struct Held {
    store: Arc<dyn Store>,
    leases: StoreLeases,
}

impl Held {
    fn over(store: Arc<dyn Store>) -> Self {
        Held { leases: StoreLeases::new(store.clone()), store }
    }
}

/// A store in memory cannot be closed: only the leases are opened again.
struct OverMemory {
    clock: Arc<Hands>,
    held: Held,
}

impl LeasesFactory for OverMemory {
    async fn fresh() -> Self {
        let clock = Hands::new();
        OverMemory { held: Held::over(Arc::new(MemoryStore::new(clock.clone()))), clock }
    }

    fn leases(&self) -> &dyn Leases {
        &self.held.leases
    }

    fn store(&self) -> &dyn Store {
        &*self.held.store
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn restart(&mut self) {
        self.held = Held::over(self.held.store.clone());
    }
}

/// The store is closed and opened again.
struct OverSqlite {
    clock: Arc<Hands>,
    held: Option<Held>,
    directory: TempDir,
}

fn open(directory: &Path, clock: &Arc<Hands>) -> Held {
    let options = SqliteOptions { directory: directory.to_owned(), most_bytes: None };
    Held::over(Arc::new(SqliteStore::open(&options, clock.clone()).unwrap()))
}

impl LeasesFactory for OverSqlite {
    async fn fresh() -> Self {
        let (clock, directory) = (Hands::new(), TempDir::new().unwrap());
        OverSqlite { held: Some(open(directory.path(), &clock)), clock, directory }
    }

    fn leases(&self) -> &dyn Leases {
        &self.held.as_ref().unwrap().leases
    }

    fn store(&self) -> &dyn Store {
        &*self.held.as_ref().unwrap().store
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn restart(&mut self) {
        // The old one first: a directory has one user at a time.
        self.held = None;
        self.held = Some(open(self.directory.path(), &self.clock));
    }
}

mod over_memory {
    turnwise_drivers::leases_conformance!(super::OverMemory);
}

mod over_sqlite {
    turnwise_drivers::leases_conformance!(super::OverSqlite);
}
