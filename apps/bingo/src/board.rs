//! The board of one team in one run: what is open, what is done, and how rows unlock.

use crate::limits::TILES_PER_ROW;
use crate::tiles::TileSet;

/// What never changes about the board of an event.
#[derive(Clone, Debug)]
pub(crate) struct BoardPlan {
    pub(crate) tiles: Vec<TilePlan>,
    pub(crate) rows: usize,
    /// Points on a row that unlock the next.
    pub(crate) threshold: u32,
}

/// What never changes about a tile.
#[derive(Clone, Debug)]
pub(crate) struct TilePlan {
    pub(crate) points: u32,
    pub(crate) required: u32,
    /// Seconds that it is likely to take one player without special skills; at least 1.
    pub(crate) estimate: u32,
    /// The other tiles that one can work on by the same activity.
    pub(crate) shares: TileSet,
}

/// What changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoardState {
    missing: Vec<u32>,
    open: TileSet,
    row_points: Vec<u32>,
    unlocked: usize,
    pub(crate) points: u32,
    pub(crate) done: u32,
}

impl BoardState {
    /// As it is before the start: nothing done, nothing unlocked.
    pub(crate) fn reset(&mut self, plan: &BoardPlan) {
        self.missing.clear();
        self.missing.extend(plan.tiles.iter().map(|tile| tile.required));
        self.row_points.clear();
        self.row_points.resize(plan.rows, 0);
        self.open = TileSet::default();
        self.unlocked = 0;
        self.points = 0;
        self.done = 0;
    }

    /// Unlocks the next row if it is time, and says which.
    pub(crate) fn unlock(&mut self, plan: &BoardPlan) -> Option<usize> {
        let row = self.unlocked;
        if row == plan.rows || (row > 0 && self.row_points[row - 1] < plan.threshold) {
            return None;
        }
        for tile in row * TILES_PER_ROW..(row + 1) * TILES_PER_ROW {
            self.open.insert(tile);
        }
        self.unlocked += 1;
        Some(row)
    }

    /// Adds units to an open tile, and says how many were left over and whether the tile is complete now.
    #[inline]
    pub(crate) fn add(&mut self, plan: &BoardPlan, tile: usize, units: u32) -> (u32, bool) {
        let missing = self.missing[tile];
        if units < missing {
            self.missing[tile] = missing - units;
            return (0, false);
        }
        self.complete(plan, tile);
        (units - missing, true)
    }

    fn complete(&mut self, plan: &BoardPlan, tile: usize) {
        self.missing[tile] = 0;
        self.open.remove(tile);
        self.points += plan.tiles[tile].points;
        self.row_points[tile / TILES_PER_ROW] += plan.tiles[tile].points;
        self.done += 1;
    }

    pub(crate) fn open(&self) -> &TileSet {
        &self.open
    }

    /// Units that a tile still needs.
    pub(crate) fn missing(&self, tile: usize) -> u32 {
        self.missing[tile]
    }

    pub(crate) fn is_complete(&self, plan: &BoardPlan) -> bool {
        self.done as usize == plan.tiles.len()
    }

    pub(crate) fn unlocked(&self) -> usize {
        self.unlocked
    }
}

/// A board as strategies see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board<'a> {
    pub(crate) plan: &'a BoardPlan,
    pub(crate) state: &'a BoardState,
}

impl Board<'_> {
    /// Tiles of unlocked rows that are not complete.
    pub(crate) fn open(&self) -> &TileSet {
        &self.state.open
    }

    /// Tiles of locked rows.
    pub(crate) fn locked(&self) -> TileSet {
        let mut locked = TileSet::default();
        for tile in self.state.unlocked * TILES_PER_ROW..self.plan.tiles.len() {
            locked.insert(tile);
        }
        locked
    }

    pub(crate) fn has_locked_row(&self) -> bool {
        self.state.unlocked < self.plan.rows
    }

    /// The last row that is unlocked.
    pub(crate) fn furthest_row(&self) -> usize {
        self.state.unlocked.saturating_sub(1)
    }

    pub(crate) fn threshold(&self) -> u32 {
        self.plan.threshold
    }

    /// Points of the complete tiles of a row.
    pub(crate) fn row_points(&self, row: usize) -> u32 {
        self.state.row_points[row]
    }

    pub(crate) fn tile(&self, tile: usize) -> &TilePlan {
        &self.plan.tiles[tile]
    }
}
