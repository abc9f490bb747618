//! A kind: the name that picks the handler, and the rules that all its jobs share. Kinds are declared in the
//! store, so that every node plans and judges by the same rules.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::name::Name;
use crate::rate::Rate;
use crate::refusal::Refusal;
use crate::retry::Retry;

/// A kind and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// Its name.
    pub name: Name,
    /// The pool of slots that it takes its turns in; its own unless said.
    pub pool: Name,
    /// What happens after a failure.
    pub retry: Retry,
    /// How long a handler may take.
    pub deadline: Option<Duration>,
    /// How many may run at once, everywhere.
    pub cap: Option<u32>,
    /// How many may run at once for one limit key.
    pub key_cap: Option<u32>,
    /// How many may start in a time.
    pub rate: Option<Rate>,
    /// How many may start in a time for one limit key.
    pub key_rate: Option<Rate>,
    /// Only the holder of this lease may claim its jobs.
    pub lease: Option<Name>,
    /// How often a job may be rescued from a dead worker.
    pub rescues: u16,
    /// Top-level payload fields that are never shown.
    #[serde(default)]
    pub sensitive: Vec<String>,
}

/// What to change of a kind's caps and rates. `None` leaves one as it is, `Some(None)` lifts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsChange {
    /// How many may run at once, everywhere.
    pub cap: Option<Option<u32>>,
    /// How many may run at once for one limit key.
    pub key_cap: Option<Option<u32>>,
    /// How many may start in a time.
    pub rate: Option<Option<Rate>>,
    /// How many may start in a time for one limit key.
    pub key_rate: Option<Option<Rate>>,
}

impl Kind {
    /// A kind with the usual rules, in a pool of its own.
    pub fn new(name: Name) -> Self {
        Kind {
            pool: name.clone(),
            name,
            retry: Retry::default(),
            deadline: None,
            cap: None,
            key_cap: None,
            rate: None,
            key_rate: None,
            lease: None,
            rescues: limits::RESCUES,
            sensitive: Vec::new(),
        }
    }

    /// The same kind with other caps and rates.
    pub fn with_limits(&self, change: LimitsChange) -> Kind {
        Kind {
            cap: change.cap.unwrap_or(self.cap),
            key_cap: change.key_cap.unwrap_or(self.key_cap),
            rate: change.rate.unwrap_or(self.rate),
            key_rate: change.key_rate.unwrap_or(self.key_rate),
            ..self.clone()
        }
    }

    /// Refuses rules that make no sense.
    pub fn validate(&self) -> Result<(), Refusal> {
        let invalid = |text: String| Err(Refusal::Invalid(format!("kind `{}`: {text}", self.name)));
        if let Err(bad) = self.retry.validate() {
            return invalid(bad.to_string());
        }
        for rate in [self.rate, self.key_rate].into_iter().flatten() {
            if let Err(bad) = rate.validate() {
                return invalid(bad.to_string());
            }
        }
        if self.cap == Some(0) || self.key_cap == Some(0) {
            return invalid("a cap of 0 would stop it for ever: pause the kind instead".into());
        }
        match self.deadline {
            Some(Duration::ZERO) => invalid("a deadline of zero: give the handler some time".into()),
            Some(span) if span > limits::DEADLINE => {
                invalid(format!("a deadline over {} days", limits::DEADLINE.as_secs() / 86_400))
            }
            _ => Ok(()),
        }
    }

    /// Whether starts and ends of its jobs are counted somewhere.
    pub fn is_capped(&self) -> bool {
        self.cap.is_some() || self.key_cap.is_some()
    }
}
