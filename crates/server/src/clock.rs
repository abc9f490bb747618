//! The time of this machine, for what lives in this process alone.

use std::time::{SystemTime, UNIX_EPOCH};

use turnwise::Time;

/// Now.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
