//! The broker contract: carries messages between processes. Tickets through it are hints.

use std::sync::Arc;

use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use crate::store::{Answer, Blob, StoreError};

/// How an exchange picks queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// The routing key equals the binding key.
    Direct,
    /// The binding key is a pattern of words between dots: `*` is one word, `#` is any number of them.
    Topic,
    /// Every bound queue.
    Fanout,
}

/// A queue bound to an exchange. Declaring the same again changes nothing; declaring it differently is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declare {
    /// The exchange.
    pub exchange: Name,
    /// How it picks queues.
    pub routing: Routing,
    /// The queue.
    pub queue: Name,
    /// The binding key.
    pub key: String,
    /// Whether its messages outlive a restart of the broker.
    pub durable: bool,
}

/// A message that somebody must deal with.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Names it when it is settled.
    pub tag: u64,
    /// What it says.
    pub body: Blob,
    /// It was delivered before, and may have been dealt with.
    pub again: bool,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Dealt with.
    Done,
    /// Not dealt with: somebody else may have it.
    Back,
    /// Not to be delivered again.
    Dropped,
}

/// Faults of a broker.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BrokerError {
    /// No queue is bound for this exchange and key.
    #[error("no queue is bound to exchange `{exchange}` for key `{key}`: declare one first")]
    Unroutable {
        /// The exchange.
        exchange: Name,
        /// The routing key.
        key: String,
    },
    /// A queue is full.
    #[error("queue `{0}` is full: its consumers are too slow or gone")]
    Full(Name),
    /// Declared differently before.
    #[error("`{0}` is declared differently: remove it first, or use another name")]
    Mismatch(Name),
    /// Not declared.
    #[error("queue `{0}` is not declared")]
    UnknownQueue(Name),
    /// Durable, but nowhere to keep it.
    #[error("queue `{0}` is durable, but this broker has no store: give it one, or declare it transient")]
    NoStore(Name),
    /// Not with this consumer.
    #[error("delivery {0} is not open: it was settled before, or another consumer has it")]
    UnknownDelivery(u64),
    /// Too large, or refused by the store behind durable queues.
    #[error(transparent)]
    Refused(Refusal),
    /// The connection is gone; it is being restored.
    #[error("the broker cannot be reached: {0}")]
    Unreachable(String),
    /// The store behind durable queues failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Carries messages.
///
/// - What `publish` confirmed is delivered at least once to every queue it was routed to, in the order of the
///   publishes of one publisher (`delivered_in_order`, `routed_to_every_bound_queue`); a transient message may be
///   lost when the broker restarts, a durable one is not (`durable_messages_outlive_a_restart`).
/// - A delivery that is not settled when its consumer goes is delivered again, marked as such
///   (`unsettled_deliveries_come_again`).
/// - Several consumers of a queue share its messages (`consumers_share_a_queue`).
/// - Unroutable messages are noticed (`an_unroutable_message_is_refused`), and a full queue refuses
///   (`a_full_queue_refuses`).
pub trait Broker: Send + Sync {
    /// Makes an exchange and a queue, and binds them.
    fn declare(&self, declare: Declare) -> Answer<'_, Result<(), BrokerError>>;

    /// Sends a message; answers when the broker has taken it over.
    fn publish(&self, exchange: &Name, key: &str, body: Blob) -> Answer<'_, Result<(), BrokerError>>;

    /// Begins to receive from a queue, with at most `ahead` deliveries not settled.
    fn consume(&self, queue: &Name, ahead: usize) -> Answer<'_, Result<Box<dyn Consumer>, BrokerError>>;
}

/// Receives from one queue.
pub trait Consumer: Send {
    /// The next delivery; waits for one. `None` means that the consumer has ended and a new one is needed.
    fn next(&mut self) -> Answer<'_, Option<Delivery>>;

    /// Says what became of a delivery.
    fn settle(&mut self, tag: u64, settled: Settled) -> Answer<'_, Result<(), BrokerError>>;
}

/// A broker that can be chosen at run time.
pub type AnyBroker = Arc<dyn Broker>;
