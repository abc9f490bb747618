//! Priorities: ten levels, counted inside one owner only.

use serde::{Deserialize, Serialize};

/// From 0 (least urgent) to 9 (most urgent); 5 unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

/// A number that is no priority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a priority: use 0 (least urgent) to 9 (most urgent)")]
pub struct BadPriority(pub u8);

impl Priority {
    /// The most urgent level.
    pub const MAX: Priority = Priority(9);

    /// Checks a level.
    pub const fn new(level: u8) -> Result<Self, BadPriority> {
        if level <= Self::MAX.0 { Ok(Priority(level)) } else { Err(BadPriority(level)) }
    }

    /// The level as a number.
    pub const fn level(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Priority(5)
    }
}

impl TryFrom<u8> for Priority {
    type Error = BadPriority;

    fn try_from(level: u8) -> Result<Self, BadPriority> {
        Priority::new(level)
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> u8 {
        priority.0
    }
}
