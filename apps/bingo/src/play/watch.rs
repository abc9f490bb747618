//! Looking on while a run is played.

/// Sees what happens to one team.
pub(crate) trait Watch {
    fn see(&mut self, second: u64, sight: Sight);
}

/// What there is to see. Players, rules, drops, tiles and rows are numbers; members are bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    Online {
        player: usize,
    },
    Offline {
        player: usize,
    },
    Begun {
        members: u64,
        rule: usize,
        ends: u64,
    },
    Ended {
        members: u64,
        rule: usize,
    },
    /// Units of a drop, and the tile that took them, if one did.
    Drop {
        player: usize,
        drop: usize,
        units: u32,
        tile: Option<usize>,
    },
    Tile {
        tile: usize,
    },
    Row {
        row: usize,
    },
}

/// Nobody looks on, and it costs nothing.
pub(crate) struct Nobody;

impl Watch for Nobody {
    #[inline]
    fn see(&mut self, _second: u64, _sight: Sight) {}
}
