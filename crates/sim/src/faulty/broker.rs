//! A broker that keeps none of its promises: messages are lost, doubled, late and out of order, and a restart
//! forgets every queue. Tickets and reports are hints, so all of this may only cost time.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use turnwise_core::name::Name;
use turnwise_drivers::broker::{Broker, BrokerError, Consumer, Declare, Delivery, Settled};
use turnwise_drivers::store::{Answer, Blob};

use crate::executor::{OUTSIDE, lock};
use crate::world::World;

#[derive(Default)]
struct Queue {
    key: String,
    waiting: VecDeque<(Blob, bool)>,
    listeners: BTreeMap<u64, Waker>,
}

/// All queues.
#[derive(Default)]
pub(crate) struct Post {
    queues: BTreeMap<Name, Queue>,
    /// Grows with each restart.
    life: u64,
    numbers: u64,
}

impl Post {
    /// Every queue and every message is gone, and every consumer ends.
    pub(crate) fn restart(&mut self) {
        self.life += 1;
        for queue in std::mem::take(&mut self.queues).into_values() {
            queue.listeners.into_values().for_each(Waker::wake);
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn push(&mut self, name: &Name, body: Blob, again: bool) {
        if let Some(queue) = self.queues.get_mut(name) {
            queue.waiting.push_back((body, again));
            std::mem::take(&mut queue.listeners).into_values().for_each(Waker::wake);
        }
    }
}

/// The broker as one process reaches it.
pub(crate) struct FaultyBroker {
    world: Arc<World>,
}

impl FaultyBroker {
    /// The broker.
    pub(crate) fn new(world: Arc<World>) -> Self {
        FaultyBroker { world }
    }

    async fn reach(&self) -> Result<(), BrokerError> {
        self.world.executor.sleep(self.world.latency()).await;
        if self.world.strikes("broker failures", self.world.plan.odds.broker_fails) {
            return Err(BrokerError::Unreachable("the wire is cut".into()));
        }
        Ok(())
    }

    /// Sends one copy on its way.
    fn send(&self, queue: &Name, body: Blob) {
        let world = self.world.clone();
        let odds = &world.plan.odds;
        if world.strikes("messages lost", odds.message_lost) {
            return;
        }
        let late = match world.strikes("messages late", odds.message_late) {
            true => Duration::from_micros(world.draw(|chance| chance.skewed(4_000_000))),
            false => world.latency(),
        };
        let queue = queue.clone();
        let sleep = world.executor.sleep(late);
        self.world.executor.spawn(
            OUTSIDE,
            Box::pin(async move {
                sleep.await;
                lock(&world.post).push(&queue, body, false);
            }),
        );
    }
}

impl Broker for FaultyBroker {
    fn declare(&self, declare: Declare) -> Answer<'_, Result<(), BrokerError>> {
        Box::pin(async move {
            self.reach().await?;
            lock(&self.world.post).queues.entry(declare.queue).or_default().key = declare.key;
            Ok(())
        })
    }

    fn publish(&self, exchange: &Name, key: &str, body: Blob) -> Answer<'_, Result<(), BrokerError>> {
        let (exchange, key) = (exchange.clone(), key.to_owned());
        Box::pin(async move {
            self.reach().await?;
            let bound: Vec<Name> = {
                let post = lock(&self.world.post);
                post.queues
                    .iter()
                    .filter(|(_, queue)| queue.key == key)
                    .map(|(name, _)| name.clone())
                    .collect()
            };
            if bound.is_empty() {
                return Err(BrokerError::Unroutable { exchange, key });
            }
            for queue in &bound {
                self.send(queue, body.clone());
                if self.world.strikes("messages doubled", self.world.plan.odds.message_doubled) {
                    self.send(queue, body.clone());
                }
            }
            Ok(())
        })
    }

    fn consume(&self, queue: &Name, ahead: usize) -> Answer<'_, Result<Box<dyn Consumer>, BrokerError>> {
        let queue = queue.clone();
        Box::pin(async move {
            self.reach().await?;
            let mut post = lock(&self.world.post);
            if !post.queues.contains_key(&queue) {
                return Err(BrokerError::UnknownQueue(queue));
            }
            let (number, life) = (post.number(), post.life);
            let world = self.world.clone();
            Ok(Box::new(FaultyConsumer { world, queue, number, life, ahead, unsettled: BTreeMap::new() })
                as Box<dyn Consumer>)
        })
    }
}

struct FaultyConsumer {
    world: Arc<World>,
    queue: Name,
    number: u64,
    life: u64,
    ahead: usize,
    unsettled: BTreeMap<u64, Blob>,
}

impl Consumer for FaultyConsumer {
    fn next(&mut self) -> Answer<'_, Option<Delivery>> {
        Box::pin(poll_fn(|context| {
            let mut post = lock(&self.world.post);
            if post.life != self.life {
                return Poll::Ready(None);
            }
            let tag = post.number();
            let Some(queue) = post.queues.get_mut(&self.queue) else { return Poll::Ready(None) };
            if self.unsettled.len() < self.ahead
                && let Some((body, again)) = queue.waiting.pop_front()
            {
                self.unsettled.insert(tag, body.clone());
                return Poll::Ready(Some(Delivery { tag, body, again }));
            }
            queue.listeners.insert(self.number, context.waker().clone());
            Poll::Pending
        }))
    }

    fn settle(&mut self, tag: u64, settled: Settled) -> Answer<'_, Result<(), BrokerError>> {
        let known = self.unsettled.remove(&tag);
        let mut post = lock(&self.world.post);
        let answer = match known {
            Some(_) if post.life != self.life => Err(BrokerError::Unreachable("it was restarted".into())),
            Some(body) => {
                if settled == Settled::Back {
                    post.push(&self.queue, body, true);
                }
                Ok(())
            }
            None => Err(BrokerError::UnknownDelivery(tag)),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Drop for FaultyConsumer {
    fn drop(&mut self) {
        let mut post = lock(&self.world.post);
        if post.life != self.life {
            return;
        }
        for body in std::mem::take(&mut self.unsettled).into_values() {
            post.push(&self.queue, body, true);
        }
        if let Some(queue) = post.queues.get_mut(&self.queue) {
            queue.listeners.remove(&self.number);
        }
    }
}
