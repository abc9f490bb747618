//! Real processes, real signals: the promises of Turnwise from outside.
//!
//! The process under test is `victim` (in `src/bin`); what its handlers did is in a log that the engine knows nothing
//! of, read by [`history`].

pub mod frames;
pub mod history;
pub mod proxy;
pub mod troubles;
