//! How runs are divided. Only the time that a batch takes depends on it, never a digit of its results.

use std::ops::Range;
use std::time::Duration;

use super::limits::{RANGE_RUNS, RANGE_TIME, RANGES};

/// How many runs a range has, if one run takes so long and leaves so many bytes.
pub(crate) fn size(runs: u64, run: Duration, most_bytes: usize, bytes_per_run: usize) -> u64 {
    let by_time = RANGE_TIME.as_nanos() / run.as_nanos().max(1);
    let by_time = u64::try_from(by_time).unwrap_or(u64::MAX);
    let by_bytes = (most_bytes / bytes_per_run.max(1)) as u64;
    // A batch of very many runs has longer ranges instead of more of them.
    by_time.max(runs.div_ceil(RANGES)).min(by_bytes).clamp(1, RANGE_RUNS)
}

/// Ranges of this many runs each, the last of what is left.
pub(crate) fn ranges(runs: u64, size: u64) -> impl Iterator<Item = Range<u64>> {
    (0..runs.div_ceil(size)).map(move |index| index * size..((index + 1) * size).min(runs))
}

/// Two halves of a range that has at least two runs.
pub(crate) fn halves(range: &Range<u64>) -> [Range<u64>; 2] {
    let middle = range.start + (range.end - range.start) / 2;
    [range.start..middle, middle..range.end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_range() {
        for (runs, size) in [(1, 1), (1, 10), (10, 10), (11, 10), (99, 7)] {
            let ranges: Vec<_> = ranges(runs, size).collect();
            assert!(ranges.iter().all(|range| !range.is_empty() && range.end - range.start <= size));
            let all: Vec<u64> = ranges.into_iter().flatten().collect();
            assert_eq!(all, (0..runs).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_range_takes_its_time_and_fits_into_a_result() {
        let micros = Duration::from_micros;
        assert_eq!(size(1_000_000, micros(10), 1 << 20, 8), 10_000);
        assert_eq!(size(RANGES, Duration::from_secs(1), 1 << 20, 8), 1, "one run is the least");
        assert_eq!(size(1_000_000, micros(1), 1 << 10, 8), 128, "what it leaves must fit");
        assert_eq!(size(90_000_000, micros(100), 1 << 20, 8), 10_000, "no more ranges than a job may submit");
        assert_eq!(size(10, Duration::ZERO, 1 << 20, 1), RANGE_RUNS);
    }

    #[test]
    fn halves_are_the_whole() {
        assert_eq!(halves(&(5..7)), [5..6, 6..7]);
        assert_eq!(halves(&(0..9)), [0..4, 4..9]);
    }
}
