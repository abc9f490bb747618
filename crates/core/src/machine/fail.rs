//! The handler failed: again later, or dead.

use super::{Step, fenced, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::retry::{Class, Retry};
use crate::time::Time;

pub(super) fn apply(
    header: &Header,
    fence: u32,
    class: Class,
    retry: &Retry,
    now: Time,
) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    if header.flags.cancel {
        return Ok(moved(header, State::Cancelled, now));
    }
    let again =
        if header.attempt < header.attempts { retry.wait(class, header.id, header.attempt) } else { None };
    Ok(match again {
        Some(wait) => moved(header, State::Retrying, now + wait),
        None => moved(header, State::Dead, now),
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;
    use std::time::Duration;

    fn fail(header: &Header, class: Class) -> Step {
        let retry = Retry::fixed(Duration::from_secs(5)).jitter(0).attempts(3);
        apply(header, Command::Fail { fence: 1, class, retry: &retry }, NOW).unwrap()
    }

    #[test]
    fn only_the_current_claim_fails() {
        let retry = Retry::default();
        assert_eq!(
            accepted(Command::Fail { fence: 1, class: Class::Retry, retry: &retry }),
            [State::Running]
        );
        assert_eq!(accepted(Command::Fail { fence: 0, class: Class::Retry, retry: &retry }), []);
    }

    #[test]
    fn again_until_the_attempts_are_used_up() {
        let first = fail(&header(State::Running), Class::Retry).header;
        assert_eq!((first.state, first.at), (State::Retrying, NOW + Duration::from_secs(5)));
        let last = Header { attempt: 3, ..header(State::Running) };
        assert_eq!(fail(&last, Class::Retry).header.state, State::Dead);
        assert_eq!(fail(&header(State::Running), Class::Never).header.state, State::Dead);
    }

    #[test]
    fn a_job_that_should_stop_is_not_tried_again() {
        let mut asked = header(State::Running);
        asked.flags.cancel = true;
        assert_eq!(fail(&asked, Class::Retry).header.state, State::Cancelled);
    }
}
