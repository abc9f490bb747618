//! Whole numbers that are few and small, counted one by one: nothing is rounded until it is shown.

use serde::{Deserialize, Serialize};

use super::summary::{Figures, Interval};

/// How often each number has come, from 0 up to a known greatest one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts(Vec<u64>);

/// Of a standard normal distribution, 95 % lie within this many standard deviations.
pub(super) const WITHIN_95: f64 = 1.959_963_984_540_054;

impl Counts {
    pub(super) fn up_to(most: usize) -> Counts {
        Counts(vec![0; most + 1])
    }

    #[inline]
    pub(super) fn add(&mut self, value: u32) {
        if let Some(count) = self.0.get_mut(value as usize) {
            *count += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count += more;
        }
    }

    /// The numbers that have come, with how often.
    pub(super) fn histogram(&self) -> Vec<(u32, u64)> {
        (0..).zip(&self.0).filter(|(_, count)| **count > 0).map(|(value, count)| (value, *count)).collect()
    }

    /// The least number that at least this share of all are not above: the nearest rank.
    fn percentile(&self, percent: u64, all: u64) -> u32 {
        let rank = nearest_rank(percent, all);
        let mut seen = 0;
        for (value, count) in (0..).zip(&self.0) {
            seen += count;
            if seen >= rank {
                return value;
            }
        }
        0
    }

    /// Nothing if nothing was counted.
    pub(super) fn figures(&self) -> Option<Figures> {
        let present = self.histogram();
        let (&(min, _), &(max, _)) = present.first().zip(present.last())?;
        let all: u64 = present.iter().map(|(_, count)| count).sum();
        let sum: u128 = present.iter().map(|(value, count)| u128::from(*value) * u128::from(*count)).sum();
        let squares = present.iter().map(|(value, count)| u128::from(*value).pow(2) * u128::from(*count));
        let mean = sum as f64 / all as f64;
        // n·Σv² − (Σv)² over n·(n − 1), whole until the division.
        let n = u128::from(all);
        let spread = (n * squares.sum::<u128>()).saturating_sub(sum * sum);
        let sd = if all < 2 { 0.0 } else { (spread as f64 / (n * (n - 1)) as f64).sqrt() };
        let margin = WITHIN_95 * sd / (all as f64).sqrt();
        let percentile = |percent| self.percentile(percent, all);
        Some(Figures {
            mean,
            sd,
            min,
            max,
            p5: percentile(5),
            p25: percentile(25),
            p50: percentile(50),
            p75: percentile(75),
            p95: percentile(95),
            ci95: (all > 1).then_some(Interval { low: mean - margin, high: mean + margin }),
        })
    }
}

pub(super) fn nearest_rank(percent: u64, all: u64) -> u64 {
    let rank = (u128::from(percent) * u128::from(all)).div_ceil(100);
    (rank as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_textbook() {
        let mut counts = Counts::up_to(10);
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            counts.add(value);
        }
        let figures = counts.figures().unwrap();
        assert_eq!((figures.mean, figures.min, figures.max), (5.0, 2, 9));
        assert_eq!(figures.sd, (32.0_f64 / 7.0).sqrt());
        assert_eq!([figures.p5, figures.p25, figures.p50, figures.p75, figures.p95], [2, 4, 4, 5, 9]);
        let margin = WITHIN_95 * (32.0_f64 / 7.0 / 8.0).sqrt();
        assert!((figures.ci95.unwrap().high - 5.0 - margin).abs() < 1e-12);
        assert_eq!(counts.histogram(), [(2, 1), (4, 3), (5, 2), (7, 1), (9, 1)]);
    }

    #[test]
    fn nothing_counted_has_no_figures_and_one_number_no_interval() {
        let mut counts = Counts::up_to(3);
        assert_eq!(counts.figures(), None);
        counts.add(2);
        let figures = counts.figures().unwrap();
        assert_eq!((figures.mean, figures.p50, figures.ci95), (2.0, 2, None));
    }
}
