//! Private PostgreSQL, RabbitMQ and Redis servers, for tests and for a developer's machine.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! let postgres = turnwise_servers::Postgres::start()?;
//! println!("{}", postgres.url()); // postgres://postgres@127.0.0.1:…/postgres
//! # Ok(()) }
//! ```
//!
//! - Each server has a directory of its own and ports of its own on the loopback device, so that several run at
//!   once and none meets a server of the system.
//! - A server that was started is ready: it has answered a real question.
//! - A server ends with its value. If the process is killed before it could see to that, a guard that
//!   waits for the end of the process stops the server and removes its directory.
//! - Starting one takes seconds, and a test runner may give each test a process of its own. So tests take what
//!   [`shared`] gives them, which is a server that somebody has started for all of them, or one for this process.
//! - Nothing passes in silence: if a server is not installed, the error says how to install it.
//!
//! As root, servers run under the accounts of their packages, because PostgreSQL refuses root. Otherwise they run
//! as whoever asks. They keep what they are told on disk as they do in production; nothing is switched off.

mod account;
mod certificates;
mod guard;
mod http;
mod place;
pub mod poll;
mod port;
mod postgres;
mod rabbitmq;
mod redis;
mod server;
pub mod shared;

pub use postgres::Postgres;
pub use rabbitmq::{RabbitMq, Vhost};
pub use redis::Redis;
pub use server::stop_in;
