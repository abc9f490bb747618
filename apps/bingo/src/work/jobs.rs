//! The jobs of a batch: what each is told, and what it gives.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use turnwise::Job;

use super::order::Order;
use super::piece::Packed;
use super::results::Stored;

/// Measures how long runs take, and divides the batch into ranges. What is played is in the batch's [`Finish`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Divide {}

/// How a batch was divided.
#[derive(Serialize, Deserialize)]
pub(crate) struct Divided {
    /// Runs in a range.
    pub(crate) range: u64,
    /// How many ranges.
    pub(crate) ranges: u64,
}

impl Job for Divide {
    const KIND: &'static str = "bingo.plan";
    type Output = Divided;
}

/// Simulates some runs, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stretch {
    /// The first.
    pub(crate) from: u64,
    /// The one behind the last.
    pub(crate) to: u64,
}

impl Stretch {
    pub(crate) fn runs(&self) -> Range<u64> {
        self.from..self.to
    }
}

/// What became of a range.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// It was simulated.
    Piece(Packed),
    /// It was divided into jobs that do it instead.
    Split,
}

impl Job for Stretch {
    const KIND: &'static str = "bingo.range";
    type Output = Done;
}

/// Tries one run that failed in its range, on its own.
#[derive(Serialize, Deserialize)]
pub(crate) struct One {
    /// Which run.
    pub(crate) run: u64,
}

impl Job for One {
    const KIND: &'static str = "bingo.run";
    type Output = Done;
}

/// Merges the pieces when the last job of the batch has ended. It carries the order, because it is there from the
/// beginning of the batch to its end.
#[derive(Serialize, Deserialize)]
pub(crate) struct Finish {
    /// What was ordered.
    #[serde(flatten)]
    pub(crate) order: Order,
}

impl Job for Finish {
    const KIND: &'static str = "bingo.finish";
    type Output = Stored;
}
