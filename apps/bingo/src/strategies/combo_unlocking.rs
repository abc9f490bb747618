//! Rows first, with an eye on activities that tiles share.

use super::row_unlocking::{cheapest_way_on, rank_by_row};
use super::{Ranks, Setting, Strategy, StrategyKind, StrategyParam, greedy, rank_of};
use crate::board::Board;
use crate::scenario::{Choice, Decimal, MILLION};

pub(super) const KIND: StrategyKind = StrategyKind {
    name: "ComboUnlocking",
    about: "Opens rows, and keeps tiles for later that share an activity with locked ones; when all rows are open, prefers tiles that share.",
    params: &[StrategyParam {
        name: "shared_weight",
        about: "How much each tile that shares an activity counts: for the time before all rows are open, in points afterwards.",
        setting: Setting::Decimal { default: Decimal::ONE },
    }],
    make,
};

#[derive(Debug)]
struct ComboUnlocking {
    shared_weight: u64,
}

fn make(choice: &Choice) -> Box<dyn Strategy> {
    Box::new(ComboUnlocking { shared_weight: choice.decimal("shared_weight").0 })
}

impl Strategy for ComboUnlocking {
    fn rank(&self, board: &Board<'_>, ranks: &mut Ranks) {
        if board.has_locked_row() {
            let chosen = cheapest_way_on(board, 0, |tile| {
                let plan = board.tile(tile);
                let shared = u64::from(plan.shares.and(&board.locked()).len());
                u64::from(plan.estimate).saturating_mul(MILLION + self.shared_weight * shared)
            });
            rank_by_row(board, chosen, ranks);
            return;
        }
        for tile in board.open().iter() {
            let plan = board.tile(tile);
            let others = u64::from(plan.shares.and(board.open()).len());
            // In hundredths of a point: three numbers have to fit into a rank.
            let value = u64::from(plan.points) * 100 + self.shared_weight * others / (MILLION / 100);
            let most = (1 << 24) - 1;
            ranks.work[tile] = rank_of(most - value.min(u64::from(most)) as u32, plan.estimate, tile);
            ranks.grants[tile] = greedy::points(board, tile);
        }
    }
}
