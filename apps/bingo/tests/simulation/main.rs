//! The simulation from outside: its rules, the weak points it must not have, and what may never change.

#![allow(
    clippy::unwrap_used,
    reason = "what a test builds itself is right, and if it is not, the test should stop there"
)]

mod bad_files;
mod golden;
mod made;
mod properties;
mod rules;
mod small;
mod weak_points;
