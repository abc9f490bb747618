//! Batches on a real engine: what is promised of them, and the mistakes of earlier systems that cannot happen here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod failing;
mod input;
mod seeing;
mod working;
mod world;
