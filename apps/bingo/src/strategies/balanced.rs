//! Points and progress weighed against each other, for each second that a tile is likely to take.

use super::{Ranks, Setting, Strategy, StrategyKind, StrategyParam, rank_by_value};
use crate::board::Board;
use crate::limits::TILES_PER_ROW;
use crate::scenario::{Choice, Decimal};

pub(super) const KIND: StrategyKind = StrategyKind {
    name: "Balanced",
    about: "Takes the tile with the greatest worth for its time: its points, and what they do to open the next row.",
    params: &[
        StrategyParam {
            name: "points",
            about: "What a point is worth.",
            setting: Setting::Decimal { default: Decimal::ONE },
        },
        StrategyParam {
            name: "unlock",
            about: "What a point is worth in addition while the next row needs it.",
            setting: Setting::Decimal { default: Decimal::ONE },
        },
    ],
    make,
};

#[derive(Debug)]
struct Balanced {
    points: u64,
    unlock: u64,
}

fn make(choice: &Choice) -> Box<dyn Strategy> {
    Box::new(Balanced { points: choice.decimal("points").0, unlock: choice.decimal("unlock").0 })
}

impl Strategy for Balanced {
    fn rank(&self, board: &Board<'_>, ranks: &mut Ranks) {
        let furthest = board.furthest_row();
        let missing = if board.has_locked_row() {
            board.threshold().saturating_sub(board.row_points(furthest))
        } else {
            0
        };
        for tile in board.open().iter() {
            let plan = board.tile(tile);
            let useful = if tile / TILES_PER_ROW == furthest { plan.points.min(missing) } else { 0 };
            // At most 8 · 10⁹, 33 bits.
            let worth = self.points * u64::from(plan.points) + self.unlock * u64::from(useful);
            let rank = rank_by_value((worth << 22) / u64::from(plan.estimate), tile);
            ranks.work[tile] = rank;
            ranks.grants[tile] = rank;
        }
    }
}
