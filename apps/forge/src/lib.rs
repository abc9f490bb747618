//! Forge: generates a service from a description, commits it and publishes its name, strictly in order.
//!
//! A request is [checked](check), queued in the lane of its service, and made in five [phases](phase) that are durable
//! steps. Each phase is a process of its own; what it does to a repository or a zone compares and swaps, so that it is
//! done once, whoever dies when.

pub mod check;
mod clear;
pub mod dns;
pub mod fault;
pub mod generate;
mod git;
mod group;
mod job;
mod journal;
mod lock;
pub mod migration;
pub mod phase;
mod queue;
pub mod request;
mod routes;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod sample;
mod settings;
mod submit;
mod view;

pub use clear::{Cleared, Counts, What, clear, counts};
pub use dns::server::NameServer;
pub use git::Committed;
pub use job::{ATTEMPTS, Generate, register};
pub use routes::application;
pub use settings::{Leader, Order, Program, Settings, origin};
pub use submit::{Accepted, submit};
