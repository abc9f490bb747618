//! A step or a sign of progress: it changes nothing in the header, but only the current claim may give one.

use super::{Step, fenced};
use crate::job::Header;
use crate::refusal::Refusal;

pub(super) fn apply(header: &Header, fence: u32) -> Result<Step, Refusal> {
    fenced(header, fence)?;
    Ok(Step { header: *header, from: header.state })
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::sample::accepted;
    use crate::job::State;

    #[test]
    fn only_the_current_claim() {
        assert_eq!(accepted(Command::Touch { fence: 1 }), [State::Running]);
        assert_eq!(accepted(Command::Touch { fence: 2 }), []);
    }
}
