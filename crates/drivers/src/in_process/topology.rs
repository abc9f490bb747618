//! Exchanges, queues, and which key leads from one to the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnwise_core::name::Name;

use super::queue::Queue;
use super::topic;
use crate::broker::{BrokerError, Declare, Routing};

/// Everything that was declared. Ordered maps, so that a simulation goes the same way each time.
#[derive(Default)]
pub(super) struct Topology {
    exchanges: BTreeMap<Name, Exchange>,
    queues: BTreeMap<Name, Arc<Queue>>,
}

struct Exchange {
    routing: Routing,
    /// Keys that fit only themselves: found by looking up, however many rooms there are.
    exact: BTreeMap<String, Vec<Arc<Queue>>>,
    /// Keys that must be tried one by one.
    patterns: Vec<(String, Arc<Queue>)>,
}

impl Topology {
    /// The queue of this name.
    pub(super) fn queue(&self, name: &Name) -> Option<&Arc<Queue>> {
        self.queues.get(name)
    }

    /// Every queue.
    pub(super) fn queues(&self) -> impl Iterator<Item = &Arc<Queue>> {
        self.queues.values()
    }

    /// Refuses what was declared differently before.
    pub(super) fn check(&self, declare: &Declare) -> Result<(), BrokerError> {
        let exchange = self.exchanges.get(&declare.exchange);
        if exchange.is_some_and(|exchange| exchange.routing != declare.routing) {
            return Err(BrokerError::Mismatch(declare.exchange.clone()));
        }
        let queue = self.queues.get(&declare.queue);
        if queue.is_some_and(|queue| queue.is_durable() != declare.durable) {
            return Err(BrokerError::Mismatch(declare.queue.clone()));
        }
        Ok(())
    }

    /// Binds a queue. If somebody declared one of the same name meanwhile, that one stays.
    pub(super) fn bind(&mut self, declare: Declare, queue: Arc<Queue>) -> Result<(), BrokerError> {
        self.check(&declare)?;
        let queue = self.queues.entry(declare.queue).or_insert(queue).clone();
        let empty = || Exchange { routing: declare.routing, exact: BTreeMap::new(), patterns: Vec::new() };
        self.exchanges.entry(declare.exchange).or_insert_with(empty).bind(declare.key, queue);
        Ok(())
    }

    /// The queues that a message goes to, each once.
    pub(super) fn route(&self, exchange: &Name, key: &str) -> Vec<Arc<Queue>> {
        self.exchanges.get(exchange).map_or_else(Vec::new, |exchange| exchange.route(key))
    }
}

impl Exchange {
    fn bind(&mut self, key: String, queue: Arc<Queue>) {
        let (key, is_pattern) = match self.routing {
            Routing::Direct => (key, false),
            Routing::Topic => {
                let is_pattern = topic::is_pattern(&key);
                (key, is_pattern)
            }
            // Whatever the keys say, everything goes to everybody.
            Routing::Fanout => ("#".to_owned(), true),
        };
        if !is_pattern {
            add(self.exact.entry(key).or_default(), &queue);
        } else if !self.patterns.iter().any(|(bound, to)| *bound == key && Arc::ptr_eq(to, &queue)) {
            self.patterns.push((key, queue));
        }
    }

    fn route(&self, key: &str) -> Vec<Arc<Queue>> {
        let mut queues = self.exact.get(key).cloned().unwrap_or_default();
        for (pattern, queue) in &self.patterns {
            if topic::fits(pattern, key) {
                add(&mut queues, queue);
            }
        }
        queues
    }
}

/// Adds a queue unless it is there: a queue that is bound by two keys gets one copy.
fn add(queues: &mut Vec<Arc<Queue>>, queue: &Arc<Queue>) {
    if !queues.iter().any(|other| Arc::ptr_eq(other, queue)) {
        queues.push(queue.clone());
    }
}
