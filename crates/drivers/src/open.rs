//! The only place that names concrete drivers.

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "fleet")]
use crate::broker::Declare;
use crate::broker::{Broker, BrokerError};
use crate::clock::Clock;
use crate::counted::Counted;
#[cfg(feature = "fleet")]
use crate::examine::{Finding, Health};
use crate::in_process::InProcessBroker;
use crate::leases::{LeaseError, Leases};
use crate::memory::MemoryStore;
#[cfg(feature = "fleet")]
use crate::postgres::PostgresStore;
#[cfg(feature = "fleet")]
pub use crate::postgres::{Cost, Meter, PostgresOptions, remove as remove_schema};
#[cfg(feature = "fleet")]
use crate::rabbitmq::RabbitBroker;
#[cfg(feature = "fleet")]
pub use crate::rabbitmq::RabbitOptions;
#[cfg(feature = "fleet")]
use crate::redis_leases::RedisLeases;
#[cfg(feature = "fleet")]
pub use crate::redis_leases::RedisOptions;
pub use crate::sqlite::{Inspection, backup, inspect};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{Store, StoreError};
use crate::store_leases::StoreLeases;
#[cfg(feature = "fleet")]
use crate::{postgres, rabbitmq, redis_leases};
#[cfg(feature = "fleet")]
use turnwise_core::name::Name;

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
    /// Many machines over servers that they share.
    #[cfg(feature = "fleet")]
    Fleet(Box<FleetOptions>),
}

/// The servers of a fleet.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Holds the truth.
    pub postgres: PostgresOptions,
    /// Carries messages.
    pub rabbitmq: RabbitOptions,
    /// Hands out leases; without it, PostgreSQL does.
    pub redis: Option<RedisOptions>,
}

/// Why drivers could not be opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The broker.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The leases.
    #[error(transparent)]
    Leases(#[from] LeaseError),
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

/// Looks for what is wrong with the servers of a fleet, all of them, without changing anything. `wanted` names the queues
/// that nodes need for the kinds that are declared.
#[cfg(feature = "fleet")]
pub async fn examine(options: &FleetOptions, wanted: impl Fn(&[Name]) -> Vec<Declare>) -> Vec<Finding> {
    let leases = async {
        match &options.redis {
            Some(redis) => redis_leases::examine::examine(redis).await,
            None => Vec::new(),
        }
    };
    let (store, broker, leases) = tokio::join!(
        postgres::examine::examine(&options.postgres),
        rabbitmq::examine::examine(&options.rabbitmq),
        leases
    );
    let is_reached = broker.iter().any(|finding| finding.what == "reachable" && finding.health == Health::Ok);
    let queues = match is_reached {
        true => rabbitmq::examine::examine_queues(&options.rabbitmq, &wanted(&store.kinds)).await,
        false => Vec::new(),
    };
    [store.findings, broker, queues, leases].concat()
}

/// Opens the drivers of a profile.
pub async fn open(profile: &Profile, clock: Arc<dyn Clock>) -> Result<Drivers, OpenError> {
    let store: Arc<dyn Store> = match profile {
        Profile::Embedded { directory, most_bytes } => {
            let options = SqliteOptions { directory: directory.clone(), most_bytes: *most_bytes };
            Arc::new(SqliteStore::open(&options, clock)?)
        }
        Profile::Memory => Arc::new(MemoryStore::new(clock)),
        #[cfg(feature = "fleet")]
        Profile::Fleet(options) => return open_fleet(options).await,
    };
    Ok(Drivers {
        broker: Arc::new(Counted(Arc::new(InProcessBroker::new(Some(store.clone()))))),
        leases: Arc::new(StoreLeases::new(store.clone())),
        store,
        alone: true,
    })
}

#[cfg(feature = "fleet")]
async fn open_fleet(options: &FleetOptions) -> Result<Drivers, OpenError> {
    let postgres = options.postgres.clone();
    // It waits for the server.
    let opened = tokio::task::spawn_blocking(move || PostgresStore::open(&postgres)).await;
    let store: Arc<dyn Store> = Arc::new(opened.map_err(|_| StoreError::Closed)??);
    let broker = Arc::new(Counted(Arc::new(RabbitBroker::connect(options.rabbitmq.clone()).await?)));
    let leases: Arc<dyn Leases> = match &options.redis {
        Some(redis) => Arc::new(RedisLeases::connect(redis, store.clone()).await?),
        None => Arc::new(StoreLeases::new(store.clone())),
    };
    Ok(Drivers { store, broker, leases, alone: false })
}
