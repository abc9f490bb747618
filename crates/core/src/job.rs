//! A job's header: the small part that changes. The payload never does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{JobId, LaneId, LineId, SessionId};
use crate::time::Time;

/// Where a job is in its life. The numbers are what stores keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum State {
    /// Not its turn yet: behind another job of its lane, or a continuation that is not released.
    Waiting = 0,
    /// Due later.
    Scheduled = 1,
    /// May start now.
    Ready = 2,
    /// Claimed by a worker.
    Running = 3,
    /// Failed, and due again later.
    Retrying = 4,
    /// Ended well.
    Done = 5,
    /// Failed for good; kept as a dead letter.
    Dead = 6,
    /// Ended because somebody asked for it.
    Cancelled = 7,
}

impl State {
    /// Every state, in the order of their numbers.
    pub const ALL: [State; 8] = [
        State::Waiting,
        State::Scheduled,
        State::Ready,
        State::Running,
        State::Retrying,
        State::Done,
        State::Dead,
        State::Cancelled,
    ];

    /// The state with this number.
    pub fn from_number(number: u8) -> Option<State> {
        State::ALL.get(usize::from(number)).copied()
    }

    /// Whether a job in this state has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, State::Done | State::Dead | State::Cancelled)
    }

    /// The word that people see.
    pub const fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Scheduled => "scheduled",
            State::Ready => "ready",
            State::Running => "running",
            State::Retrying => "retrying",
            State::Done => "done",
            State::Dead => "dead",
            State::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl std::str::FromStr for State {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        State::ALL.into_iter().find(|state| state.word() == word).ok_or_else(|| {
            let known: Vec<&str> = State::ALL.iter().map(|state| state.word()).collect();
            format!("`{word}` is not a state: use one of {}", known.join(", "))
        })
    }
}

/// A place in a lane. Position 0 means: it will join the lane when it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The lane.
    pub lane: LaneId,
    /// Counted from 1, in commit order.
    pub position: u64,
}

/// Facts about a job that are either so or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// Somebody asked for the running handler to stop.
    pub cancel: bool,
    /// Its batch has counted its end; it is never counted again.
    pub counted: bool,
    /// It is the continuation of a batch.
    pub continuation: bool,
    /// It has finished steps that a retry resumes after.
    pub steps: bool,
    /// It has a history of errors.
    pub errors: bool,
    /// It has a unique key that ends with it.
    pub unique: bool,
}

impl Flags {
    /// As one number, for stores.
    pub fn to_bits(self) -> u8 {
        [self.cancel, self.counted, self.continuation, self.steps, self.errors, self.unique]
            .into_iter()
            .enumerate()
            .fold(0, |bits, (place, set)| bits | (u8::from(set) << place))
    }

    /// From that number.
    pub fn from_bits(bits: u8) -> Self {
        let bit = |place: u8| bits >> place & 1 == 1;
        Flags {
            cancel: bit(0),
            counted: bit(1),
            continuation: bit(2),
            steps: bit(3),
            errors: bit(4),
            unique: bit(5),
        }
    }
}

/// The part of a job that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Which job.
    pub id: JobId,
    /// Counts the changes of this header. A ticket names it, so an old ticket is recognised.
    pub version: u32,
    /// Where it is in its life.
    pub state: State,
    /// Which jobs it is equally eligible with.
    pub line: LineId,
    /// Its place in a lane, if it has one.
    pub place: Option<Place>,
    /// The attempt that runs or ran last, from 1; 0 before the first.
    pub attempt: u16,
    /// How many attempts it may have.
    pub attempts: u16,
    /// How often it was taken from a dead worker.
    pub rescues: u16,
    /// Grows with each claim. What an older fence writes is refused.
    pub fence: u32,
    /// Who runs it.
    pub session: Option<SessionId>,
    /// When it was accepted.
    pub submitted: Time,
    /// `waiting`, `scheduled`, `retrying`: when it is due; otherwise since when it is in this state.
    pub at: Time,
    /// Facts that are so or not.
    pub flags: Flags,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_go_both_ways() {
        for state in State::ALL {
            assert_eq!(State::from_number(state as u8), Some(state));
            assert_eq!(state.word().parse(), Ok(state));
        }
        assert_eq!(State::from_number(8), None);
        assert!("alive".parse::<State>().unwrap_err().contains("waiting, scheduled"));
    }

    #[test]
    fn flags_go_both_ways() {
        for bits in 0..64 {
            assert_eq!(Flags::from_bits(bits).to_bits(), bits);
        }
    }
}
