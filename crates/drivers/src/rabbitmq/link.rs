//! One connection to RabbitMQ, made again whenever it is needed and gone.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapin::tcp::{AMQPUriTcpExt, OwnedTLSConfig};
use lapin::uri::AMQPScheme;
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, ConnectionStatus};
use tokio::time::{Instant, sleep_until, timeout};

use super::address::Address;
use super::topology::Topology;
use crate::broker::BrokerError;

/// How long a server may take to let us in.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a farewell may take.
const CLOSE: Duration = Duration::from_secs(2);
/// Pauses between attempts: the first, doubled each time up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(3);

/// A connection with a purpose.
pub(super) struct Link {
    address: Arc<Address>,
    topology: Arc<Topology>,
    role: &'static str,
    state: tokio::sync::Mutex<State>,
    /// How the connection is, readable while somebody makes a new one.
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failures: u32,
    next_attempt: Option<Instant>,
    closed: bool,
    /// There was a connection before.
    was_connected: bool,
}

#[derive(Default)]
struct Seen {
    status: Option<ConnectionStatus>,
    trouble: Option<BrokerError>,
}

impl Link {
    pub(super) fn new(address: Arc<Address>, topology: Arc<Topology>, role: &'static str) -> Self {
        Link { address, topology, role, state: tokio::sync::Mutex::default(), seen: Mutex::default() }
    }

    /// The connection, or one attempt to make it, after a pause if the last attempt failed. Whoever comes meanwhile
    /// waits for the same attempt.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, BrokerError> {
        let mut state = self.state.lock().await;
        if state.closed {
            return Err(BrokerError::Unreachable("this broker was closed".into()));
        }
        if let Some(connection) = state.connection.as_ref().filter(|known| known.status().connected()) {
            return Ok(connection.clone());
        }
        state.connection = None;
        if let Some(at) = state.next_attempt {
            sleep_until(at).await;
        }
        // Before the attempt: the caller may give up in the middle of it.
        state.failures += 1;
        state.next_attempt = Some(Instant::now() + pause(state.failures));
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                (state.failures, state.next_attempt) = (0, None);
                if std::mem::replace(&mut state.was_connected, true) {
                    metrics::counter!("turnwise_broker_reconnects_total", "connection" => self.role)
                        .increment(1);
                }
                state.connection = Some(connection.clone());
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = Seen { status: Some(connection.status().clone()), trouble: None };
                Ok(connection)
            }
            Err(error) => {
                tracing::warn!(role = self.role, %error, "no connection; trying again");
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.trouble = Some(error.clone());
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<Connection, BrokerError> {
        let properties =
            ConnectionProperties::default().with_connection_name(format!("turnwise {}", self.role).into());
        let socket = Socket::default();
        let (slot, tls) = (socket.0.clone(), self.address.tls());
        let runtime = lapin::runtime::default_runtime().map_err(|error| self.address.refused(&error))?;
        let opening = Connection::connector(
            self.address.uri(),
            runtime,
            async move |mut uri, runtime| {
                // Encrypted afterwards: what is kept of the socket is needed while that goes on, too.
                let scheme = std::mem::replace(&mut uri.scheme, AMQPScheme::AMQP);
                let none = OwnedTLSConfig::default();
                let stream = uri.connect_with_config_async(none.as_ref(), &runtime).await?;
                if let AsyncTcpStream::Plain(plain) = &stream {
                    let kept = TcpStream::from(plain.get_ref().as_fd().try_clone_to_owned()?);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
                }
                match scheme {
                    AMQPScheme::AMQP => Ok(stream),
                    AMQPScheme::AMQPS => Ok(stream.into_tls(&uri.authority.host, tls.as_ref()).await?),
                }
            },
            properties,
        );
        let connection = match timeout(CONNECT, opening).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(self.address.refused(&error)),
            Err(_) => return Err(self.address.silent(CONNECT.as_secs())),
        };
        socket.keep();
        self.topology.restore(&connection).await;
        Ok(connection)
    }

    /// What to tell a caller that has waited for so long.
    pub(super) fn trouble(&self, waited: Duration) -> BrokerError {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match (&seen.trouble, &seen.status) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(status)) if status.blocked() => BrokerError::Unreachable(format!(
                "RabbitMQ at {} takes nothing more for now, because it is short of memory or disk",
                self.address.place()
            )),
            _ => self.address.silent(waited.as_secs()),
        }
    }

    /// Says farewell, for good.
    pub(super) async fn close(&self) {
        let mut state = self.state.lock().await;
        state.closed = true;
        if let Some(connection) = state.connection.take() {
            // A server that is gone or blocked hears nothing; then the connection ends with its last user.
            let _ = timeout(CLOSE, connection.close(200, "OK".into())).await;
        }
    }
}

/// The pause after so many failures.
fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LAST_PAUSE)
}

/// The socket of a connection that is being made. If nobody waits for it any more, it is shut down: otherwise the thread
/// that serves it would wait for a silent server as long as the process lives.
#[derive(Default)]
struct Socket(Arc<Mutex<Option<TcpStream>>>);

impl Socket {
    /// The connection was made, and sees to itself.
    fn keep(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(stream) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let pauses: Vec<_> = [1, 2, 3, 9, 1_000].map(|failures| pause(failures).as_millis()).into();
        assert_eq!(pauses, [100, 200, 400, 3_000, 3_000]);
    }
}
