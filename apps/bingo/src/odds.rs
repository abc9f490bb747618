//! Weighted choice by one 64-bit number, from exact fractions.
//!
//! Weights are brought to their common denominator, so they are whole numbers of at most 128 bits; each boundary between
//! two outcomes is then the exact fraction times 2⁶⁴, rounded down. No outcome is more than 2⁻⁶⁴ away from its true
//! odds, and the last one takes whatever is left.

use crate::limits::COMMON_DENOMINATOR;
use crate::scenario::{Decimal, Weight};

/// The boundaries between outcomes: a number below the first means the first outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odds {
    boundaries: Vec<u64>,
}

impl Odds {
    /// Odds of weights with their multipliers. The weights have passed the check of the scenario.
    pub(crate) fn new(weights: &[(Weight, Decimal)]) -> Odds {
        let common = common_denominator(weights.iter().map(|(weight, _)| *weight)).unwrap_or(1);
        let parts: Vec<u128> = weights
            .iter()
            .map(|(weight, multiplier)| {
                let whole = u128::from(weight.numerator) * u128::from(common / weight.denominator);
                whole * u128::from(multiplier.0)
            })
            .collect();
        let total: u128 = parts.iter().sum();
        let mut below = 0;
        let mut boundaries = Vec::with_capacity(parts.len());
        for part in &parts[..parts.len().saturating_sub(1)] {
            below += part;
            boundaries.push(fraction(below, total));
        }
        Odds { boundaries }
    }

    /// The outcome that a number means.
    #[inline]
    pub(crate) fn pick(&self, number: u64) -> usize {
        self.boundaries.iter().position(|boundary| number < *boundary).unwrap_or(self.boundaries.len())
    }

    /// How many of 2⁶⁴ numbers mean this outcome or one before it; all of them is `u64::MAX`.
    pub(crate) fn up_to(&self, outcome: usize) -> u64 {
        self.boundaries.get(outcome).copied().unwrap_or(u64::MAX)
    }

    /// How many of 2⁶⁴ numbers mean this outcome, to one.
    pub(crate) fn share(&self, outcome: usize) -> u64 {
        let before = if outcome == 0 { 0 } else { self.up_to(outcome - 1) };
        self.up_to(outcome) - before
    }
}

/// The least common denominator, unless it is beyond the limit.
pub(crate) fn common_denominator(weights: impl Iterator<Item = Weight>) -> Option<u64> {
    let mut common: u64 = 1;
    for weight in weights {
        let step = weight.denominator / greatest_common_divisor(common, weight.denominator);
        common = common.checked_mul(step).filter(|common| *common <= COMMON_DENOMINATOR)?;
    }
    Some(common)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// ⌊part · 2⁶⁴ / total⌋ for part < total < 2¹²⁷, digit by digit, because the product has more than 128 bits.
fn fraction(part: u128, total: u128) -> u64 {
    let mut rest = part;
    let mut digits = 0;
    for _ in 0..64 {
        rest <<= 1;
        digits <<= 1;
        if rest >= total {
            rest -= total;
            digits |= 1;
        }
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odds(weights: &[(u64, u64)]) -> Odds {
        let weights = weights.iter().map(|&(numerator, denominator)| Weight { numerator, denominator });
        Odds::new(&weights.map(|weight| (weight, Decimal::ONE)).collect::<Vec<_>>())
    }

    #[test]
    fn boundaries_are_exact() {
        assert_eq!(odds(&[(1, 4), (3, 4)]).boundaries, [1 << 62]);
        assert_eq!(odds(&[(3, 1), (1, 1)]).boundaries, [3 << 62]);
        assert_eq!(odds(&[(1, 3), (1, 3), (1, 3)]).boundaries, [u64::MAX / 3, u64::MAX / 3 * 2]);
        assert_eq!(odds(&[(1, 1)]).boundaries, [0; 0]);
        let extreme = odds(&[(1, 1_000_000_000), (1_000_000_000, 1)]);
        assert_eq!(extreme.boundaries, [18], "10⁻¹⁸ of 2⁶⁴ is 18.4");
    }

    #[test]
    fn a_number_on_the_boundary_belongs_to_the_next() {
        let odds = odds(&[(1, 4), (1, 4), (1, 2)]);
        let picked = [0, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX].map(|x| odds.pick(x));
        assert_eq!(picked, [0, 0, 1, 1, 2, 2]);
        assert_eq!([0, 1, 2].map(|outcome| odds.share(outcome) >> 61), [2, 2, 3]);
    }

    #[test]
    fn denominators_beyond_the_limit_are_refused() {
        let weight = |denominator| Weight { numerator: 1, denominator };
        assert_eq!(common_denominator([weight(4), weight(6)].into_iter()), Some(12));
        let primes = [999_999_937, 999_999_929].map(weight);
        assert_eq!(common_denominator(primes.into_iter()), None);
    }
}
