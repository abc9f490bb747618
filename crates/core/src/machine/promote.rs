//! A waiting job's turn has come: it is ready, or it is the head of its lane and due later.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Waiting if header.at > now => Ok(moved(header, State::Scheduled, header.at)),
        State::Waiting => Ok(moved(header, State::Ready, now)),
        state => Err(Refusal::WrongState { state, hint: "only a waiting job is promoted" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_delayed_job_holds_its_lane_until_it_is_due() {
        assert_eq!(accepted(Command::Promote), [State::Waiting]);
        assert_eq!(apply(&header(State::Waiting), Command::Promote, NOW).unwrap().header.state, State::Ready);
        let later = Header { at: NOW + Duration::from_secs(1), ..header(State::Waiting) };
        let step = apply(&later, Command::Promote, NOW).unwrap();
        assert_eq!((step.header.state, step.header.at), (State::Scheduled, later.at));
    }
}
