//! The lease contract: named rights, each with one current term, as judged by the store.

use std::time::Duration;

use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use crate::store::{Answer, Session, StoreError};

/// Why a lease was not had.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else has it, or the term is stale.
    #[error(transparent)]
    Refused(Refusal),
    /// Nobody could be asked. A holder must count from before it asked, and stop in time.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Names who may.
///
/// - At most one term of a lease is current (`one_current_term`), terms only grow (`terms_only_grow`), also over
///   release, expiry and a new life of the same holder.
/// - A lease that ended is not renewed (`an_ended_lease_is_not_renewed`), and a released one is free at once
///   (`a_released_lease_is_free_at_once`).
/// - An older term is refused everywhere (`an_older_term_is_refused`).
/// - `members` names the sessions that live (`members_are_the_living`).
pub trait Leases: Send + Sync {
    /// Asks for a lease.
    fn acquire(&self, name: &Name, holder: &Name, span: Duration) -> Answer<'_, Result<Lease, LeaseError>>;

    /// Asks for more time.
    fn renew(&self, name: &Name, term: u64, span: Duration) -> Answer<'_, Result<Lease, LeaseError>>;

    /// Gives a lease back.
    fn release(&self, name: &Name, term: u64) -> Answer<'_, Result<(), LeaseError>>;

    /// The sessions that live.
    fn members(&self) -> Answer<'_, Result<Vec<Session>, LeaseError>>;
}
