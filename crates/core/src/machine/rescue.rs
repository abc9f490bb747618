//! A job is taken from a dead worker. Not the job's fault, so no attempt is burnt; but a job that kills its
//! workers again and again ends dead instead of going round for ever.

use super::{Step, moved, unburnt};
use crate::ids::SessionId;
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, session: SessionId, limit: u16, now: Time) -> Result<Step, Refusal> {
    if header.state != State::Running || header.session != Some(session) {
        return Err(Refusal::WrongState { state: header.state, hint: "this session does not run it" });
    }
    let rescues = header.rescues.saturating_add(1);
    let to = match header.flags.cancel {
        true => State::Cancelled,
        false if rescues > limit => State::Dead,
        false => State::Ready,
    };
    let mut step = unburnt(moved(header, to, now));
    step.header.rescues = rescues;
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, SESSION, accepted, header};
    use super::super::{Command, apply};
    use super::*;

    #[test]
    fn only_from_the_session_that_runs_it() {
        assert_eq!(accepted(Command::Rescue { session: SESSION, limit: 3 }), [State::Running]);
        assert_eq!(accepted(Command::Rescue { session: SessionId::from_u64(8), limit: 3 }), []);
    }

    #[test]
    fn a_poison_job_ends_dead() {
        let mut job = header(State::Running);
        let mut lives = 0;
        loop {
            let rescued = apply(&job, Command::Rescue { session: SESSION, limit: 3 }, NOW).unwrap().header;
            lives += 1;
            if rescued.state == State::Dead {
                break;
            }
            let claim = Command::Claim { version: rescued.version, session: SESSION };
            job = apply(&rescued, claim, NOW).unwrap().header;
        }
        assert_eq!(lives, 4);
    }
}
