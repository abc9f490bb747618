//! `cargo xtask servers`: the three servers of a fleet on a developer's machine, and those of the test step.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use clap::Subcommand;
use turnwise_servers::{Postgres, RabbitMq, Redis, shared, stop_in};

/// Where they live, in the folder of what is built.
const FOLDER: &str = "servers";
const NAMES: [&str; 3] = ["postgres", "rabbitmq", "redis"];

/// What to do with the servers.
#[derive(Subcommand)]
pub(crate) enum Action {
    /// Starts PostgreSQL, RabbitMQ and Redis, and says how to start a fleet on them.
    Up,
    /// Stops exactly those.
    Down,
}

/// Starts or stops them.
pub(crate) fn run(target: &Path, action: &Action) -> Result<()> {
    let folder = target.join(FOLDER);
    match action {
        Action::Up => up(&folder),
        Action::Down => down(&folder),
    }
}

fn up(folder: &Path) -> Result<()> {
    ensure!(
        !folder.exists(),
        "the servers were started before; stop them with\n    cargo xtask servers down"
    );
    let started = start(folder);
    if started.is_err() {
        // All or none.
        let _ = stop(folder);
    }
    println!("{}", started?);
    Ok(())
}

fn start(folder: &Path) -> Result<String> {
    let postgres = Postgres::leave_in(&folder.join(NAMES[0]))?;
    let (rabbitmq, management) = RabbitMq::leave_in(&folder.join(NAMES[1]))?;
    let redis = Redis::leave_in(&folder.join(NAMES[2]))?;
    let variables =
        format!("TURNWISE_POSTGRES={postgres} TURNWISE_RABBITMQ={rabbitmq} TURNWISE_REDIS={redis}");
    Ok(format!(
        "PostgreSQL  {postgres}\nRabbitMQ    {rabbitmq} (to look at: {management}, guest, guest)\n\
         Redis       {redis}\n\nstart a fleet on them:\n    {variables} turnwise up --profile fleet\n\
         stop them:\n    cargo xtask servers down"
    ))
}

fn down(folder: &Path) -> Result<()> {
    match stop(folder)? {
        stopped if stopped.is_empty() => println!("no server is running"),
        stopped => println!("stopped: {}", stopped.join(", ")),
    }
    Ok(())
}

fn stop(folder: &Path) -> Result<Vec<&'static str>> {
    let mut stopped = Vec::new();
    for name in NAMES {
        if stop_in(&folder.join(name))? {
            stopped.push(name);
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(stopped)
}

/// The servers of one run of the tests. They end with this value, whatever happens.
pub(crate) struct ForTests {
    postgres: Postgres,
    rabbitmq: RabbitMq,
    redis: Redis,
}

impl ForTests {
    /// Starts each of them once for all tests.
    pub(crate) fn start() -> Result<Self> {
        Ok(ForTests { postgres: Postgres::start()?, rabbitmq: RabbitMq::start()?, redis: Redis::start()? })
    }

    /// The variables by which tests find them.
    pub(crate) fn variables(&self) -> [(&'static str, String); 4] {
        [
            (shared::POSTGRES, self.postgres.url()),
            (shared::RABBITMQ, self.rabbitmq.url()),
            (shared::RABBITMQ_MANAGEMENT, self.rabbitmq.management_url()),
            (shared::REDIS, self.redis.url()),
        ]
    }
}
