//! Pause and resume, the same for kinds, owners and lanes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

/// What can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verb {
    /// Nothing of it starts. What runs, runs on.
    Pause,
    /// Ends the pause.
    Resume,
}

impl Verb {
    pub(crate) fn read(text: &str) -> Result<Verb, Problem> {
        match text {
            "pause" => Ok(Verb::Pause),
            "resume" => Ok(Verb::Resume),
            _ => Err(Problem::bad("bad_verb", "it can be told to pause or resume")),
        }
    }
}

/// Whether it is paused now.
#[derive(Serialize, ToSchema)]
pub(crate) struct Paused {
    pub(crate) paused: bool,
}
