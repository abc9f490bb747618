//! What a durable queue asks of the store.

use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use super::queue::Room;
use crate::broker::BrokerError;
use crate::store::{
    Blob, Found, Message, Outcome, QueueUnit, Read, Receipt, Store, StoreError, Unit, commit_one,
};

/// Messages of a durable queue that are brought into memory at once.
pub(super) const PAGE: usize = 256;

/// What an earlier life of the broker left in a queue.
pub(super) struct Inherited {
    /// The first page of it.
    pub(super) first: Vec<Message>,
    /// How many messages there are.
    pub(super) held: usize,
    /// The number of the last one.
    pub(super) last: u64,
}

/// Looks a queue through, once when it is declared: how full it is decides who is refused, and how far it
/// goes tells what may have been delivered before. Only the first page stays in memory.
pub(super) async fn inherit(store: &dyn Store, queue: &Name) -> Result<Inherited, StoreError> {
    let first = page(store, queue, 0).await?;
    let (mut held, mut length) = (first.len(), first.len());
    let mut last = first.last().map_or(0, |message| message.number);
    while length == PAGE {
        let next = page(store, queue, last).await?;
        length = next.len();
        held += length;
        last = next.last().map_or(last, |message| message.number);
    }
    Ok(Inherited { first, held, last })
}

/// The messages after a number, at most a page of them.
pub(super) async fn page(store: &dyn Store, queue: &Name, after: u64) -> Result<Vec<Message>, StoreError> {
    match store.read(Read::Messages { queue: queue.clone(), after, limit: PAGE }).await? {
        Found::Messages(messages) => Ok(messages),
        _ => Err(broken()),
    }
}

/// Publishes to the places kept in several queues, of which at least one is durable. The store comes first:
/// if it fails, nobody gets the message.
pub(super) async fn publish(store: &dyn Store, rooms: Vec<Room>, body: Blob) -> Result<(), BrokerError> {
    let (durable, transient): (Vec<Room>, Vec<Room>) = rooms.into_iter().partition(Room::is_durable);
    let names = durable.iter().filter_map(|room| room.queue().map(|queue| queue.name.clone()));
    let units = names.map(|name| Unit::Queue(QueueUnit::Push(name, body.clone()))).collect();
    let outcomes = store.commit(units).await?;
    let mut confirmed = Ok(());
    for (room, outcome) in durable.into_iter().zip(outcomes) {
        match number(&room, outcome) {
            Ok(number) => room.fill_stored(number, body.clone()),
            Err(error) => confirmed = Err(error),
        }
    }
    confirmed?;
    transient.into_iter().for_each(|room| room.fill(body.clone()));
    Ok(())
}

/// The number that the store gave to a message.
fn number(room: &Room, outcome: Outcome) -> Result<u64, BrokerError> {
    match (outcome, room.queue()) {
        (Ok(Receipt::Queued(number)), _) => Ok(number),
        (Ok(_), _) => Err(broken().into()),
        // The body was measured before: only the queue can be too large.
        (Err(Refusal::TooLarge { .. }), Some(queue)) => Err(BrokerError::Full(queue.name.clone())),
        (Err(refusal), _) => Err(BrokerError::Refused(refusal)),
    }
}

/// Removes a message that was dealt with. Removing it twice is the same as once.
pub(super) async fn remove(store: &dyn Store, queue: &Name, number: u64) -> Result<(), BrokerError> {
    match commit_one(store, Unit::Queue(QueueUnit::Remove(queue.clone(), number))).await? {
        Ok(Receipt::Accepted) => Ok(()),
        Ok(_) => Err(broken().into()),
        Err(refusal) => Err(BrokerError::Refused(refusal)),
    }
}

fn broken() -> StoreError {
    StoreError::Broken("it answered something else than it was asked".into())
}
