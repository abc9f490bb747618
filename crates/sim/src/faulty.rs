//! Drivers that fail. Leases have no fault of their own: they are rows of the store, and go through the faulty one.

mod broker;
mod store;

pub(crate) use broker::{FaultyBroker, Post};
pub(crate) use store::FaultyStore;
