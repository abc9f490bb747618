//! Chance from a seed: the same seed, the same life.

/// Spreads neighbouring seeds over all 64 bits (SplitMix64).
pub fn spread(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A stream of numbers (xoshiro256**).
#[derive(Clone, Debug)]
pub struct Chance([u64; 4]);

impl Chance {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = spread(state);
            state
        };
        Chance([next(), next(), next(), next()])
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let drawn = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        drawn
    }

    /// A number below this; 0 if there is none.
    pub fn below(&mut self, most: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(most)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something happens that happens so many times in a million.
    pub fn happens(&mut self, in_a_million: u32) -> bool {
        in_a_million > 0 && self.below(1_000_000) < u64::from(in_a_million)
    }

    /// Whether something happens that happens so many times in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.happens(percent * 10_000)
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        if among.is_empty() { None } else { among.get(self.below(among.len() as u64) as usize) }
    }

    /// Mostly short, sometimes long: a number up to `most`, small ones likelier.
    pub fn skewed(&mut self, most: u64) -> u64 {
        let ceiling = self.between(1, most.max(1));
        let ceiling = self.between(1, ceiling);
        self.below(ceiling + 1)
    }
}
