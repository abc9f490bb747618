//! The scenarios that ship with the program.

/// Each with its name and its text.
pub const SAMPLES: &[(&str, &str)] = &[("performance", include_str!("../scenarios/performance.json"))];
