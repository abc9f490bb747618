//! Strategies: which tile a team works on, and which tile takes a drop.
//!
//! A strategy ranks the open tiles, once after each change of the board; the simulation takes the best-ranked tile that
//! a player can work on, or that accepts the drop. It has no memory, so nothing of one event can reach another.
//! A new strategy is a file beside these and a line in [`all`].

mod balanced;
mod combo_unlocking;
mod greedy;
mod row_unlocking;

use std::fmt::Debug;

use crate::board::Board;
use crate::limits::TILES;
use crate::scenario::{Choice, Decimal};

/// Ranks tiles. It sees the board of its own team and nothing else.
pub(crate) trait Strategy: Debug + Send + Sync {
    /// Gives each open tile its ranks.
    fn rank(&self, board: &Board<'_>, ranks: &mut Ranks);
}

/// The ranks of open tiles; the least is the best. Those of other tiles mean nothing.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// For players who look for work.
    pub(crate) work: Vec<u64>,
    /// For drops that look for a tile.
    pub(crate) grants: Vec<u64>,
}

impl Default for Ranks {
    fn default() -> Ranks {
        Ranks { work: vec![0; TILES], grants: vec![0; TILES] }
    }
}

/// A strategy that teams can choose.
#[derive(Debug)]
pub struct StrategyKind {
    /// Its name in a scenario file.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [StrategyParam],
    make: fn(&Choice) -> Box<dyn Strategy>,
}

/// A parameter of a strategy.
#[derive(Debug)]
pub struct StrategyParam {
    /// Its name in a scenario file.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    pub(crate) setting: Setting,
}

/// What a parameter may be, and what it is if it is not given.
#[derive(Debug)]
pub(crate) enum Setting {
    Whole {
        most: u64,
        default: u64,
    },
    Decimal {
        default: Decimal,
    },
    /// The first is the default.
    Word {
        words: &'static [&'static str],
    },
}

/// Every strategy that there is.
pub fn all() -> &'static [StrategyKind] {
    static ALL: [StrategyKind; 4] =
        [row_unlocking::KIND, greedy::KIND, combo_unlocking::KIND, balanced::KIND];
    &ALL
}

/// The strategy that a checked file names.
pub(crate) fn make(choice: &Choice) -> Box<dyn Strategy> {
    let kind = all().iter().find(|kind| kind.name == choice.name).unwrap_or(&all()[0]);
    (kind.make)(choice)
}

/// A rank by three things, the first of which counts most; ties go to the tile that stands first in the file.
pub(crate) fn rank_of(first: u32, second: u32, tile: usize) -> u64 {
    u64::from(first.min((1 << 24) - 1)) << 40 | u64::from(second) << 8 | tile as u64
}

/// A rank by one large value, most first; ties as in [`rank_of`].
pub(crate) fn rank_by_value(value: u64, tile: usize) -> u64 {
    let most = (1 << 56) - 1;
    (most - value.min(most)) << 8 | tile as u64
}
