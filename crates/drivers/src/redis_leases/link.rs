//! A connection to Redis that is made again when it is gone. Every question has a limit in time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, RedisError, TlsCertificates};

use super::failed;
use super::words::Words;
use crate::leases::LeaseError;

/// The setting to change when the server cannot be had.
const SETTING: &str = "TURNWISE_REDIS";
/// How long Redis may take to let us in, and to answer. A lease must not run out while its holder waits.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(2);

/// The way to one server.
pub(super) struct Link {
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Link {
    pub(super) fn new(url: &str, certificates: Option<Vec<u8>>) -> Result<Self, LeaseError> {
        if url.starts_with("rediss:") {
            // Whoever has chosen another provider already keeps it.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = match certificates {
            Some(root_cert) => {
                Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert: Some(root_cert) })
            }
            None => Client::open(url),
        };
        // What the library says about it may repeat the address.
        let wrong = |_| {
            failed(format!("{SETTING} is not an address of Redis: write redis://USER:PASSWORD@HOST:PORT/"))
        };
        Ok(Link { client: client.map_err(wrong)?, connection: Mutex::default() })
    }

    /// Whether it answers.
    pub(super) async fn ping(&self) -> Result<(), LeaseError> {
        self.ask::<String>(&redis::cmd("PING")).await.map(drop)
    }

    /// What is under a key.
    pub(super) async fn get(&self, key: &str) -> Result<Option<String>, LeaseError> {
        let mut get = redis::cmd("GET");
        get.arg(key);
        self.ask(&get).await
    }

    /// Runs a script on one key.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: &Words,
        key: &str,
        args: &[&str],
    ) -> Result<T, LeaseError> {
        let mut call = script.key(key);
        for arg in args {
            call.arg(arg);
        }
        let mut connection = self.connection().await?;
        let answer = call.invoke_async(&mut connection).await;
        answer.map_err(|error| self.wrong(&error))
    }

    /// Asks anything.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LeaseError> {
        let mut connection = self.connection().await?;
        let answer = command.query_async(&mut connection).await;
        answer.map_err(|error| self.wrong(&error))
    }

    /// The connection, or a new one. Two may be made at once; the later one stays.
    async fn connection(&self) -> Result<MultiplexedConnection, LeaseError> {
        let known = self.known().clone();
        if let Some(connection) = known {
            return Ok(connection);
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(ANSWER));
        // Once more around the whole: the library's limits are for each of its steps.
        let opening = self.client.get_multiplexed_async_connection_with_config(&config);
        let opened = tokio::time::timeout(CONNECT + ANSWER, opening).await;
        let connection = match opened {
            Ok(opened) => opened.map_err(|error| self.wrong(&error))?,
            Err(_) => return Err(self.silent("it has not answered in time")),
        };
        *self.known() = Some(connection.clone());
        Ok(connection)
    }

    fn known(&self) -> MutexGuard<'_, Option<MultiplexedConnection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to tell the caller. After trouble with the connection, the next question makes a new one.
    fn wrong(&self, error: &RedisError) -> LeaseError {
        if error.is_io_error() || error.is_unrecoverable_error() {
            *self.known() = None;
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed => failed(format!(
                "Redis at {} refuses the user name or password: correct them in {SETTING}",
                self.place()
            )),
            _ => self.silent(&error.to_string()),
        }
    }

    fn silent(&self, why: &str) -> LeaseError {
        let place = self.place();
        failed(format!("Redis at {place} gave no answer ({why}): is it running, and is {SETTING} right?"))
    }

    /// Host and port, for people.
    pub(super) fn place(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for wrong in ["", "hidden", "http://me:hidden@host/"] {
            let error = Link::new(wrong, None).err().unwrap().to_string();
            assert!(error.contains(SETTING) && !error.contains("hidden"), "{error}");
        }
        let link = Link::new("redis://me:hidden@127.0.0.1:1/", None).unwrap();
        assert_eq!(link.place(), "127.0.0.1:1");
        assert!(!link.silent("gone").to_string().contains("hidden"));
    }
}
