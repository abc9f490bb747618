//! A broker whose messages are counted, whichever it is.

use std::sync::Arc;

use metrics::counter;
use turnwise_core::name::Name;

use crate::broker::{Broker, BrokerError, Consumer, Declare, Delivery, Settled};
use crate::store::{Answer, Blob};

/// Counts what goes through a broker. Without a recorder, counting costs next to nothing.
pub(crate) struct Counted(pub(crate) Arc<dyn Broker>);

impl Broker for Counted {
    fn declare(&self, declare: Declare) -> Answer<'_, Result<(), BrokerError>> {
        self.0.declare(declare)
    }

    fn publish(&self, exchange: &Name, key: &str, body: Blob) -> Answer<'_, Result<(), BrokerError>> {
        let queue = key.to_owned();
        // Sent when it is called, as whoever calls expects.
        let sent = self.0.publish(exchange, key, body);
        counter!("turnwise_broker_published_total", "queue" => queue.clone()).increment(1);
        Box::pin(async move {
            let answer = sent.await;
            match &answer {
                Ok(()) => counter!("turnwise_broker_confirmed_total", "queue" => queue).increment(1),
                Err(_) => counter!("turnwise_broker_failed_total", "queue" => queue).increment(1),
            }
            answer
        })
    }

    fn consume(&self, queue: &Name, ahead: usize) -> Answer<'_, Result<Box<dyn Consumer>, BrokerError>> {
        let (name, asked) = (queue.to_string(), self.0.consume(queue, ahead));
        Box::pin(async move {
            let inner = asked.await?;
            let counters = (
                counter!("turnwise_broker_consumed_total", "queue" => name.clone()),
                counter!("turnwise_broker_redelivered_total", "queue" => name),
            );
            Ok(Box::new(CountedConsumer { inner, counters }) as Box<dyn Consumer>)
        })
    }
}

struct CountedConsumer {
    inner: Box<dyn Consumer>,
    counters: (metrics::Counter, metrics::Counter),
}

impl Consumer for CountedConsumer {
    fn next(&mut self) -> Answer<'_, Option<Delivery>> {
        let Self { inner, counters } = self;
        Box::pin(async move {
            let delivery = inner.next().await?;
            counters.0.increment(1);
            if delivery.again {
                counters.1.increment(1);
            }
            Some(delivery)
        })
    }

    fn settle(&mut self, tag: u64, settled: Settled) -> Answer<'_, Result<(), BrokerError>> {
        self.inner.settle(tag, settled)
    }
}
