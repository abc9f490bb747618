//! A dead letter or a cancelled job gets a new life, with all its attempts. Its batch does not count it again.

use super::{Step, moved};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, waits: bool, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Dead | State::Cancelled => {
            let (to, at) = if waits { (State::Waiting, Time::ZERO) } else { (State::Ready, now) };
            let mut step = moved(header, to, at);
            step.header.attempt = 0;
            step.header.rescues = 0;
            step.header.flags.cancel = false;
            Ok(step)
        }
        state => Err(Refusal::WrongState { state, hint: "only dead or cancelled jobs are replayed" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn a_new_life_with_an_old_fence() {
        assert_eq!(accepted(Command::Replay { waits: false }), [State::Dead, State::Cancelled]);
        let mut dead = header(State::Dead);
        dead.flags.counted = true;
        dead.rescues = 4;
        let step = apply(&dead, Command::Replay { waits: false }, NOW).unwrap();
        assert_eq!((step.header.attempt, step.header.rescues), (0, 0));
        assert_eq!(step.header.fence, dead.fence, "a fence never goes back");
        assert!(step.header.flags.counted);
    }
}
