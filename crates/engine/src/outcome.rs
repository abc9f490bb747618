//! What a handler answers: a closed set of values, not exceptions to guess.

use std::fmt;
use std::time::Duration;

use turnwise_core::retry::Class;

/// Done with a value, or one of the ways of not being done.
///
/// `Ok(value)` is done. Any error that a `?` meets is a failure that is tried again as the kind's policy says.
pub type Outcome<T = ()> = Result<T, Stop>;

/// How a handler ends without being done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It failed.
    Fail {
        /// Whether and when to try again.
        class: Class,
        /// What went wrong.
        error: String,
    },
    /// It is no failure, it only goes on later.
    Snooze(Duration),
    /// It shall end as cancelled.
    Cancel,
    /// It shall end as a dead letter, without another attempt.
    Dead(String),
}

impl Stop {
    /// Failed; try again as the policy says.
    pub fn retry(error: impl fmt::Display) -> Self {
        Stop::Fail { class: Class::Retry, error: error.to_string() }
    }

    /// Failed; try again after this long.
    pub fn retry_after(span: Duration, error: impl fmt::Display) -> Self {
        Stop::Fail { class: Class::RetryAfter(span), error: error.to_string() }
    }

    /// Failed in a way that another attempt cannot mend.
    pub fn never(error: impl fmt::Display) -> Self {
        Stop::Fail { class: Class::Never, error: error.to_string() }
    }

    /// Goes on later; burns no attempt.
    pub fn snooze(span: Duration) -> Self {
        Stop::Snooze(span)
    }

    /// Ends as cancelled.
    pub fn cancel() -> Self {
        Stop::Cancel
    }

    /// Ends as a dead letter.
    pub fn dead(error: impl fmt::Display) -> Self {
        Stop::Dead(error.to_string())
    }
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        // The chain of causes belongs to the history of the job.
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            cause = inner.source();
        }
        Stop::Fail { class: Class::Retry, error: text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_means_try_again() {
        fn handler() -> Outcome<u32> {
            Ok("x".parse::<u32>()?)
        }
        assert_eq!(handler(), Err(Stop::retry("invalid digit found in string")));
    }
}
