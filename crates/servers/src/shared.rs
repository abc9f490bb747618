//! Servers for all tests: those that somebody has started already, or one of each for this process.
//!
//! `cargo xtask test` starts each server once and names it in these variables. Without them, a process that asks
//! starts its own, which ends with the process. Tests keep out of each other's way by themselves: by a
//! virtual host, a schema or a prefix of their own.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};

use crate::{Postgres, RabbitMq, Redis, Vhost};

/// Names a PostgreSQL server that runs.
pub const POSTGRES: &str = "TURNWISE_TEST_POSTGRES";
/// Names a RabbitMQ server that runs.
pub const RABBITMQ: &str = "TURNWISE_TEST_RABBITMQ";
/// Names the management interface of that server.
pub const RABBITMQ_MANAGEMENT: &str = "TURNWISE_TEST_RABBITMQ_MANAGEMENT";
/// Names a Redis server that runs.
pub const REDIS: &str = "TURNWISE_TEST_REDIS";

/// What could be started, or why not.
type Started<T> = OnceLock<Result<T, String>>;

/// The address of a PostgreSQL server.
pub fn postgres() -> Result<String> {
    static OWN: Started<Postgres> = OnceLock::new();
    named(POSTGRES).map_or_else(|| own(&OWN, Postgres::start).map(Postgres::url), Ok)
}

/// The address of a Redis server.
pub fn redis() -> Result<String> {
    static OWN: Started<Redis> = OnceLock::new();
    named(REDIS).map_or_else(|| own(&OWN, Redis::start).map(Redis::url), Ok)
}

/// A virtual host of one's own on a RabbitMQ server.
pub fn vhost() -> Result<Vhost> {
    static OWN: Started<RabbitMq> = OnceLock::new();
    match (named(RABBITMQ), named(RABBITMQ_MANAGEMENT)) {
        (Some(server), Some(management)) => Vhost::make(&server, &management),
        _ => own(&OWN, RabbitMq::start)?.vhost(),
    }
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|address| !address.is_empty())
}

/// Never dropped: the guard stops it when the process has ended.
fn own<T>(place: &'static Started<T>, start: fn() -> Result<T>) -> Result<&'static T> {
    place
        .get_or_init(|| start().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}
