//! The job state machine: one file per command, one entrance.
//!
//! [`apply`] takes a header, a command and the time, and answers with the changed header or a refusal. It
//! reads nothing and performs nothing. The whole table of states and commands is printed into
//! `docs/state-machine.md`.

mod cancel;
mod claim;
mod complete;
mod expedite;
mod fail;
mod hold;
mod promote;
mod release;
mod replay;
mod rescue;
mod ripen;
mod snooze;
mod stop;
mod touch;

use std::time::Duration;

use crate::ids::SessionId;
use crate::job::{Header, State};
use crate::refusal::Refusal;
use crate::retry::{Class, Retry};
use crate::time::Time;

/// What may be asked of a job.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// A worker takes it.
    Claim {
        /// The version that the ticket named.
        version: u32,
        /// Who takes it.
        session: SessionId,
    },
    /// The handler ended well.
    Complete {
        /// The claim's fence.
        fence: u32,
    },
    /// The handler failed.
    Fail {
        /// The claim's fence.
        fence: u32,
        /// Whether and when to try again.
        class: Class,
        /// The kind's policy.
        retry: &'a Retry,
    },
    /// The handler wants to go on later; this is no failure.
    Snooze {
        /// The claim's fence.
        fence: u32,
        /// For how long.
        span: Duration,
    },
    /// The handler decided that the job shall end `cancelled`, or `dead` without another attempt.
    Stop {
        /// The claim's fence.
        fence: u32,
        /// A dead letter, or just cancelled.
        dead: bool,
    },
    /// The worker gives it back untouched: a graceful shutdown, which burns no attempt.
    Release {
        /// The claim's fence.
        fence: u32,
    },
    /// Its worker is dead.
    Rescue {
        /// The dead session.
        session: SessionId,
        /// How often a job may be rescued.
        limit: u16,
    },
    /// Somebody wants it to end.
    Cancel,
    /// Its due time has come.
    Ripen,
    /// Its turn in its lane has come, or its batch released it.
    Promote,
    /// Its lane was paused while it was the head and did not run.
    Hold,
    /// Somebody wants it now instead of later.
    Expedite,
    /// Somebody wants it again.
    Replay {
        /// Whether it must wait for its turn in its lane.
        waits: bool,
    },
    /// A step or progress: only the fence matters.
    Touch {
        /// The claim's fence.
        fence: u32,
    },
}

/// A change that was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The header as it is now.
    pub header: Header,
    /// The state it came from.
    pub from: State,
}

impl Step {
    /// Whether a run began.
    pub fn starts_run(&self) -> bool {
        self.from != State::Running && self.header.state == State::Running
    }

    /// Whether a run ended.
    pub fn ends_run(&self) -> bool {
        self.from == State::Running && self.header.state != State::Running
    }

    /// Whether the job ended.
    pub fn settles(&self) -> bool {
        !self.from.is_final() && self.header.state.is_final()
    }
}

/// Decides what a command does to a job.
pub fn apply(header: &Header, command: Command<'_>, now: Time) -> Result<Step, Refusal> {
    match command {
        Command::Claim { version, session } => claim::apply(header, version, session, now),
        Command::Complete { fence } => complete::apply(header, fence, now),
        Command::Fail { fence, class, retry } => fail::apply(header, fence, class, retry, now),
        Command::Snooze { fence, span } => snooze::apply(header, fence, span, now),
        Command::Stop { fence, dead } => stop::apply(header, fence, dead, now),
        Command::Release { fence } => release::apply(header, fence, now),
        Command::Rescue { session, limit } => rescue::apply(header, session, limit, now),
        Command::Cancel => cancel::apply(header, now),
        Command::Ripen => ripen::apply(header, now),
        Command::Promote => promote::apply(header, now),
        Command::Hold => hold::apply(header),
        Command::Expedite => expedite::apply(header, now),
        Command::Replay { waits } => replay::apply(header, waits, now),
        Command::Touch { fence } => touch::apply(header, fence),
    }
}

/// The next version of a header in a new state.
fn moved(header: &Header, state: State, at: Time) -> Step {
    let session = if state == State::Running { header.session } else { None };
    let header_now = Header { version: header.version.wrapping_add(1), state, at, session, ..*header };
    Step { header: header_now, from: header.state }
}

/// Refuses whoever does not hold the current claim.
fn fenced(header: &Header, fence: u32) -> Result<(), Refusal> {
    if header.state != State::Running || header.fence != fence {
        return Err(Refusal::StaleFence { given: fence, current: header.fence });
    }
    Ok(())
}

/// A run that ended without a verdict of its own: nobody may call it an attempt.
fn unburnt(mut step: Step) -> Step {
    step.header.attempt = step.header.attempt.saturating_sub(1);
    step
}

#[cfg(test)]
pub(crate) mod sample {
    //! One header per state, for the tests of the commands.

    use super::*;
    use crate::ids::{JobId, LineId};
    use crate::job::Flags;

    pub(crate) const NOW: Time = Time::from_millis(1_000_000);
    pub(crate) const SESSION: SessionId = SessionId::from_u64(7);

    pub(crate) fn header(state: State) -> Header {
        let running = state == State::Running;
        let due = matches!(state, State::Scheduled | State::Retrying);
        Header {
            id: JobId::from_u64(1),
            version: 4,
            state,
            line: LineId::from_u64(2),
            place: None,
            attempt: 1,
            attempts: 3,
            rescues: 0,
            fence: 1,
            session: running.then_some(SESSION),
            submitted: Time::ZERO,
            at: if due { NOW } else { Time::ZERO },
            flags: Flags::default(),
        }
    }

    /// The states in which `command` is accepted.
    pub(crate) fn accepted(command: Command<'_>) -> Vec<State> {
        State::ALL.into_iter().filter(|&state| apply(&header(state), command, NOW).is_ok()).collect()
    }
}
