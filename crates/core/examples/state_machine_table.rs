//! Prints what every command does in every state, as the state machine itself answers: the generated part of
//! `docs/state-machine.md`.

// Its output is the document.
#![allow(clippy::print_stdout, reason = "its output is the document")]

use std::time::Duration;

use turnwise_core::ids::{JobId, LineId, SessionId};
use turnwise_core::job::{Flags, Header, State};
use turnwise_core::machine::{Command, apply};
use turnwise_core::refusal::Refusal;
use turnwise_core::retry::{Class, Retry};
use turnwise_core::time::Time;

const NOW: Time = Time::from_millis(1_000_000);
const SESSION: SessionId = SessionId::from_u64(7);

/// A job in a state: due now where it waits for a time, on its first of three attempts.
fn header(state: State) -> Header {
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
        session: (state == State::Running).then_some(SESSION),
        submitted: Time::ZERO,
        at: if due { NOW } else { Time::ZERO },
        flags: Flags::default(),
    }
}

fn answer(state: State, command: Command<'_>) -> String {
    match apply(&header(state), command, NOW) {
        Ok(step) if step.header.state != state => format!("**{}**", step.header.state),
        Ok(step) if step.header == header(state) => "unchanged".into(),
        Ok(_) => format!("{state}, marked"),
        Err(Refusal::StaleFence { .. }) => "stale".into(),
        Err(_) => "–".into(),
    }
}

fn main() {
    let retry = Retry::default();
    let failed = |class| Command::Fail { fence: 1, class, retry: &retry };
    let commands = [
        ("claim", Command::Claim { version: 4, session: SESSION }),
        ("claim, old ticket", Command::Claim { version: 3, session: SESSION }),
        ("complete", Command::Complete { fence: 1 }),
        ("complete, old fence", Command::Complete { fence: 0 }),
        ("fail", failed(Class::Retry)),
        ("fail, never again", failed(Class::Never)),
        ("snooze", Command::Snooze { fence: 1, span: Duration::from_secs(60) }),
        ("stop, cancelled", Command::Stop { fence: 1, dead: false }),
        ("stop, dead", Command::Stop { fence: 1, dead: true }),
        ("release (shutdown)", Command::Release { fence: 1 }),
        ("rescue", Command::Rescue { session: SESSION, limit: 3 }),
        ("rescue, limit reached", Command::Rescue { session: SESSION, limit: 0 }),
        ("cancel", Command::Cancel),
        ("ripen (due)", Command::Ripen),
        ("promote", Command::Promote),
        ("hold (lane paused)", Command::Hold),
        ("expedite (retry now)", Command::Expedite),
        ("replay", Command::Replay { waits: false }),
        ("replay into a busy lane", Command::Replay { waits: true }),
        ("touch (step, progress)", Command::Touch { fence: 1 }),
    ];
    let states: Vec<String> = State::ALL.iter().map(|state| format!("`{state}`")).collect();
    println!("| command | {} |", states.join(" | "));
    println!("|---|{}", "---|".repeat(states.len()));
    for (name, command) in commands {
        let row: Vec<String> = State::ALL.iter().map(|state| answer(*state, command)).collect();
        println!("| {name} | {} |", row.join(" | "));
    }
}
