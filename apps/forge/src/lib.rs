//! Forge: generates a service from a description, commits it and publishes its name, strictly in order.
//!
//! A request is [checked](check), queued in the lane of its service, and made in five phases that are durable steps. Each
//! phase is a process of its own; what it does to a repository or a zone compares and swaps, so that it is done once,
//! whoever dies when.

pub mod check;
pub mod generate;
pub mod migration;
pub mod request;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod sample;
