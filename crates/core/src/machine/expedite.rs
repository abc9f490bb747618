//! "Retry now": a job that is due later becomes ready at once.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Scheduled | State::Retrying => Ok(moved(header, State::Ready, now)),
        State::Waiting => Err(Refusal::WrongState {
            state: header.state,
            hint: "it waits for its lane or its batch, not for a time",
        }),
        State::Dead | State::Cancelled => {
            Err(Refusal::WrongState { state: header.state, hint: "replay it instead" })
        }
        state => Err(Refusal::WrongState { state, hint: "only a scheduled or retrying job can be hurried" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::sample::accepted;
    use super::*;

    #[test]
    fn only_what_waits_for_a_time() {
        assert_eq!(accepted(Command::Expedite), [State::Scheduled, State::Retrying]);
    }
}
