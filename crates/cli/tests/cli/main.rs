//! Drives the real program: one engine per test, in a directory and on a port of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bingo;
mod doctor;
mod failures;
mod fleet;
mod forge;
mod forge_fleet;
mod harness;
mod life;
mod metrics;
mod nodes;
mod operate;
mod roles;
mod server;
mod stories;
mod traces;
mod workers;
