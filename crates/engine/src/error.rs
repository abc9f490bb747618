//! What a call to the engine can come to, other than what was asked for.

use turnwise_core::name::BadName;
use turnwise_core::refusal::Refusal;
use turnwise_drivers::broker::BrokerError;
use turnwise_drivers::leases::LeaseError;
use turnwise_drivers::open::OpenError;
use turnwise_drivers::store::StoreError;

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It was refused, and nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The broker failed.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A payload or result that does not fit its type.
    #[error("{what} cannot be read or written as JSON: {why}")]
    Json {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// Settings that make no sense.
    #[error("{0}")]
    Config(String),
    /// The vault cannot give or take a secret.
    #[error("{0}")]
    Vault(String),
    /// A remote worker that has left, or was not heard from for too long.
    #[error(
        "worker `{0}` is not known any more: it left, or was silent for too long. Open it anew and claim again"
    )]
    UnknownWorker(String),
    /// A reader came too late: what it asked for is not kept any more.
    #[error("events before cursor {0} are not kept any more: begin again from there")]
    Gone(u64),
}

impl From<LeaseError> for Error {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Refused(refusal) => Error::Refused(refusal),
            LeaseError::Store(error) => Error::Store(error),
        }
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => Error::Store(error),
            OpenError::Broker(error) => Error::Broker(error),
            OpenError::Leases(error) => error.into(),
        }
    }
}

impl Error {
    pub(crate) fn json(what: &'static str) -> impl Fn(serde_json::Error) -> Error {
        move |error| Error::Json { what, why: error.to_string() }
    }
}
