//! Uniqueness: the same key inside its window answers with the same job.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::JobId;
use crate::limits;
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Time;

/// How long a key stands for its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// From submit, for this long, even if the job ends before or after.
    For(Duration),
    /// Until the job has ended.
    UntilSettled,
}

/// What a submission says about uniqueness. Keys are separate for each kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// What must not be there twice.
    pub key: Name,
    /// For how long.
    pub window: Window,
}

/// A key that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The kind that the key belongs to.
    pub kind: Name,
    /// The key.
    pub key: Name,
    /// The job that has it.
    pub job: JobId,
    /// Until when; [`Time::MAX`] if it ends with the job.
    pub until: Time,
}

impl Window {
    /// When a key that is taken now is free again.
    pub fn end(self, now: Time) -> Result<Time, Refusal> {
        match self {
            Window::UntilSettled => Ok(Time::MAX),
            Window::For(span) if span.is_zero() => {
                Err(Refusal::Invalid("a uniqueness window of zero: give it some time".into()))
            }
            Window::For(span) if span > limits::UNIQUE_WINDOW => {
                Err(Refusal::Invalid("a uniqueness window of more than a year: choose a shorter one".into()))
            }
            Window::For(span) => Ok(now + span),
        }
    }
}
