//! The next row first: on the furthest row, the tiles that reach the threshold in the least time.

use super::{Ranks, Setting, Strategy, StrategyKind, StrategyParam, rank_of};
use crate::board::Board;
use crate::limits::{ROW_POINTS, ROWS, TILES_PER_ROW};
use crate::scenario::Choice;

pub(super) const KIND: StrategyKind = StrategyKind {
    name: "RowUnlocking",
    about: "Works on the tiles of the furthest row that open the next row soonest, then on the others there, then elsewhere.",
    params: &[StrategyParam {
        name: "threshold_slack",
        about: "Points beyond the threshold that it wants to have on a row before it is content.",
        setting: Setting::Whole { most: ROW_POINTS as u64, default: 0 },
    }],
    make,
};

#[derive(Debug)]
struct RowUnlocking {
    slack: u32,
}

fn make(choice: &Choice) -> Box<dyn Strategy> {
    Box::new(RowUnlocking { slack: choice.whole("threshold_slack") as u32 })
}

impl Strategy for RowUnlocking {
    fn rank(&self, board: &Board<'_>, ranks: &mut Ranks) {
        let chosen = cheapest_way_on(board, self.slack, |tile| u64::from(board.tile(tile).estimate));
        rank_by_row(board, chosen, ranks);
    }
}

/// Of the open tiles of the furthest row, those that together reach the threshold at the least cost, as bits by their place
/// in the row. None if no row is left to open, or if the threshold is reached.
pub(super) fn cheapest_way_on(board: &Board<'_>, slack: u32, cost: impl Fn(usize) -> u64) -> u32 {
    if !board.has_locked_row() {
        return 0;
    }
    let row = board.furthest_row();
    let goal = (board.threshold() + slack).min(ROW_POINTS).saturating_sub(board.row_points(row));
    let first = row * TILES_PER_ROW;
    let mut tiles = [None; TILES_PER_ROW];
    for (place, slot) in tiles.iter_mut().enumerate() {
        if board.open().contains(first + place) {
            *slot = Some((board.tile(first + place).points, cost(first + place)));
        }
    }
    let mut best = (u64::MAX, 0);
    for set in 0..1_u32 << TILES_PER_ROW {
        let mut points = 0;
        let mut total = 0_u64;
        let mut whole = true;
        for (place, tile) in tiles.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1) {
            debug_assert!(place < TILES_PER_ROW);
            match tile {
                Some((tile_points, tile_cost)) => {
                    points += tile_points;
                    total = total.saturating_add(*tile_cost);
                }
                None => whole = false,
            }
        }
        if whole && points >= goal && total < best.0 {
            best = (total, set);
        }
    }
    best.1
}

/// The chosen tiles of the furthest row, then its other tiles, then all others; always by points. Drops go to the furthest
/// row, then elsewhere, by points.
pub(super) fn rank_by_row(board: &Board<'_>, chosen: u32, ranks: &mut Ranks) {
    let furthest = board.furthest_row();
    for tile in board.open().iter() {
        let (row, place) = (tile / TILES_PER_ROW, tile % TILES_PER_ROW);
        let behind = 4 - board.tile(tile).points;
        let (work, grants) = if row == furthest {
            let tier = if chosen >> place & 1 == 1 { 0 } else { 1 };
            (tier * 1_000 + behind, behind)
        } else {
            let rows = ROWS as u32;
            let row = row as u32;
            (2_000 + behind * rows + (rows - 1 - row), 2_000 + behind * rows + row)
        };
        ranks.work[tile] = rank_of(work, 0, tile);
        ranks.grants[tile] = rank_of(grants, 0, tile);
    }
}
