//! Rates: so many starts in so much time, counted by a bucket that refills.
//!
//! Everything is whole numbers, so that every node and every store reckons the same. A clock that steps back
//! refills nothing: the bucket waits until the clock has caught up with what was already counted.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::time::Time;

/// One token, in the unit that a bucket counts in.
const TOKEN: u64 = 1_000_000;

/// At most `count` starts per `per`, of which `burst` may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Tokens that come back in one `per`.
    pub count: u32,
    /// The time in which they come back.
    pub per: Duration,
    /// Tokens that a full bucket holds.
    pub burst: u32,
}

/// Why a rate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRate {
    /// A bucket that never fills.
    #[error("a rate of 0 would never start anything: use at least 1, or pause the kind instead")]
    NoCount,
    /// A bucket that holds nothing.
    #[error("a burst of 0 would never start anything: use at least 1")]
    NoBurst,
    /// Too short or too long a time.
    #[error("a rate per {0:?} cannot be kept: use a time between one microsecond and {max:?}", max = limits::DELAY)]
    Per(Duration),
}

impl Rate {
    /// So many per time, all of which may come at once after a pause.
    pub const fn new(count: u32, per: Duration) -> Self {
        Rate { count, per, burst: count }
    }

    /// So many a second.
    pub const fn per_second(count: u32) -> Self {
        Rate::new(count, Duration::from_secs(1))
    }

    /// The same rate with at most this many at once.
    #[must_use]
    pub const fn burst(self, burst: u32) -> Self {
        Rate { burst, ..self }
    }

    /// Whether the rate can be kept.
    pub fn validate(&self) -> Result<(), BadRate> {
        if self.count == 0 {
            return Err(BadRate::NoCount);
        }
        if self.burst == 0 {
            return Err(BadRate::NoBurst);
        }
        if self.per < Duration::from_micros(1) || self.per > limits::DELAY {
            return Err(BadRate::Per(self.per));
        }
        Ok(())
    }

    fn capacity(&self) -> u64 {
        u64::from(self.burst) * TOKEN
    }

    /// Microseconds, at least one, so that a rate that was never checked cannot divide by zero.
    fn per_micros(&self) -> u128 {
        self.per.as_micros().max(1)
    }

    /// What comes back in this many microseconds, rounded down.
    fn gain(&self, micros: u64) -> u64 {
        let units = u128::from(micros) * u128::from(self.count) * u128::from(TOKEN) / self.per_micros();
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// How long so much takes to come back, rounded up; none if it never does.
    fn time_for(&self, units: u64) -> Option<Duration> {
        let speed = u128::from(self.count) * u128::from(TOKEN);
        let product = u128::from(units).checked_mul(self.per_micros())?;
        (speed > 0).then(|| Duration::from_micros(u64::try_from(product.div_ceil(speed)).unwrap_or(u64::MAX)))
    }
}

/// What is left of a rate at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// In millionths of a token.
    level: u64,
    /// What came back until this time is in the level.
    at: Time,
}

impl Bucket {
    /// A bucket that nothing was taken from.
    pub fn full(rate: Rate, now: Time) -> Self {
        Bucket { level: rate.capacity(), at: now }
    }

    /// Takes a token, or says when there will be one.
    pub fn take(&mut self, rate: Rate, now: Time) -> Result<(), Time> {
        self.refill(rate, now);
        self.peek(rate, now)?;
        self.level -= TOKEN;
        Ok(())
    }

    /// Whether there is a token, or when there will be one.
    pub fn peek(&self, rate: Rate, now: Time) -> Result<(), Time> {
        let mut then = *self;
        then.refill(rate, now);
        if then.level >= TOKEN {
            return Ok(());
        }
        if rate.burst == 0 {
            return Err(Time::MAX);
        }
        Err(rate.time_for(TOKEN - then.level).map_or(Time::MAX, |wait| then.at + wait))
    }

    /// Puts back a token that was taken for a start that did not happen.
    pub fn give_back(&mut self, rate: Rate) {
        self.level = self.level.saturating_add(TOKEN).min(rate.capacity());
    }

    /// Whether forgetting the bucket would change nothing.
    pub fn is_full(&self, rate: Rate, now: Time) -> bool {
        let mut then = *self;
        then.refill(rate, now);
        then.level >= rate.capacity()
    }

