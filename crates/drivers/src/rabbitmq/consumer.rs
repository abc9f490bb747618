//! Receives from one queue, on a channel of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::FieldTable;
use lapin::{Acker, Channel, Connection};
use tokio::runtime::Handle;
use tokio::time::timeout;
use turnwise_core::name::Name;

use super::Leaving;
use super::address::{code, lost};
use super::topology::Topology;
use crate::broker::{BrokerError, Consumer, Delivery, Settled};
use crate::store::Answer;

/// How long the server may take to close a channel.
const CLOSE: Duration = Duration::from_secs(2);

/// A consumer. What it has not settled goes back when it is dropped.
pub(super) struct RabbitConsumer {
    channel: Channel,
    /// Nothing once it has ended.
    deliveries: Option<lapin::Consumer>,
    unsettled: BTreeMap<u64, Acker>,
    leaving: Arc<Leaving>,
    runtime: Handle,
}

impl RabbitConsumer {
    /// Begins to receive, with at most `ahead` deliveries not settled, and at least one.
    pub(super) async fn open(
        connection: &Connection,
        topology: &Topology,
        queue: &Name,
        ahead: usize,
        leaving: Arc<Leaving>,
    ) -> Result<Self, BrokerError> {
        let full = topology.full(queue)?;
        let channel = connection.create_channel().await.map_err(|error| lost(&error))?;
        let ahead = u16::try_from(ahead.max(1)).unwrap_or(u16::MAX);
        channel.basic_qos(ahead, BasicQosOptions::default()).await.map_err(|error| lost(&error))?;
        // The server chooses a tag that nobody else has.
        let (tag, options) = ("".into(), BasicConsumeOptions::default());
        let consumer = channel.basic_consume(full, tag, options, FieldTable::default()).await;
        let deliveries = consumer.map_err(|error| match code(&error) {
            Some(404) => BrokerError::UnknownQueue(queue.clone()),
            _ => lost(&error),
        })?;
        let runtime = Handle::current();
        Ok(RabbitConsumer {
            channel,
            deliveries: Some(deliveries),
            unsettled: BTreeMap::new(),
            leaving,
            runtime,
        })
    }

    async fn receive(&mut self) -> Option<Delivery> {
        match self.deliveries.as_mut()?.next().await {
            Some(Ok(message)) => {
                let (tag, again) = (message.delivery_tag, message.redelivered);
                self.unsettled.insert(tag, message.acker);
                Some(Delivery { tag, body: message.data.into(), again })
            }
            ended => {
                if let Some(Err(error)) = ended {
                    tracing::warn!(%error, "a consumer has ended");
                }
                // Whatever is not settled is delivered to somebody else now.
                self.deliveries = None;
                self.unsettled.clear();
                None
            }
        }
    }

    async fn say(&mut self, tag: u64, settled: Settled) -> Result<(), BrokerError> {
        let acker = self.unsettled.remove(&tag).ok_or(BrokerError::UnknownDelivery(tag))?;
        let said = match settled {
            Settled::Done => acker.ack(BasicAckOptions::default()).await,
            Settled::Back => acker.reject(BasicRejectOptions { requeue: true }).await,
            Settled::Dropped => acker.reject(BasicRejectOptions { requeue: false }).await,
        };
        match said {
            Ok(true) => Ok(()),
            // The channel has ended, and with it this delivery.
            Ok(false) => Err(BrokerError::UnknownDelivery(tag)),
            Err(error) => Err(lost(&error)),
        }
    }
}

impl Consumer for RabbitConsumer {
    fn next(&mut self) -> Answer<'_, Option<Delivery>> {
        Box::pin(self.receive())
    }

    fn settle(&mut self, tag: u64, settled: Settled) -> Answer<'_, Result<(), BrokerError>> {
        Box::pin(self.say(tag, settled))
    }
}

impl Drop for RabbitConsumer {
    fn drop(&mut self) {
        let (channel, deliveries) = (self.channel.clone(), self.deliveries.take());
        let task = self.runtime.spawn(async move {
            // The channel first: a consumer that is cancelled before leaves what it had out of order.
            let _ = timeout(CLOSE, channel.close(200, "OK".into())).await;
            drop(deliveries);
        });
        self.leaving.add(task);
    }
}
