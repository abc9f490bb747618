//! The broker suite over the in-process broker, with each store behind its durable queues.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use turnwise_drivers::broker::Broker;
use turnwise_drivers::clock::SystemClock;
use turnwise_drivers::conformance::broker::BrokerFactory;
use turnwise_drivers::in_process::InProcessBroker;
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::sqlite::{SqliteOptions, SqliteStore};
use turnwise_drivers::store::Store;

/// A store in memory cannot be closed: only the broker is started again.
struct OverMemory {
    store: Arc<dyn Store>,
    broker: InProcessBroker,
}

impl BrokerFactory for OverMemory {
    async fn fresh() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        OverMemory { broker: InProcessBroker::new(Some(store.clone())), store }
    }

    fn broker(&self) -> &dyn Broker {
        &self.broker
    }

    async fn restart(&mut self) {
        self.broker = InProcessBroker::new(Some(self.store.clone()));
    }
}

/// Broker and store are closed and opened again.
struct OverSqlite {
    broker: Option<InProcessBroker>,
    directory: TempDir,
}

fn open(directory: &Path) -> InProcessBroker {
    let options = SqliteOptions { directory: directory.to_owned(), most_bytes: None };
    InProcessBroker::new(Some(Arc::new(SqliteStore::open(&options, Arc::new(SystemClock)).unwrap())))
}

impl BrokerFactory for OverSqlite {
    async fn fresh() -> Self {
        let directory = TempDir::new().unwrap();
        OverSqlite { broker: Some(open(directory.path())), directory }
    }

    fn broker(&self) -> &dyn Broker {
        self.broker.as_ref().unwrap()
    }

    async fn restart(&mut self) {
        // The old one first: a directory has one user at a time.
        self.broker = None;
        self.broker = Some(open(self.directory.path()));
    }
}

mod over_memory {
    turnwise_drivers::broker_conformance!(super::OverMemory);
}

mod over_sqlite {
    turnwise_drivers::broker_conformance!(super::OverSqlite);
}
