//! What this process has declared, and how that is said to RabbitMQ.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use lapin::{Channel, Connection, ExchangeKind};
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use super::KEY_BYTES;
use super::address::{code, lost};
use crate::broker::{BrokerError, Declare, Routing};

/// A transient queue that nobody has used for this long is removed by the server, in milliseconds.
const FORGOTTEN: i64 = 30 * 60 * 1_000;

/// By exchange, queue and key.
type Declared = BTreeMap<(Name, Name, String), Declare>;

/// Everything that was declared here, to be declared again on a new connection.
pub(super) struct Topology {
    prefix: Option<String>,
    declared: Mutex<Declared>,
}

impl Topology {
    pub(super) fn new(prefix: Option<String>) -> Self {
        Topology { prefix: prefix.filter(|prefix| !prefix.is_empty()), declared: Mutex::default() }
    }

    fn declared(&self) -> MutexGuard<'_, Declared> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name as the server knows it.
    pub(super) fn full(&self, name: &Name) -> Result<ShortString, BrokerError> {
        let full = match &self.prefix {
            Some(prefix) => format!("{prefix}.{name}"),
            None => name.as_str().to_owned(),
        };
        Refusal::unless_within("the name of an exchange or queue, in bytes,", full.len(), KEY_BYTES)
            .map_err(BrokerError::Refused)?;
        Ok(full.into())
    }

    pub(super) fn remember(&self, declare: Declare) {
        let Declare { exchange, queue, key, .. } = &declare;
        self.declared().insert((exchange.clone(), queue.clone(), key.clone()), declare);
    }

    /// A queue that messages with this key go to, as far as this process knows.
    pub(super) fn queue_of(&self, exchange: &Name, key: &str) -> Option<Name> {
        let declared = self.declared();
        let mut bound = declared.values().filter(|declare| declare.exchange == *exchange);
        let exact = bound.clone().find(|declare| declare.key == key);
        exact.or_else(|| bound.next()).map(|declare| declare.queue.clone())
    }

    /// Whether messages with this key need not outlive a restart of the server: every queue that this process knows them to
    /// go to is transient. What it does not know might be durable.
    pub(super) fn is_transient(&self, exchange: &Name, key: &str) -> bool {
        let declared = self.declared();
        let mut bound = declared
            .values()
            .filter(|declare| declare.exchange == *exchange && declare.key == key)
            .peekable();
        bound.peek().is_some() && bound.all(|declare| !declare.durable)
    }

    /// Declares everything again. What is refused now was changed by somebody else, and whoever uses it will be told.
    pub(super) async fn restore(&self, connection: &Connection) {
        let declared: Vec<_> = self.declared().values().cloned().collect();
        for declare in declared {
            if let Err(error) = self.declare(connection, &declare).await {
                tracing::warn!(queue = %declare.queue, %error, "a queue was not declared again");
            }
        }
    }

    /// Declares on a channel of its own, because the server closes a channel on which it refuses something.
    ///
    /// Queues are classic ones. Quorum queues were tried with the suite (RabbitMQ 3.10): they fail
    /// `a_full_queue_refuses`, because they take more than their limit, and `unsettled_deliveries_come_again`.
    ///
    /// Every queue is durable, because RabbitMQ 4.3 refuses others; messages for a transient one are sent as transient.
    pub(super) async fn declare(
        &self,
        connection: &Connection,
        declare: &Declare,
    ) -> Result<(), BrokerError> {
        let (exchange, queue) = (self.full(&declare.exchange)?, self.full(&declare.queue)?);
        Refusal::unless_within("a binding key, in bytes,", declare.key.len(), KEY_BYTES)
            .map_err(BrokerError::Refused)?;
        let channel = connection.create_channel().await.map_err(|error| lost(&error))?;
        let refused = |error: &lapin::Error, name: &Name| match code(error) {
            Some(406) => BrokerError::Mismatch(name.clone()),
            _ => lost(error),
        };
        let made = declare_exchange(&channel, &exchange, declare.routing).await;
        made.map_err(|error| refused(&error, &declare.exchange))?;
        let made = declare_queue(&channel, &queue, declare.durable).await;
        made.map_err(|error| refused(&error, &declare.queue))?;
        let (key, options) = (declare.key.as_str().into(), QueueBindOptions::default());
        let bound = channel.queue_bind(queue, exchange, key, options, FieldTable::default()).await;
        bound.map_err(|error| lost(&error))?;
        // Not waited for: what was declared is there.
        drop(channel);
        Ok(())
    }
}

/// Makes an exchange, or finds that it is there as wanted.
pub(super) async fn declare_exchange(
    channel: &Channel,
    name: &ShortString,
    routing: Routing,
) -> lapin::Result<()> {
    let kind = match routing {
        Routing::Direct => ExchangeKind::Direct,
        Routing::Topic => ExchangeKind::Topic,
        Routing::Fanout => ExchangeKind::Fanout,
    };
    // Always durable: one exchange may lead to both sorts of queues.
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(name.clone(), kind, options, FieldTable::default()).await
}

/// Makes a queue, or finds that it is there as wanted.
pub(super) async fn declare_queue(channel: &Channel, name: &ShortString, durable: bool) -> lapin::Result<()> {
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.clone(), options, arguments(durable)).await.map(drop)
}

/// A bounded queue, which refuses what is too much instead of dropping something.
fn arguments(durable: bool) -> FieldTable {
    let mut arguments = FieldTable::default();
    let most = i64::try_from(limits::QUEUE_MESSAGES).unwrap_or(i64::MAX);
    arguments.insert("x-max-length".into(), AMQPValue::LongLongInt(most));
    arguments.insert("x-overflow".into(), AMQPValue::LongString(LongString::from("reject-publish")));
    if !durable {
        arguments.insert("x-expires".into(), AMQPValue::LongLongInt(FORGOTTEN));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_prefix_goes_before_every_name() {
        let full = |prefix: Option<&str>| Topology::new(prefix.map(Into::into)).full(&name("x.queue"));
        assert_eq!(full(None).unwrap().as_str(), "x.queue");
        assert_eq!(full(Some("")).unwrap().as_str(), "x.queue");
        assert_eq!(full(Some("test")).unwrap().as_str(), "test.x.queue");
        assert!(matches!(full(Some(&"long".repeat(64))), Err(BrokerError::Refused(_))));
    }

    #[test]
    fn a_full_queue_is_named_as_well_as_it_is_known() {
        let topology = Topology::new(None);
        for (key, queue) in [("red", "one"), ("blue", "two")] {
            let (exchange, key) = (name("colours"), key.to_owned());
            let declare =
                Declare { exchange, routing: Routing::Direct, queue: name(queue), key, durable: false };
            topology.remember(declare.clone());
            topology.remember(declare);
        }
        assert_eq!(topology.declared().len(), 2);
        assert_eq!(topology.queue_of(&name("colours"), "blue"), Some(name("two")));
        assert_eq!(topology.queue_of(&name("colours"), "other"), Some(name("one")));
        assert_eq!(topology.queue_of(&name("shapes"), "red"), None);
        assert!(topology.is_transient(&name("colours"), "blue"));
        assert!(!topology.is_transient(&name("colours"), "other"));
    }
}
