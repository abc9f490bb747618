//! The handler wants to go on later. This is no failure and costs no attempt.

use std::time::Duration;

use super::{Step, fenced, moved, unburnt};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, fence: u32, span: Duration, now: Time) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    if header.flags.cancel {
        return Ok(moved(header, State::Cancelled, now));
    }
    Refusal::unless_sane_delay(span)?;
    Ok(unburnt(moved(header, State::Scheduled, now + span)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn later_without_an_attempt() {
        let snooze = Command::Snooze { fence: 1, span: Duration::from_secs(60) };
        assert_eq!(accepted(snooze), [State::Running]);
        let step = apply(&header(State::Running), snooze, NOW).unwrap();
        assert_eq!((step.header.state, step.header.attempt), (State::Scheduled, 0));
        assert_eq!(step.header.at, NOW + Duration::from_secs(60));
        assert_eq!(accepted(Command::Snooze { fence: 1, span: Duration::MAX }), []);
    }
}
