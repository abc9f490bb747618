//! What a unit that happened answers.

use std::sync::Arc;
use std::time::Duration;

use turnwise_core::ids::JobId;
use turnwise_core::job::{Header, State};
use turnwise_core::lease::Lease;
use turnwise_core::line::LineKey;

use super::records::Blob;

/// A job that was accepted, or was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The job that stands for the submission.
    pub id: JobId,
    /// Whether it was there already: the same id sent again, or the same unique key.
    pub existing: bool,
}

/// All that a worker needs to run a job.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The header, with the fence.
    pub header: Header,
    /// Kind, owner, batch.
    pub line: Arc<LineKey>,
    /// The arguments.
    pub payload: Blob,
    /// How long the handler may take.
    pub deadline: Option<Duration>,
}

/// What a unit that happened answers.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// It is so.
    Accepted,
    /// The jobs, in the order they were given; then the continuations of the batches that were opened.
    Submitted(Vec<Submitted>),
    /// The job is yours.
    Claimed(Box<Claimed>),
    /// The job is in this state now.
    Moved(State),
    /// The session is open, with this number for its ids.
    Numbered(u16),
    /// The lease, with its term.
    Leased(Lease),
    /// So many were changed.
    Changed(usize),
    /// The message's number.
    Queued(u64),
}
