//! Lists of small numbers that join, leave and rotate in constant time, without allocating.
//!
//! The links live beside the things that are linked, so a thing is in at most one chain per [`Chains`].

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

    /// The first becomes the last.
    pub(super) fn rotate(&mut self, chain: &mut Chain) {
        if chain.len > 1
            && let Some(first) = self.pop_front(chain)
        {
            self.push_back(chain, first);
        }
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
    }
}
