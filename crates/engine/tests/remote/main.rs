//! Workers outside the process: every promise holds for them too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod answering;
mod claiming;
mod living;
mod world;
