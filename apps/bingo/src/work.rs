//! Batches of runs on the engine: one order becomes ranges of runs, each range a job, and one job that merges them.
//!
//! ```text
//!  order ──▶ bingo.plan ──▶ bingo.range × n ──────────────▶ bingo.finish
//!            (measures,      (a piece each: aggregate,       (merges the pieces, once,
//!             fans out)       compact runs)                   after the last has ended)
//!                                  └─ a run that fails ──▶ bingo.run, up to 5 attempts of its own
//! ```
//!
//! The order, with its scenario, is stored once: it is the payload of `bingo.finish`, which waits in the store from the
//! beginning and which every job of the batch can find through its batch.

mod bingo;
mod finish;
mod handlers;
mod jobs;
mod known;
pub(crate) mod limits;
mod local;
mod order;
mod piece;
mod simulate;
mod split;

pub use bingo::{Bingo, Settings};
pub use finish::{Failure, Results, Verdict};
pub(crate) use finish::{piece_of, results_of};
pub(crate) use jobs::Finish;
pub(crate) use known::{Event, finish_of};
pub use local::{Progress, run_here};
pub use order::{Order, Unfit, runs_of};
pub(crate) use piece::Entry;
