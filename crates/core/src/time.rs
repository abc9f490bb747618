//! Points in time, as numbers that somebody else read off a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch, on the clock of whoever passed it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(i64);

impl Time {
    /// The epoch: earlier than any real moment.
    pub const ZERO: Time = Time(0);
    /// Later than any real moment: "never".
    pub const MAX: Time = Time(i64::MAX);

    /// A point given in microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Time(micros)
    }

    /// A point given in milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Time(millis.saturating_mul(1_000))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(stamp) => write!(f, "{stamp:.3}"),
            Err(_) => f.write_str("never"),
        }
    }
}

/// A span of milliseconds.
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A span of seconds.
pub const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A span of minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(60))
}

/// A span of hours.
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(3_600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time::from_micros(5).since(Time::from_micros(9)), Duration::ZERO);
        assert_eq!(Time::from_millis(2).since(Time::from_millis(1)), Duration::from_millis(1));
        assert_eq!(Time::ZERO + Duration::MAX, Time::MAX);
    }

    #[test]
    fn shown_as_an_instant() {
        assert_eq!(Time::from_millis(1_000).to_string(), "1970-01-01T00:00:01.000Z");
        assert_eq!(Time::MAX.to_string(), "never");
    }
}
