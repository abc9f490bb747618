//! What changes during a run of one team. It is used again for the next team and the next run.

use super::stride::Striding;
use crate::board::BoardState;
use crate::luck::Stream;
use crate::strategies::Ranks;

/// Room for runs: make one for each thread and hand it to every run.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) state: State,
}

impl Scratch {
    /// Room that fits itself to whatever is run.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) board: BoardState,
    pub(super) ranks: Ranks,
    /// Whether the ranks are those of the board as it is.
    pub(super) ranked: bool,
    /// For each drop the tile that takes it, as long as the ranks hold.
    pub(super) targets: Vec<Target>,
    /// For each class the rule that it wants to work by.
    pub(super) wants: Vec<Option<usize>>,
    /// Rules that take a group which is not to be had at the moment.
    pub(super) excluded: Vec<bool>,
    /// For each player when he is next to be looked at, and his number: the least is next.
    pub(super) keys: Vec<u64>,
    pub(super) seats: Vec<Seat>,
    /// Who takes part in a stride, as they were before it.
    pub(super) striding: Vec<Striding>,
    /// Lets strides go too far, so that a test sees them taken back.
    pub(super) careless: bool,
    /// Players who are in a session, and players who are in an attempt, as bits.
    pub(super) online: u64,
    pub(super) busy: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    NotAsked,
    Nowhere,
    Tile(u16),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seat {
    pub(super) stream: Stream,
    /// Which of his hours are now or next, and when the ones that are now end.
    pub(super) session: usize,
    pub(super) ends: u64,
    /// What he leads.
    pub(super) work: Work,
    /// His stream and the time when he began to run ahead.
    pub(super) before: (Stream, u64),
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) rule: usize,
    pub(super) start: u64,
    /// What the draw of the time left for the first roll.
    pub(super) rest: u64,
    pub(super) members: u64,
    /// By which pace the player ran ahead to it, if he did.
    pub(super) pace: Option<u32>,
}

/// Nothing to look at.
pub(super) const NEVER: u64 = u64::MAX;

/// A player's number takes the last bits of a key.
pub(super) const PLAYER_BITS: u32 = 8;

pub(super) fn key(second: u64, player: usize) -> u64 {
    second << PLAYER_BITS | player as u64
}
