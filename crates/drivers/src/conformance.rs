//! The conformance suite: each rule of a contract is one function here, and every driver passes all of them.
//!
//! A rule takes what it tests through a small factory trait, so that a driver joins the suite with one factory
//! and one macro call. Compiled only with the feature `conformance`, for the tests of drivers.

pub mod broker;
pub mod leases;
pub mod store;
