//! A set of tiles.

use crate::limits::TILES;

const WORDS: usize = TILES / 64;

/// Tiles by their number on the board, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TileSet([u64; WORDS]);

impl TileSet {
    pub(crate) fn insert(&mut self, tile: usize) {
        self.0[tile / 64] |= 1 << (tile % 64);
    }

    pub(crate) fn remove(&mut self, tile: usize) {
        self.0[tile / 64] &= !(1 << (tile % 64));
    }

    pub(crate) fn contains(&self, tile: usize) -> bool {
        self.0[tile / 64] >> (tile % 64) & 1 == 1
    }

    pub(crate) fn and(&self, other: &TileSet) -> TileSet {
        TileSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The tiles, least first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| bits(*word).map(move |bit| index * 64 + bit))
    }
}

/// The numbers of the bits that are set, least first.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_tiles_in_order() {
        let mut set = TileSet::default();
        for tile in [255, 3, 64, 63] {
            set.insert(tile);
        }
        set.remove(63);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 255]);
        assert_eq!((set.len(), set.contains(64), set.contains(63)), (3, true, false));
        let mut other = TileSet::default();
        other.insert(255);
        assert_eq!(set.and(&other), other);
    }
}
