//! The server as programs and browsers meet it: over HTTP, on a port of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod application;
mod bad_input;
mod described;
mod harness;
mod live;
mod operating;
mod work;
mod workers;
