//! A paused lane puts its head back among the waiting; it stays the first of them.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header) -> Result<Step, Refusal> {
    match header.state {
        State::Ready => Ok(moved(header, State::Waiting, Time::ZERO)),
        State::Scheduled | State::Retrying => Ok(moved(header, State::Waiting, header.at)),
        state => Err(Refusal::WrongState { state, hint: "only the idle head of a lane is held" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn keeps_its_due_time() {
        assert_eq!(accepted(Command::Hold), [State::Scheduled, State::Ready, State::Retrying]);
        let held = apply(&header(State::Retrying), Command::Hold, NOW).unwrap().header;
        assert_eq!((held.state, held.at, held.attempt), (State::Waiting, NOW, 1));
    }
}
