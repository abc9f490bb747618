//! Sends messages one after the other and waits for many confirmations at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, Stream};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::types::{FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation, Connection, Event, ExchangeKind};
use tokio::sync::{mpsc, oneshot};
use turnwise_core::name::Name;

use super::address::{code, lost};
use super::confirms::{Confirmed, Confirms, Fate};
use super::link::Link;
use super::topology::Topology;
use crate::broker::BrokerError;
use crate::store::{Answer, Blob};

/// Messages that are sent and not confirmed. More would only fill buffers.
const UNDER_WAY: usize = 1_024;
/// The pause before it is tried again, beside that between two connections.
const AGAIN: Duration = Duration::from_millis(200);
/// Kept in memory, and gone with the server.
const TRANSIENT: u8 = 1;
/// Written to the disk before it is confirmed.
const PERSISTENT: u8 = 2;

/// A message to be sent, and who waits to hear of it. Nobody waits any more: then it is not sent.
pub(super) struct Message {
    pub(super) exchange: Name,
    pub(super) key: String,
    pub(super) body: Blob,
    pub(super) reply: oneshot::Sender<Result<(), BrokerError>>,
}

/// Sends what comes, over one connection after the other, until nothing more can come.
pub(super) async fn run(link: Arc<Link>, topology: Arc<Topology>, mut messages: mpsc::Receiver<Message>) {
    let mut next = None;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => match messages.recv().await {
                Some(message) => message,
                None => return,
            },
        };
        if message.reply.is_closed() {
            continue;
        }
        let Ok(connection) = link.connection().await else {
            // Who waits too long is told by its own clock.
            next = Some(message);
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        match Session::open(&connection, &topology).await {
            Ok(session) => next = session.serve(message, &mut messages).await,
            Err(error) => {
                tracing::warn!(%error, "no channel to publish on; trying again");
                tokio::time::sleep(AGAIN).await;
                next = Some(message);
            }
        }
    }
}

/// A message under way.
struct Sent {
    exchange: Name,
    key: String,
    reply: oneshot::Sender<Result<(), BrokerError>>,
}

/// One life of a channel.
struct Session<'a> {
    connection: &'a Connection,
    topology: &'a Topology,
    channel: Channel,
    confirms: Confirms<Sent>,
    coming: FuturesUnordered<Answer<'static, (u64, lapin::Result<Confirmation>)>>,
    /// Exchanges that are there. Publishing to one that is not would close the channel under all others.
    exchanges: BTreeSet<Name>,
}

impl<'a> Session<'a> {
    async fn open(connection: &'a Connection, topology: &'a Topology) -> Result<Self, BrokerError> {
        let channel = connection.create_channel().await.map_err(|error| lost(&error))?;
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(|error| lost(&error))?;
        let (confirms, coming) = (Confirms::new(), FuturesUnordered::new());
        Ok(Session { connection, topology, channel, confirms, coming, exchanges: BTreeSet::new() })
    }

    /// Sends until the channel is lost, or until there is nothing more. Returns a message that was not sent.
    async fn serve(mut self, first: Message, messages: &mut mpsc::Receiver<Message>) -> Option<Message> {
        let connection = self.connection;
        let mut events = connection.events_listener();
        let mut is_open = true;
        let mut unsent = self.send(first).await;
        while unsent.is_none() && (is_open || self.confirms.len() > 0) {
            let has_room = is_open && self.confirms.len() < UNDER_WAY && !connection.status().blocked();
            tokio::select! {
                biased;
                Some(confirmed) = self.coming.next() => if !self.settle(confirmed) { break },
                // Whatever it says, what there is to do is looked at again.
                is_lost = lost_with(&mut events) => if is_lost { break },
                message = messages.recv(), if has_room => match message {
                    Some(message) => unsent = self.send(message).await,
                    None => is_open = false,
                },
            }
        }
        for sent in self.confirms.abandon() {
            let lost = "the connection was lost before the message was confirmed; it may have arrived";
            let _ = sent.reply.send(Err(BrokerError::Unreachable(lost.into())));
        }
        unsent
    }

