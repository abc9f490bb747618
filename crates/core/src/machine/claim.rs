//! A worker takes a job. The fence grows, so whatever an earlier claim still writes is refused.

use super::{Step, moved};
use crate::ids::SessionId;
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::time::Time;

pub(super) fn apply(header: &Header, version: u32, session: SessionId, now: Time) -> Result<Step, Refusal> {
    match header.state {
        State::Ready => {}
        State::Scheduled | State::Retrying if header.at <= now => {}
        State::Scheduled | State::Retrying => return Err(Refusal::NotDue(header.at)),
        state => return Err(Refusal::WrongState { state, hint: "only a ready job can be claimed" }),
    }
    if header.version != version {
        return Err(Refusal::StaleTicket);
    }
    let mut step = moved(header, State::Running, now);
    step.header.session = Some(session);
    step.header.fence = header.fence.wrapping_add(1);
    step.header.attempt = header.attempt.saturating_add(1);
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{NOW, SESSION, accepted, header};
    use super::super::{Command, apply};
    use super::*;
    use std::time::Duration;

    const CLAIM: Command<'_> = Command::Claim { version: 4, session: SESSION };

    #[test]
    fn ready_and_due_jobs_only() {
        assert_eq!(accepted(CLAIM), [State::Scheduled, State::Ready, State::Retrying]);
        let early = Header { at: NOW + Duration::from_micros(1), ..header(State::Retrying) };
        assert_eq!(apply(&early, CLAIM, NOW), Err(Refusal::NotDue(early.at)));
    }

    #[test]
    fn counts_the_attempt_and_raises_the_fence() {
        let before = header(State::Ready);
        let step = apply(&before, CLAIM, NOW).unwrap();
        assert!(step.starts_run());
        assert_eq!((step.header.attempt, step.header.fence), (before.attempt + 1, before.fence + 1));
        assert_eq!((step.header.session, step.header.at), (Some(SESSION), NOW));
    }

    #[test]
    fn an_old_ticket_is_refused() {
        let old = Command::Claim { version: 3, session: SESSION };
        assert_eq!(apply(&header(State::Ready), old, NOW), Err(Refusal::StaleTicket));
    }
}
