//! The only place that names concrete drivers.

use std::path::PathBuf;
use std::sync::Arc;

use crate::broker::Broker;
use crate::clock::Clock;
use crate::in_process::InProcessBroker;
use crate::leases::Leases;
use crate::memory::MemoryStore;
pub use crate::sqlite::{Inspection, backup, inspect};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{Store, StoreError};
use crate::store_leases::StoreLeases;

/// Which drivers run underneath. A profile picks drivers that fit together.
#[derive(Clone, Debug)]
pub enum Profile {
    /// One machine, nothing to install.
    Embedded {
        /// Where the data lives.
        directory: PathBuf,
        /// Refuse to grow beyond so many bytes.
        most_bytes: Option<u64>,
    },
    /// In memory, for tests.
    Memory,
}

/// Drivers that fit together.
#[derive(Clone)]
pub struct Drivers {
    /// Holds the truth.
    pub store: Arc<dyn Store>,
    /// Carries messages.
    pub broker: Arc<dyn Broker>,
    /// Names who may.
    pub leases: Arc<dyn Leases>,
    /// Nobody else can be using the store: whatever session it knows is over.
    pub alone: bool,
}

/// Opens the drivers of a profile.
pub fn open(profile: &Profile, clock: Arc<dyn Clock>) -> Result<Drivers, StoreError> {
    let store: Arc<dyn Store> = match profile {
        Profile::Embedded { directory, most_bytes } => {
            let options = SqliteOptions { directory: directory.clone(), most_bytes: *most_bytes };
            Arc::new(SqliteStore::open(&options, clock)?)
        }
        Profile::Memory => Arc::new(MemoryStore::new(clock)),
    };
    Ok(Drivers {
        broker: Arc::new(InProcessBroker::new(Some(store.clone()))),
        leases: Arc::new(StoreLeases::new(store.clone())),
        store,
        alone: true,
    })
}
