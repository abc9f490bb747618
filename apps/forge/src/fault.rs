//! What can go wrong in a phase, by class: the class alone decides whether it is tried again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Class {
    /// The request makes no sense.
    Validation,
    /// Something that the forge needs is not there, and will not come by waiting.
    NotFound,
    /// The service belongs to somebody else.
    Authorization,
    /// It took longer than it may.
    Timeout,
    /// It would break those who use the service.
    MigrationIssues,
    /// The repository could not be changed.
    Git,
    /// The zone or the name server could not be changed.
    Dns,
    /// The machine failed: a disk, a process.
    Internal,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 8] = [
        Class::Validation,
        Class::NotFound,
        Class::Authorization,
        Class::Timeout,
        Class::MigrationIssues,
        Class::Git,
        Class::Dns,
        Class::Internal,
    ];

    /// Whether another attempt may go better.
    pub fn is_retried(self) -> bool {
        matches!(self, Class::Git | Class::Dns | Class::Internal)
    }

    /// Its word, in errors and logs.
    pub fn word(self) -> &'static str {
        match self {
            Class::Validation => "VALIDATION",
            Class::NotFound => "NOT_FOUND",
            Class::Authorization => "AUTHORIZATION",
            Class::Timeout => "TIMEOUT",
            Class::MigrationIssues => "MIGRATION_ISSUES",
            Class::Git => "GIT",
            Class::Dns => "DNS",
            Class::Internal => "INTERNAL",
        }
    }
}

/// An error of a phase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub struct Fault {
    /// Which sort.
    pub class: Class,
    /// What happened.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.word(), self.text)
    }
}

impl Fault {
    /// An error of a class.
    pub fn new(class: Class, text: impl Into<String>) -> Self {
        Fault { class, text: text.into() }
    }

    /// For `map_err`: the machine failed while it did this.
    pub(crate) fn internal<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Fault {
        move |error| Fault::new(Class::Internal, format!("cannot {what}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_classes_are_never_retried() {
        let never: Vec<_> =
            Class::ALL.into_iter().filter(|class| !class.is_retried()).map(Class::word).collect();
        assert_eq!(never, ["VALIDATION", "NOT_FOUND", "AUTHORIZATION", "TIMEOUT", "MIGRATION_ISSUES"]);
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.word());
        }
    }
}
