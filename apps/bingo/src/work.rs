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
mod results;
mod simulate;
mod split;

pub use bingo::{Bingo, Settings};
pub(crate) use finish::{has_runs, piece_of, stored_of};
pub(crate) use jobs::Finish;
pub(crate) use known::{Event, finish_of};
pub use local::{Progress, run_here};
pub(crate) use order::startable;
pub use order::{Order, Unfit, check, runs_of};
pub(crate) use results::Stored;
pub use results::{Failure, Results, Verdict};
