//! The store contract: it decides; everything else is a hint.

mod error;
mod filter;
mod read;
mod receipt;
mod records;
mod token;
mod unit;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::broadcast;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::LineId;
use turnwise_core::line::LineKey;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

pub use error::StoreError;
pub(crate) use filter::Sieve;
pub use filter::{Filter, JobsPage};
pub use read::{
    Agenda, Details, Found, JobRow, OwnerRow, Read, Ready, ReadyAnswer, ReadyJob, Rules, Tail, TailPage, Want,
};
pub use receipt::{Claimed, Receipt, Submitted};
pub use records::{
    AttemptError, Blob, Failure, LimitKey, Message, NodeNumbers, Pauses, Progress, QueueState, Roles,
    Schedule, Secret, Session, StepRecord,
};
pub use token::{Scope, Token};
pub use unit::{
    Claim, Control, LaneChoice, LeaseUnit, NewBatch, NewJob, NewThen, QueueUnit, SessionUnit, Settle, Start,
    StepDone, Submission, Sweep, Unit, Verdict,
};

/// A boxed future, so that a store can be chosen at run time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What one unit of a commit came to.
pub type Outcome = Result<Receipt, Refusal>;

/// A hint about a commit: what happened and which lines may have ready work. Hints may be lost; whoever
/// relies on them looks at the store from time to time.
#[derive(Debug)]
pub struct Committed {
    /// The cursor of the last event.
    pub cursor: Cursor,
    /// When, on the store's clock.
    pub at: Time,
    /// What happened.
    pub events: Vec<Event>,
    /// Lines that may have ready work now.
    pub ready: Vec<(LineId, Arc<LineKey>)>,
    /// Jobs were handed in to the database itself, and wait to be taken in ([`Sweep::TakeIn`]).
    pub handed_in: bool,
}

/// Holds the truth.
///
/// The rules below carry the names of the conformance tests that prove them, for every driver:
///
/// - A unit happens as a whole or not at all, and is refused alone: one refusal never rolls back strangers
///   (`a_refused_unit_leaves_no_trace`, `strangers_are_not_rolled_back`).
/// - When `commit` answers, the change outlives the process (`what_was_answered_is_there_after_reopen`).
/// - The same submission sent twice is accepted once (`a_resent_submission_is_accepted_once`).
/// - A claim is exclusive, and what an older fence writes is refused (`one_live_claim`,
///   `an_older_fence_is_refused`).
/// - `ready` lists each line's jobs in submit order and hides no line behind another
///   (`ready_is_in_submit_order`, `a_deep_line_hides_nobody`).
/// - `tail` gives every event once, in commit order, and tells a reader whose cursor is too old
///   (`a_tail_misses_nothing`, `an_old_cursor_is_told`).
/// - What a node does is known as long as its session is (`what_a_node_does_is_known_until_it_is_buried`).
/// - Times are judged by the store's clock (`the_stores_clock_decides`).
/// - `list` finds what fits and nothing else, newest first, however many pages it takes (`listings_go_page_by_page`,
///   `every_filter_finds_what_fits`).
pub trait Store: Send + Sync {
    /// Executes units in order, many to one durable commit. `Err` means that none of them happened, or, after
    /// a crash or a lost connection, that it is unknown: send them again, ids make that safe.
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>>;

    /// Looks one thing up.
    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>>;

    /// Which lines have ready work, and which jobs are next in them. Bounded, by index only.
    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>>;

    /// The events after a cursor.
    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>>;

    /// Jobs by filter, newest first, a page at a time.
    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>>;

    /// Hints about commits as they happen.
    fn watch(&self) -> broadcast::Receiver<Arc<Committed>>;
}

/// Commits one unit.
pub async fn commit_one(store: &dyn Store, unit: Unit) -> Result<Outcome, StoreError> {
    let mut outcomes = store.commit(vec![unit]).await?;
    outcomes.pop().ok_or(StoreError::Broken("a commit answered nothing".into()))
}
