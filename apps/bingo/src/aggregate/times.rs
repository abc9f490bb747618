//! Seconds, counted in buckets whose width grows with the value: below 64 every second has its own, and from there each
//! doubling has 32. A percentile is the middle of its bucket, at most 1.6 % away from the truth.

use serde::{Deserialize, Serialize};

use super::counts::nearest_rank;
use super::summary::TimeFigures;

/// Times of something that may happen in a run. Only the buckets between the least and the greatest are kept, so the
/// same times make the same value, in whatever order they come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Times {
    count: u64,
    sum: u128,
    min: u32,
    max: u32,
    first: usize,
    buckets: Vec<u64>,
}

const EXACT: u32 = 64;
const PER_DOUBLING: usize = 32;
/// 32-bit seconds have no more buckets than this.
const BUCKETS: usize = EXACT as usize + 26 * PER_DOUBLING;

fn bucket(second: u32) -> usize {
    if second < EXACT {
        return second as usize;
    }
    let doubling = second.ilog2();
    let part = (second >> (doubling - 5)) as usize - PER_DOUBLING;
    EXACT as usize + (doubling as usize - 6) * PER_DOUBLING + part
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u32 {
    if bucket < EXACT as usize {
        return bucket as u32;
    }
    let above = bucket - EXACT as usize;
    let width = 1_u64 << (above / PER_DOUBLING + 1);
    let low = (PER_DOUBLING + above % PER_DOUBLING) as u64 * width;
    u32::try_from(low + width / 2).unwrap_or(u32::MAX)
}

impl Times {
    #[inline]
    pub(super) fn add(&mut self, second: u32) {
        let bucket = bucket(second);
        if self.count == 0 {
            (self.min, self.max) = (second, second);
        }
        self.reach(bucket, bucket);
        self.buckets[bucket - self.first] += 1;
        self.count += 1;
        self.sum += u128::from(second);
        self.min = self.min.min(second);
        self.max = self.max.max(second);
    }

    pub(super) fn merge(&mut self, other: &Times) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.reach(other.first, other.first + other.buckets.len() - 1);
        let offset = other.first - self.first;
        for (count, more) in self.buckets[offset..].iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Makes room for the buckets from one to another.
    #[inline]
    fn reach(&mut self, low: usize, high: usize) {
        debug_assert!(high < BUCKETS);
        if self.buckets.is_empty() {
            self.first = low;
        }
        if low < self.first {
            self.buckets.splice(0..0, std::iter::repeat_n(0, self.first - low));
            self.first = low;
        }
        if high - self.first >= self.buckets.len() {
            self.buckets.resize(high - self.first + 1, 0);
        }
    }

    fn percentile(&self, percent: u64) -> u32 {
        let rank = nearest_rank(percent, self.count);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(self.first + index).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Of so many runs.
    pub(super) fn figures(&self, runs: u64) -> TimeFigures {
        let share = (runs > 0).then(|| self.count as f64 / runs as f64);
        if self.count == 0 {
            return TimeFigures { share, ..TimeFigures::default() };
        }
        TimeFigures {
            share,
            mean: Some(self.sum as f64 / self.count as f64),
            min: Some(self.min),
            max: Some(self.max),
            p5: Some(self.percentile(5)),
            p25: Some(self.percentile(25)),
            p50: Some(self.percentile(50)),
            p75: Some(self.percentile(75)),
            p95: Some(self.percentile(95)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_their_middles_are_near() {
        let mut last = 0;
        for second in (0..200_000).chain([u32::MAX - 1, u32::MAX]) {
            let bucket = bucket(second);
            assert!(bucket >= last && bucket < BUCKETS, "{second}");
            assert!(bucket <= last + 1 || second > 200_000, "{second}");
            last = bucket;
            let error = (f64::from(middle(bucket)) - f64::from(second)).abs();
            assert!(error <= f64::from(second) * 0.016, "{second}: {}", middle(bucket));
        }
    }

    #[test]
    fn the_same_times_make_the_same_value_in_any_order() {
        let seconds = [5_000, 70, 3, 86_400, 70, 12, 900_000];
        let mut forward = Times::default();
        let mut backward = Times::default();
        seconds.iter().for_each(|second| forward.add(*second));
        seconds.iter().rev().for_each(|second| backward.add(*second));
        let (mut left, mut right) = (Times::default(), Times::default());
        seconds[..3].iter().for_each(|second| left.add(*second));
        seconds[3..].iter().for_each(|second| right.add(*second));
        right.merge(&left);
        right.merge(&Times::default());
        assert_eq!(forward, backward);
        assert_eq!(forward, right);
        let figures = forward.figures(14);
        assert_eq!(
            (figures.share, figures.min, figures.p50, figures.max),
            (Some(0.5), Some(3), Some(71), Some(900_000))
        );
    }
}
