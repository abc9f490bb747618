//! The broker of a fleet: RabbitMQ.
//!
//! Publishing and consuming have a connection each, because RabbitMQ stops reading from one that publishes when it
//! runs short of memory or disk, and acknowledgements must not stop with it. A connection is made when it is
//! needed and none is there; what was declared before is declared again on it. So a restarted server, a cut line or a
//! closed channel costs time and needs nobody.

mod address;
mod confirms;
mod consumer;
pub(crate) mod examine;
mod greeting;
mod link;
mod publisher;
mod topology;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, future::ready};

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use crate::broker::{Broker, BrokerError, Consumer, Declare};
use crate::store::{Answer, Blob};
use address::Address;
use consumer::RabbitConsumer;
use link::Link;
use publisher::Message;
use topology::Topology;

/// How long a caller waits for an answer before it is told that the broker cannot be reached.
const ANSWER: Duration = Duration::from_secs(5);
/// Messages that wait to be sent. Behind them, callers wait.
const WAITING: usize = 4_096;
/// The longest routing key or name that the protocol carries, in bytes.
const KEY_BYTES: usize = 255;

/// Where RabbitMQ is and how to use it.
#[derive(Clone)]
pub struct RabbitOptions {
    /// `amqp://USER:PASSWORD@HOST:PORT/VHOST`, or `amqps://…` for an encrypted connection.
    pub url: String,
    /// Put before the name of every exchange and queue, with a dot.
    pub prefix: Option<String>,
    /// Certificates to trust beside those of the system, as a PEM file.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for RabbitOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address has a password in it.
        let mut shown = f.debug_struct("RabbitOptions");
        shown.field("prefix", &self.prefix).field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}

/// A broker for the consumers and publishers of many processes.
pub struct RabbitBroker {
    consume: Arc<Link>,
    publish: Arc<Link>,
    topology: Arc<Topology>,
    messages: mpsc::Sender<Message>,
    /// Consumers that are going: what they had not settled is not back in its queue yet.
    leaving: Arc<Leaving>,
}

/// Channels that are being closed.
#[derive(Default)]
struct Leaving(Mutex<Vec<JoinHandle<()>>>);

impl Leaving {
    fn add(&self, task: JoinHandle<()>) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Waits until all have gone. Each of them takes a bounded time.
    async fn gone(&self) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            let _ = task.await;
        }
    }
}

impl RabbitBroker {
    /// Connects. What is wrong with the address, the account or the virtual host is found here, and not when the first
    /// message is sent.
    pub async fn connect(options: RabbitOptions) -> Result<Self, BrokerError> {
        let address = Arc::new(Address::read(&options)?);
        let topology = Arc::new(Topology::new(options.prefix));
        let link = |role| Arc::new(Link::new(address.clone(), topology.clone(), role));
        let (consume, publish) = (link("consume"), link("publish"));
        consume.connection().await?;
        publish.connection().await?;
        let (messages, waiting) = mpsc::channel(WAITING);
        // It ends when this broker is dropped, which closes the channel of messages.
        tokio::spawn(publisher::run(publish.clone(), topology.clone(), waiting));
        Ok(RabbitBroker { consume, publish, topology, messages, leaving: Arc::default() })
    }

    /// Lets go of the server in order: what consumers have not settled is back in its queue when this answers.
    pub async fn close(&self) {
        self.leaving.gone().await;
        self.consume.close().await;
        self.publish.close().await;
    }

    /// Asks again while the connection is lost on the way, for a bounded time.
    async fn declared(&self, declare: Declare) -> Result<(), BrokerError> {
        let ask = async {
            loop {
                let connection = self.consume.connection().await?;
                match self.topology.declare(&connection, &declare).await {
                    Err(BrokerError::Unreachable(_)) if !connection.status().connected() => {}
                    answer => break answer,
                }
            }
        };
        self.in_time(&self.consume, ask).await?;
        self.topology.remember(declare);
        Ok(())
    }

    async fn consumer(&self, queue: Name, ahead: usize) -> Result<Box<dyn Consumer>, BrokerError> {
        // What an earlier consumer of this process has left comes before what was never delivered.
        self.leaving.gone().await;
        let ask = async {
            loop {
                let connection = self.consume.connection().await?;
                let leaving = self.leaving.clone();
                match RabbitConsumer::open(&connection, &self.topology, &queue, ahead, leaving).await {
                    Err(BrokerError::Unreachable(_)) if !connection.status().connected() => {}
                    answer => break answer,
                }
            }
        };
        let consumer = self.in_time(&self.consume, ask).await?;
        Ok(Box::new(consumer))
    }

    /// An answer, or the trouble with the connection when it takes too long.
    async fn in_time<T>(
        &self,
        link: &Link,
        ask: impl Future<Output = Result<T, BrokerError>>,
    ) -> Result<T, BrokerError> {
        timeout(ANSWER, ask).await.unwrap_or_else(|_| Err(link.trouble(ANSWER)))
    }
}

impl Broker for RabbitBroker {
    fn declare(&self, declare: Declare) -> Answer<'_, Result<(), BrokerError>> {
        Box::pin(self.declared(declare))
    }

    fn publish(&self, exchange: &Name, key: &str, body: Blob) -> Answer<'_, Result<(), BrokerError>> {
        let sizes = Refusal::unless_within("a message, in bytes,", body.len(), limits::PAYLOAD_BYTES)
            .and_then(|()| Refusal::unless_within("a routing key, in bytes,", key.len(), KEY_BYTES));
        if let Err(refusal) = sizes {
            return Box::pin(ready(Err(BrokerError::Refused(refusal))));
        }
        let (reply, answer) = oneshot::channel();
        let message = Message { exchange: exchange.clone(), key: key.to_owned(), body, reply };
        // In line when it is called, so that messages are sent in the order of the calls.
        let sent = self.messages.try_send(message);
        Box::pin(self.in_time(&self.publish, async move {
            match sent {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(message)) => {
                    self.messages.send(message).await.map_err(|_| gone())?;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(gone()),
            }
            answer.await.unwrap_or_else(|_| Err(gone()))
        }))
    }

    fn consume(&self, queue: &Name, ahead: usize) -> Answer<'_, Result<Box<dyn Consumer>, BrokerError>> {
        Box::pin(self.consumer(queue.clone(), ahead))
    }
}

impl Drop for RabbitBroker {
    fn drop(&mut self) {
        // Its consumers end, as those of any broker that goes. Outside a runtime the connections end by themselves.
        if let Ok(runtime) = Handle::try_current() {
            let (consume, publish) = (self.consume.clone(), self.publish.clone());
            runtime.spawn(async move {
                consume.close().await;
                publish.close().await;
            });
        }
    }
}

/// Only while the process ends.
fn gone() -> BrokerError {
    BrokerError::Unreachable("this process is ending".into())
}