    /// Sends one message, or returns it if the channel is lost.
    async fn send(&mut self, message: Message) -> Option<Message> {
        if message.reply.is_closed() {
            return None;
        }
        let exchange = match self.topology.full(&message.exchange) {
            Ok(exchange) => exchange,
            Err(error) => {
                let _ = message.reply.send(Err(error));
                return None;
            }
        };
        if !self.exchanges.contains(&message.exchange) {
            match is_there(self.connection, exchange.clone()).await {
                Ok(true) => self.exchanges.insert(message.exchange.clone()),
                Ok(false) => {
                    let Message { exchange, key, reply, .. } = message;
                    let _ = reply.send(Err(BrokerError::Unroutable { exchange, key }));
                    return None;
                }
                // Refused for itself, so that asking again would not help.
                Err(error) if code(&error).is_some() => {
                    let _ = message.reply.send(Err(lost(&error)));
                    return None;
                }
                Err(_) => return Some(message),
            };
        }
        let number = self.confirms.number();
        let mode = match self.topology.is_transient(&message.exchange, &message.key) {
            true => TRANSIENT,
            false => PERSISTENT,
        };
        let properties =
            BasicProperties::default().with_delivery_mode(mode).with_message_id(number.to_string().into());
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let key = message.key.as_str().into();
        let sent = self.channel.basic_publish(exchange, key, options, &message.body, properties).await;
        let Ok(confirm) = sent else { return Some(message) };
        let Message { exchange, key, reply, .. } = message;
        self.confirms.sent(number, Sent { exchange, key, reply });
        self.coming.push(Box::pin(async move { (number, confirm.await) }));
        None
    }

    /// Takes this confirmation and all that have come with it. Returns whether the channel lives.
    fn settle(&mut self, first: (u64, lapin::Result<Confirmation>)) -> bool {
        let mut batch = Vec::new();
        let mut next = Some(first);
        while let Some((number, confirmation)) = next {
            let (taken, returned) = match confirmation {
                Ok(Confirmation::Ack(returned)) => (true, returned),
                Ok(Confirmation::Nack(returned)) => (false, returned),
                Ok(Confirmation::NotRequested) | Err(_) => return false,
            };
            let with =
                returned.and_then(|message| message.properties.message_id().as_ref()?.as_str().parse().ok());
            batch.push(Confirmed { number, taken, with });
            next = self.coming.next().now_or_never().flatten();
        }
        for (sent, fate) in self.confirms.settle(&batch) {
            let Sent { exchange, key, reply } = sent;
            let _ = reply.send(match fate {
                Fate::Taken => Ok(()),
                Fate::Refused => {
                    Err(BrokerError::Full(self.topology.queue_of(&exchange, &key).unwrap_or(exchange)))
                }
                Fate::Returned => Err(BrokerError::Unroutable { exchange, key }),
            });
        }
        true
    }
}

/// Whether an exchange exists. A channel of its own, because the server closes it if not.
async fn is_there(connection: &Connection, exchange: ShortString) -> lapin::Result<bool> {
    let channel = connection.create_channel().await?;
    let options = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let asked =
        channel.exchange_declare(exchange, ExchangeKind::Direct, options, FieldTable::default()).await;
    match asked {
        Ok(()) => Ok(true),
        Err(error) if code(&error) == Some(404) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits for news of the connection, and says whether it is lost.
async fn lost_with(events: &mut (impl Stream<Item = Event> + Unpin)) -> bool {
    match events.next().await {
        Some(Event::ConnectionBlocked(reason)) => {
            tracing::warn!(reason, "RabbitMQ takes no messages for now");
            false
        }
        Some(Event::ConnectionUnblocked) => {
            tracing::info!("RabbitMQ takes messages again");
            false
        }
        Some(Event::Error(_)) | None => true,
        Some(_) => false,
    }
}
