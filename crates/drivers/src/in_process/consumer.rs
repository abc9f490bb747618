//! Receives from one queue in the same process.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;

use super::queue::{Queue, Taken, Waiting};
use super::stored;
use crate::broker::{BrokerError, Consumer, Delivery, Settled};
use crate::store::Answer;

/// A consumer. What it has not settled goes back when it is dropped.
pub(super) struct InProcessConsumer {
    queue: Arc<Queue>,
    ahead: usize,
    /// By tag, which is the message's place in the queue.
    unsettled: BTreeMap<u64, Waiting>,
}

impl InProcessConsumer {
    /// A consumer with at most `ahead` deliveries not settled, and at least one: with none it could never
    /// work.
    pub(super) fn new(queue: Arc<Queue>, ahead: usize) -> Self {
        InProcessConsumer { queue, ahead: ahead.max(1), unsettled: BTreeMap::new() }
    }

    /// Waits for a message. A message leaves the queue in the same step in which this answers, so that giving
    /// up the wait loses nothing; a wake-up that was meant for this consumer is then passed on to another.
    async fn receive(&mut self) -> Option<Delivery> {
        if self.unsettled.len() >= self.ahead {
            // Nothing can be settled while this waits: the caller gives it up, settles, and asks again.
            return pending().await;
        }
        loop {
            let mut arrived = pin!(self.queue.arrived.notified());
            // In line before looking: what comes after the look wakes this consumer, or one before it in
            // line.
            arrived.as_mut().enable();
            match self.queue.take() {
                Taken::Message(message) => {
                    let Waiting { place: tag, ref body, again } = message;
                    let delivery = Delivery { tag, body: body.clone(), again };
                    self.unsettled.insert(tag, message);
                    return Some(delivery);
                }
                Taken::Behind(load) => {
                    if let Err(error) = load.run().await {
                        let queue = &self.queue.name;
                        tracing::warn!(%queue, %error, "a durable queue cannot be read; its consumer ends");
                        return None;
                    }
                }
                Taken::Nothing => arrived.await,
                Taken::Closed => return None,
            }
        }
    }

    /// A durable message is kept until the store has removed it, so that a failure can be tried again.
    async fn remove(&mut self, tag: u64) -> Result<(), BrokerError> {
        if let Some(store) = &self.queue.store {
            stored::remove(&**store, &self.queue.name, tag).await?;
        }
        self.unsettled.remove(&tag);
        self.queue.free();
        Ok(())
    }
}

impl Consumer for InProcessConsumer {
    fn next(&mut self) -> Answer<'_, Option<Delivery>> {
        Box::pin(self.receive())
    }

    fn settle(&mut self, tag: u64, settled: Settled) -> Answer<'_, Result<(), BrokerError>> {
        if !self.unsettled.contains_key(&tag) {
            return Box::pin(ready(Err(BrokerError::UnknownDelivery(tag))));
        }
        match settled {
            Settled::Done | Settled::Dropped => Box::pin(self.remove(tag)),
            Settled::Back => {
                self.queue.give_back(self.unsettled.remove(&tag));
                Box::pin(ready(Ok(())))
            }
        }
    }
}

impl Drop for InProcessConsumer {
    fn drop(&mut self) {
        self.queue.give_back(std::mem::take(&mut self.unsettled).into_values());
    }
}
