//! The handler decided that there shall be no other attempt.

use super::{Step, fenced, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, fence: u32, dead: bool, now: Time) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    let dead = dead && !header.flags.cancel;
    Ok(moved(header, if dead { State::Dead } else { State::Cancelled }, now))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn ends_at_once() {
        assert_eq!(accepted(Command::Stop { fence: 1, dead: true }), [State::Running]);
        assert_eq!(accepted(Command::Stop { fence: 9, dead: true }), []);
        for (dead, state) in [(true, State::Dead), (false, State::Cancelled)] {
            let step = apply(&header(State::Running), Command::Stop { fence: 1, dead }, NOW).unwrap();
            assert_eq!(step.header.state, state);
        }
    }
}
