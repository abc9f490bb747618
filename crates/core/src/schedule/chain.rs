//! Lists of small numbers that join, leave and rotate in constant time, without allocating.
//!
//! The links live beside the things that are linked, so a thing is in at most one chain per [`Chains`].

use crate::priority::Priority;

/// No index: the end of a chain, or a thing that a line does not have.
pub(super) const NONE: u32 = u32::MAX;

/// The two ends of one list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { first: NONE, last: NONE, len: 0 }
    }
}

impl Chain {
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The links of many lists over the same things.
#[derive(Debug, Default)]
pub(super) struct Chains {
    links: Vec<Link>,
}

impl Chains {
    pub(super) fn push_back(&mut self, chain: &mut Chain, item: u32) {
        let place = item as usize;
        if place >= self.links.len() {
            self.links.resize(place + 1, Link { before: NONE, after: NONE });
        }
        self.links[place] = Link { before: chain.last, after: NONE };
        match chain.last {
            NONE => chain.first = item,
            last => self.links[last as usize].after = item,
        }
        chain.last = item;
        chain.len += 1;
    }

    pub(super) fn remove(&mut self, chain: &mut Chain, item: u32) {
        let Link { before, after } = self.links[item as usize];
        match before {
            NONE => chain.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => chain.last = before,
            after => self.links[after as usize].before = before,
        }
        chain.len -= 1;
    }

    pub(super) fn pop_front(&mut self, chain: &mut Chain) -> Option<u32> {
        let first = chain.first()?;
        self.remove(chain, first);
        Some(first)
    }

    pub(super) fn push_front(&mut self, chain: &mut Chain, item: u32) {
        self.push_back(chain, item);
        if chain.len > 1 {
            self.remove(chain, item);
            self.links[item as usize] = Link { before: NONE, after: chain.first };
            self.links[chain.first as usize].before = item;
            chain.first = item;
            chain.len += 1;
        }
    }

    /// The first becomes the last.
    pub(super) fn rotate(&mut self, chain: &mut Chain) {
        if chain.len > 1
            && let Some(first) = self.pop_front(chain)
        {
            self.push_back(chain, first);
        }
    }
}

const LEVELS: usize = Priority::MAX.level() as usize + 1;

/// A list for each priority; the first of the highest is the first of all.
#[derive(Debug, Default)]
pub(super) struct Levels {
    chains: [Chain; LEVELS],
    /// Which of them have any, a bit each.
    occupied: u16,
}

impl Levels {
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    pub(super) fn first(&self) -> Option<u32> {
        let highest = self.occupied.checked_ilog2()?;
        self.chains[highest as usize].first()
    }

    pub(super) fn push_back(&mut self, links: &mut Chains, level: u8, item: u32) {
        links.push_back(&mut self.chains[usize::from(level)], item);
        self.occupied |= 1 << level;
    }

    pub(super) fn push_front(&mut self, links: &mut Chains, level: u8, item: u32) {
        links.push_front(&mut self.chains[usize::from(level)], item);
        self.occupied |= 1 << level;
    }

    pub(super) fn remove(&mut self, links: &mut Chains, level: u8, item: u32) {
        let chain = &mut self.chains[usize::from(level)];
        links.remove(chain, item);
        if chain.is_empty() {
            self.occupied &= !(1 << level);
        }
    }

    /// Removes the first of all.
    pub(super) fn pop(&mut self, links: &mut Chains) -> Option<u32> {
        let first = self.first()?;
        self.remove(links, self.occupied.ilog2() as u8, first);
        Some(first)
    }

    /// The first of a level becomes its last.
    pub(super) fn rotate(&mut self, links: &mut Chains, level: u8) {
        links.rotate(&mut self.chains[usize::from(level)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chains: &mut Chains, chain: &mut Chain) -> Vec<u32> {
        std::iter::from_fn(|| chains.pop_front(chain)).collect()
    }

    #[test]
    fn join_leave_rotate() {
        let (mut chains, mut one, mut two) = (Chains::default(), Chain::default(), Chain::default());
        for item in [4, 2, 7] {
            chains.push_back(&mut one, item);
        }
        chains.push_back(&mut two, 0);
        chains.rotate(&mut one);
        chains.rotate(&mut two);
        chains.remove(&mut one, 7);
        assert_eq!((one.len(), one.first()), (2, Some(2)));
        assert_eq!(all(&mut chains, &mut one), [2, 4]);
        assert_eq!(all(&mut chains, &mut two), [0]);
        assert!(one.is_empty() && one.first().is_none());
        chains.push_front(&mut one, 3);
        chains.push_front(&mut one, 1);
        chains.push_back(&mut one, 5);
        assert_eq!(all(&mut chains, &mut one), [1, 3, 5]);
    }

    #[test]
    fn the_highest_level_first() {
        let (mut chains, mut levels) = (Chains::default(), Levels::default());
        levels.push_back(&mut chains, 0, 10);
        levels.push_back(&mut chains, 9, 11);
        levels.push_front(&mut chains, 9, 12);
        assert_eq!(levels.first(), Some(12));
        levels.rotate(&mut chains, 9);
        assert_eq!(levels.first(), Some(11));
        levels.remove(&mut chains, 9, 11);
        levels.remove(&mut chains, 9, 12);
        assert_eq!(levels.first(), Some(10));
        levels.remove(&mut chains, 0, 10);
        assert!(levels.is_empty() && levels.first().is_none());
    }
}
