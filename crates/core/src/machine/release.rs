//! A worker that shuts down gives its job back. No attempt is burnt.

use super::{Step, fenced, moved, unburnt};
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, fence: u32, now: Time) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    let to = if header.flags.cancel { State::Cancelled } else { State::Ready };
    Ok(unburnt(moved(header, to, now)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn burns_no_attempt_and_ends_the_claim() {
        assert_eq!(accepted(Command::Release { fence: 1 }), [State::Running]);
        let step = apply(&header(State::Running), Command::Release { fence: 1 }, NOW).unwrap();
        assert_eq!((step.header.state, step.header.attempt), (State::Ready, 0));
        assert!(apply(&step.header, Command::Complete { fence: 1 }, NOW).is_err());
    }
}
