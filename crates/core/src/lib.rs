//! The rules of Turnwise, and nothing else.
//!
//! Everything here is a pure function or a plain value: time, identity and chance are passed in, and what
//! should happen is passed out. Drivers and the engine perform it.

pub mod batch;
pub mod cron;
pub mod event;
pub mod ids;
pub mod job;
pub mod kind;
pub mod lane;
pub mod lease;
pub mod limits;
pub mod line;
pub mod machine;
pub mod name;
pub mod priority;
pub mod rate;
pub mod refusal;
pub mod retry;
pub mod schedule;
pub mod tally;
pub mod time;
pub mod trace;
pub mod unique;