    /// The time moves on only by what the gain is worth, so that looking often loses no fraction.
    fn refill(&mut self, rate: Rate, now: Time) {
        let micros = u64::try_from(now.since(self.at).as_micros()).unwrap_or(u64::MAX);
        if micros == 0 {
            return;
        }
        let gain = rate.gain(micros);
        if self.level.saturating_add(gain) >= rate.capacity() {
            *self = Bucket { level: rate.capacity(), at: self.at.max(now) };
        } else if let Some(worth) = rate.time_for(gain) {
            *self = Bucket { level: self.level + gain, at: self.at + worth };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Time = Time::from_millis(1_000_000);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_burst_and_then_one_by_one() {
        let rate = Rate::per_second(10).burst(2);
        let mut bucket = Bucket::full(rate, START);
        assert_eq!(bucket.take(rate, START), Ok(()));
        assert_eq!(bucket.take(rate, START), Ok(()));
        assert_eq!(bucket.take(rate, START), Err(START + ms(100)));
        assert_eq!(bucket.peek(rate, START + ms(99)), Err(START + ms(100)));
        assert_eq!(bucket.take(rate, START + ms(100)), Ok(()));
        assert_eq!(bucket.take(rate, START + ms(100)), Err(START + ms(200)));
    }

    #[test]
    fn what_was_given_back_never_exceeds_the_burst() {
        let rate = Rate::per_second(1).burst(1);
        let mut bucket = Bucket::full(rate, START);
        bucket.give_back(rate);
        assert_eq!(bucket.take(rate, START), Ok(()));
        assert!(bucket.take(rate, START).is_err());
        bucket.give_back(rate);
        assert!(bucket.is_full(rate, START));
    }

    #[test]
    fn a_clock_that_steps_back_refills_nothing() {
        let rate = Rate::per_second(1);
        let mut bucket = Bucket::full(rate, START);
        assert_eq!(bucket.take(rate, START), Ok(()));
        for _ in 0..10 {
            assert_eq!(bucket.take(rate, START - ms(5_000)), Err(START + ms(1_000)));
            assert_eq!(bucket.take(rate, START + ms(500)), Err(START + ms(1_000)));
        }
    }

    #[test]
    fn a_rate_that_cannot_be_kept_says_what_to_do() {
        assert_eq!(Rate::per_second(0).validate(), Err(BadRate::NoCount));
        assert_eq!(Rate::per_second(1).burst(0).validate(), Err(BadRate::NoBurst));
        assert!(Rate::new(1, Duration::ZERO).validate().is_err_and(|e| e.to_string().contains("use a time")));
        assert_eq!(Rate::new(1, Duration::from_secs(86_400)).validate(), Ok(()));
        for odd in [Rate::per_second(0), Rate::per_second(9).burst(0), Rate::new(1, Duration::ZERO)] {
            let mut bucket = Bucket::full(odd, START);
            let _ = bucket.take(odd, START);
            let _ = bucket.take(odd, Time::MAX);
        }
    }

    proptest! {
        /// Over any interval at most what was in the bucket and what came back; and the promised time holds.
        #[test]
        fn never_more_than_the_rate(
            count in 1_u32..2_000, per in 1_u64..10_000_000, burst in 1_u32..50,
            steps in prop::collection::vec((-50_000_i64..200_000, 0_usize..6), 1..200),
        ) {
            let rate = Rate::new(count, Duration::from_micros(per)).burst(burst);
            let mut bucket = Bucket::full(rate, START);
            let (mut now, mut latest) = (START, START);
            let mut taken: Vec<Time> = Vec::new();
            for (step, takes) in steps {
                now = Time::from_micros(now.as_micros() + step);
                for _ in 0..takes {
                    latest = latest.max(now);
                    match bucket.take(rate, now) {
                        Ok(()) => taken.push(latest),
                        Err(at) => {
                            prop_assert!(at > now);
                            prop_assert!(bucket.peek(rate, at).is_ok());
                        }
                    }
                }
            }
            for (first, &from) in taken.iter().enumerate() {
                for (last, &until) in taken.iter().enumerate().skip(first) {
                    let most = u128::from(burst) * u128::from(per)
                        + u128::from(count) * until.since(from).as_micros();
                    prop_assert!((last - first + 1) as u128 * u128::from(per) <= most);
                }
            }
        }
    }
}
