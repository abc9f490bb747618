//! The handler ended well.

use super::{Step, fenced, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, fence: u32, now: Time) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    Ok(moved(header, State::Done, now))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn only_the_current_claim_completes() {
        assert_eq!(accepted(Command::Complete { fence: 1 }), [State::Running]);
        assert_eq!(accepted(Command::Complete { fence: 0 }), []);
        assert_eq!(accepted(Command::Complete { fence: 2 }), []);
    }

    #[test]
    fn done_is_done_even_if_a_cancel_came_late() {
        let mut asked = header(State::Running);
        asked.flags.cancel = true;
        let step = apply(&asked, Command::Complete { fence: 1 }, NOW).unwrap();
        assert!(step.settles() && step.ends_run());
        assert_eq!((step.header.state, step.header.session), (State::Done, None));
    }
}
