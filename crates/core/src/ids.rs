//! Identifiers. A job's id is made before its commit, so an unknown outcome can be sent again safely.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Crockford's alphabet: no I, L, O or U, so that an id survives being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 63 bits in groups of five.
const LETTERS: usize = 13;
/// Milliseconds are counted from 2025-01-01, which leaves room until the year 2164.
const EPOCH_MS: i64 = 1_735_689_600_000;
const NODE_BITS: u32 = 10;
const COUNT_BITS: u32 = 11;
/// Node numbers run from 0 to one less than this. The number itself stands for ids that a database makes by itself.
pub const NODE_NUMBERS: u16 = (1 << NODE_BITS) - 1;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number; the top bit is dropped so that databases can hold it signed.
            pub const fn from_u64(raw: u64) -> Self {
                $name(raw & (u64::MAX >> 1))
            }

            /// The number itself.
            pub const fn as_u64(self) -> u64 {
                self.0
            }

            /// The number as databases hold it.
            pub const fn as_i64(self) -> i64 {
                self.0.cast_signed()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&letters(self.0)).unwrap_or("?"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                number(text).map($name)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    serializer.serialize_u64(self.0)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
                } else {
                    u64::deserialize(deserializer).map($name::from_u64)
                }
            }
        }
    };
}

id! {
    /// A job. Ids of one node grow in the order they were made.
    JobId
}
id! {
    /// A batch of jobs.
    BatchId
}
id! {
    /// A worker process's liveness.
    SessionId
}
id! {
    /// A line: the jobs that are equally eligible (see [`crate::line`]).
    LineId
}
id! {
    /// A lane: an ordered key (see [`crate::lane`]).
    LaneId
}

/// A text that is no identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id: ids have 13 letters and digits, such as 01JDXN2Q8K4RT")]
pub struct BadId(pub String);

fn letters(mut raw: u64) -> [u8; LETTERS] {
    let mut text = [b'0'; LETTERS];
    for slot in text.iter_mut().rev() {
        *slot = ALPHABET[(raw & 31) as usize];
        raw >>= 5;
    }
    text
}

fn number(text: &str) -> Result<u64, BadId> {
    let bad = || BadId(text.chars().take(40).collect());
    if text.len() != LETTERS {
        return Err(bad());
    }
    let mut raw: u64 = 0;
    for letter in text.bytes() {
        let letter = letter.to_ascii_uppercase();
        let digit = ALPHABET.iter().position(|&known| known == letter).ok_or_else(bad)?;
        raw = raw.checked_mul(32).and_then(|raw| raw.checked_add(digit as u64)).ok_or_else(bad)?;
    }
    if raw > u64::MAX >> 1 { Err(bad()) } else { Ok(raw) }
}

/// Makes ids that grow, from a time that is passed in and a node number that the store issued.
///
/// Two makers with different node numbers never make the same id. If more than 2,048 ids are asked for in
/// one millisecond, or the clock steps back, the maker runs ahead of the clock instead of repeating itself.
#[derive(Debug)]
pub struct IdMaker {
    node: u64,
    last: u64,
}

impl IdMaker {
    /// A maker for one node.
    pub fn new(node: u16) -> Self {
        IdMaker { node: u64::from(node % NODE_NUMBERS), last: 0 }
    }

    /// The next number.
    pub fn next(&mut self, now: Time) -> u64 {
        let ms = u64::try_from(now.as_millis() - EPOCH_MS).unwrap_or(0);
        let floor = ms << COUNT_BITS;
        self.last = floor.max(self.last + 1);
        let (ms, count) = (self.last >> COUNT_BITS, self.last & ((1 << COUNT_BITS) - 1));
        ((ms << (NODE_BITS + COUNT_BITS)) | (self.node << COUNT_BITS) | count) & (u64::MAX >> 1)
    }

    /// The next job id.
    pub fn job(&mut self, now: Time) -> JobId {
        JobId::from_u64(self.next(now))
    }
}

/// The smallest id that could have been made at this time: for finding old work without an index. A time beyond those
/// that ids can tell is after all of them.
pub fn first_id_at(time: Time) -> u64 {
    const LAST: u64 = u64::MAX >> 1;
    let ms = u64::try_from(time.as_millis() - EPOCH_MS).unwrap_or(0);
    if ms > LAST >> (NODE_BITS + COUNT_BITS) { LAST } else { ms << (NODE_BITS + COUNT_BITS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(EPOCH_MS + 1_000);

    #[test]
    fn ids_grow_even_when_the_clock_does_not() {
        let mut maker = IdMaker::new(3);
        let mut last = 0;
        for step in 0..10_000 {
            let now = if step % 7 == 0 { NOW - std::time::Duration::from_secs(1) } else { NOW };
            let next = maker.next(now);
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn nodes_never_meet() {
        let (mut one, mut two) = (IdMaker::new(1), IdMaker::new(2));
        let ones: std::collections::BTreeSet<u64> = (0..5_000).map(|_| one.next(NOW)).collect();
        assert!((0..5_000).all(|_| !ones.contains(&two.next(NOW))));
    }

    #[test]
    fn text_and_back() {
        for raw in [0, 1, 31, 32, u64::MAX >> 1, 0x1234_5678_9abc_def0] {
            let id = JobId::from_u64(raw);
            assert_eq!(id.to_string().parse::<JobId>(), Ok(id));
            assert_eq!(id.to_string().to_lowercase().parse::<JobId>(), Ok(id));
        }
        for bad in ["", "01JDXN2Q8K4R", "01JDXN2Q8K4RTX", "U1JDXN2Q8K4RT", "ZZZZZZZZZZZZZ", "ééééééé"]
        {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_age_in_ids() {
        let mut maker = IdMaker::new(1023);
        let id = maker.next(NOW);
        assert!(first_id_at(NOW) <= id && id < first_id_at(NOW + std::time::Duration::from_millis(1)));
        assert_eq!((first_id_at(Time::ZERO), first_id_at(Time::MAX)), (0, u64::MAX >> 1));
    }
}
