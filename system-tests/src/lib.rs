//! Real processes, real signals: the promises of Turnwise from outside.
//!
//! The process under test is `victim` (in `src/bin`); what its handlers did is in a log that the engine knows nothing
//! of, read by [`history`]. The dashboard is looked at with a real [`browser`], served by the real [`program`].

pub mod browser;
pub mod frames;
pub mod history;
mod leash;
pub mod program;
pub mod proxy;
pub mod troubles;
