//! The broker of a single process: queues in memory, and durable ones in the store.
//!
//! No threads and no timers: it wakes consumers and nothing else, so that it runs under any executor, also
//! under the simulation's. No lock is held while it waits.

mod consumer;
mod queue;
mod stored;
#[cfg(test)]
mod tests;
mod topic;
mod topology;

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use crate::broker::{Broker, BrokerError, Consumer, Declare};
use crate::store::{Answer, Blob, Store};
use consumer::InProcessConsumer;
use queue::{Queue, Room};
use topology::Topology;

/// A broker for consumers and publishers of one process.
///
/// Messages to transient queues are taken when `publish` is called, so that they arrive in the order of the
/// calls even if their answers are awaited later. A publish to several queues takes a place in each
/// of them first, so that one full queue keeps it from all. When the broker is dropped, its consumers end; a
/// new one over the same store finds in a durable queue what was published and not settled.
pub struct InProcessBroker {
    store: Option<Arc<dyn Store>>,
    topology: Mutex<Topology>,
}

impl InProcessBroker {
    /// A broker that keeps durable queues in this store, or that refuses to have any.
    pub fn new(store: Option<Arc<dyn Store>>) -> Self {
        InProcessBroker { store, topology: Mutex::default() }
    }

    fn topology(&self) -> MutexGuard<'_, Topology> {
        // A panic leaves at worst a queue without its last binding; declaring it again binds it.
        self.topology.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue as it was declared before, or a new one.
    async fn queue(&self, declare: &Declare) -> Result<Arc<Queue>, BrokerError> {
        let known = {
            let topology = self.topology();
            topology.check(declare)?;
            topology.queue(&declare.queue).cloned()
        };
        let name = declare.queue.clone();
        match (known, declare.durable, &self.store) {
            (Some(queue), _, _) => Ok(queue),
            (None, false, _) => Ok(Arc::new(Queue::transient(name))),
            (None, true, Some(store)) => Ok(Arc::new(Queue::durable(name, store.clone()).await?)),
            (None, true, None) => Err(BrokerError::NoStore(name)),
        }
    }

    /// Keeps a place in every queue that a message goes to, or in none.
    fn reserve(&self, exchange: &Name, key: &str, size: usize) -> Result<Vec<Room>, BrokerError> {
        Refusal::unless_within("a message, in bytes,", size, limits::PAYLOAD_BYTES)
            .map_err(BrokerError::Refused)?;
        let queues = self.topology().route(exchange, key);
        if queues.is_empty() {
            return Err(BrokerError::Unroutable { exchange: exchange.clone(), key: key.to_owned() });
        }
        let room = |queue: &Arc<Queue>| queue.reserve().ok_or_else(|| BrokerError::Full(queue.name.clone()));
        queues.iter().map(room).collect()
    }
}

impl Broker for InProcessBroker {
    fn declare(&self, declare: Declare) -> Answer<'_, Result<(), BrokerError>> {
        Box::pin(async move {
            let queue = self.queue(&declare).await?;
            self.topology().bind(declare, queue)
        })
    }

    fn publish(&self, exchange: &Name, key: &str, body: Blob) -> Answer<'_, Result<(), BrokerError>> {
        match (self.reserve(exchange, key, body.len()), &self.store) {
            (Err(error), _) => Box::pin(ready(Err(error))),
            (Ok(rooms), Some(store)) if rooms.iter().any(Room::is_durable) => {
                Box::pin(stored::publish(&**store, rooms, body))
            }
            (Ok(rooms), _) => {
                rooms.into_iter().for_each(|room| room.fill(body.clone()));
                Box::pin(ready(Ok(())))
            }
        }
    }

    fn consume(&self, queue: &Name, ahead: usize) -> Answer<'_, Result<Box<dyn Consumer>, BrokerError>> {
        let found = self.topology().queue(queue).cloned();
        let consumer = found.map(|queue| Box::new(InProcessConsumer::new(queue, ahead)) as Box<dyn Consumer>);
        Box::pin(ready(consumer.ok_or_else(|| BrokerError::UnknownQueue(queue.clone()))))
    }
}

impl Drop for InProcessBroker {
    fn drop(&mut self) {
        self.topology().queues().for_each(|queue| queue.close());
    }
}
