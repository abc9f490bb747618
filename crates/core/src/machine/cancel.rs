//! Somebody wants a job to end. One that runs is told; its lane stays taken until its handler has ended.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Waiting | State::Scheduled | State::Ready | State::Retrying => {
            Ok(moved(header, State::Cancelled, now))
        }
        State::Running if header.flags.cancel => Ok(Step { header: *header, from: header.state }),
        State::Running => {
            let mut step = moved(header, State::Running, header.at);
            step.header.flags.cancel = true;
            Ok(step)
        }
        state => Err(Refusal::WrongState { state, hint: "it has ended already" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, SESSION, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn everything_that_has_not_ended() {
        use State::{Ready, Retrying, Running, Scheduled, Waiting};
        assert_eq!(accepted(Command::Cancel), [Waiting, Scheduled, Ready, Running, Retrying]);
    }

    #[test]
    fn a_running_job_keeps_its_claim_and_is_told() {
        let step = apply(&header(State::Running), Command::Cancel, NOW).unwrap();
        assert!(!step.settles() && step.header.flags.cancel);
        assert_eq!((step.header.state, step.header.session), (State::Running, Some(SESSION)));
        assert_eq!(apply(&step.header, Command::Cancel, NOW).unwrap().header, step.header);
    }
}
