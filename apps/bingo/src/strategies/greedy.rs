//! Points now: the tile with the most points, or with the most points for its time.

use super::{Ranks, Setting, Strategy, StrategyKind, StrategyParam, rank_by_value, rank_of};
use crate::board::Board;
use crate::scenario::Choice;

pub(super) const KIND: StrategyKind = StrategyKind {
    name: "Greedy",
    about: "Takes the open tile with the most points; of equal ones the one that is likely done first.",
    params: &[StrategyParam {
        name: "prefer",
        about: "Whether points count alone, or for each second that the tile is likely to take.",
        setting: Setting::Word { words: &["points", "points_per_time"] },
    }],
    make,
};

#[derive(Debug)]
struct Greedy {
    per_time: bool,
}

fn make(choice: &Choice) -> Box<dyn Strategy> {
    Box::new(Greedy { per_time: choice.word("prefer") == "points_per_time" })
}

impl Strategy for Greedy {
    fn rank(&self, board: &Board<'_>, ranks: &mut Ranks) {
        for tile in board.open().iter() {
            let rank = if self.per_time { points_per_time(board, tile) } else { points(board, tile) };
            ranks.work[tile] = rank;
            ranks.grants[tile] = rank;
        }
    }
}

/// Most points first, then the shortest estimate.
pub(super) fn points(board: &Board<'_>, tile: usize) -> u64 {
    let plan = board.tile(tile);
    rank_of(4 - plan.points, plan.estimate, tile)
}

fn points_per_time(board: &Board<'_>, tile: usize) -> u64 {
    let plan = board.tile(tile);
    rank_by_value((u64::from(plan.points) << 48) / u64::from(plan.estimate), tile)
}
