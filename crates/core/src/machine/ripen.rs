//! The due time of a delayed or failed job has come.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Scheduled | State::Retrying if header.at <= now => Ok(moved(header, State::Ready, now)),
        State::Scheduled | State::Retrying => Err(Refusal::NotDue(header.at)),
        state => Err(Refusal::WrongState { state, hint: "it is not waiting for a time" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;
    use std::time::Duration;

    #[test]
    fn not_a_moment_early() {
        assert_eq!(accepted(Command::Ripen), [State::Scheduled, State::Retrying]);
        let before = NOW - Duration::from_micros(1);
        assert_eq!(apply(&header(State::Scheduled), Command::Ripen, before), Err(Refusal::NotDue(NOW)));
    }
}
