//! How a command fails: in words that say what to do, with an exit code that a script can tell apart.

use std::fmt;

/// Refused or failed: nothing to be done about it by calling differently, or the call was not allowed.
const REFUSED: u8 = 1;
/// Called in a way that makes no sense. The same code as the argument parser's.
const USAGE: u8 = 2;
/// Nobody to talk to.
const UNREACHABLE: u8 = 3;

/// A failure whose kind matters to the caller. Any other error counts as refused.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine, or the machine, said no.
    Refused(String),
    /// What was given makes no sense.
    Usage(String),
    /// There is no engine to talk to.
    Unreachable(String),
}

impl Failure {
    /// The exit code for an error.
    pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
        match error.downcast_ref() {
            Some(Failure::Usage(_)) => USAGE,
            Some(Failure::Unreachable(_)) => UNREACHABLE,
            Some(Failure::Refused(_)) | None => REFUSED,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(text) | Failure::Usage(text) | Failure::Unreachable(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

/// Refused or failed.
pub(crate) fn refused(text: impl fmt::Display) -> anyhow::Error {
    Failure::Refused(text.to_string()).into()
}

/// What was given makes no sense.
pub(crate) fn usage(text: impl fmt::Display) -> anyhow::Error {
    Failure::Usage(text.to_string()).into()
}

/// There is no engine to talk to.
pub(crate) fn unreachable(text: impl fmt::Display) -> anyhow::Error {
    Failure::Unreachable(text.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_survives_added_context() {
        let error = usage("what?").context("while reading");
        assert_eq!(Failure::exit_code(&error), USAGE);
        assert_eq!(Failure::exit_code(&unreachable("gone")), UNREACHABLE);
        assert_eq!(Failure::exit_code(&anyhow::anyhow!("any")), REFUSED);
        assert_eq!(format!("{error:#}"), "while reading: what?");
    }
}
