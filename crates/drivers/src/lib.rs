//! The three contracts of Turnwise, their drivers, and the conformance suite that every driver passes.
//!
//! [`store`] decides, [`broker`] hints, [`leases`] name who may. Drivers never know each other.

pub mod broker;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod counted;
#[cfg(feature = "fleet")]
pub mod examine;
mod group;
pub mod in_process;
pub mod leases;
mod ledger;
pub mod memory;
pub mod open;
#[cfg(feature = "fleet")]
pub mod postgres;
#[cfg(feature = "fleet")]
pub mod rabbitmq;
#[cfg(feature = "fleet")]
pub mod redis_leases;
pub mod sqlite;
pub mod store;
pub mod store_leases;
