//! The rules of the broker contract. Written so that a broker behind a network can keep them too: nothing
//! here concludes from silence, except that a consumer with full hands is given no more.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};

use turnwise_core::limits;
use turnwise_core::name::Name;

use crate::broker::{Broker, BrokerError, Consumer, Declare, Delivery, Routing, Settled};
use crate::store::{Answer, Blob};

/// One broker to be tested, and what it runs on.
pub trait BrokerFactory: Sized + Send {
    /// A broker on which nothing was declared yet.
    fn fresh() -> impl Future<Output = Self> + Send;

    /// The broker.
    fn broker(&self) -> &dyn Broker;

    /// Stops the broker, with what it runs on, and starts it again. Every consumer was dropped before.
    fn restart(&mut self) -> impl Future<Output = ()> + Send;

    /// Messages that a queue holds before it refuses.
    fn room(&self) -> usize {
        limits::QUEUE_MESSAGES
    }

    /// Whether what was delivered and is not settled takes room in its queue. Servers that count only what waits say
    /// no; what a consumer holds is bounded there by how far ahead it may be.
    fn counts_unsettled(&self) -> bool {
        true
    }
}

/// Makes one test for each rule of the broker contract. Takes a [`BrokerFactory`]; give each its own module.
#[macro_export]
macro_rules! broker_conformance {
    ($factory:ty) => {
        $crate::broker_conformance! { $factory:
            delivered_in_order
            routed_to_every_bound_queue
            durable_messages_outlive_a_restart
            unsettled_deliveries_come_again
            consumers_share_a_queue
            an_unroutable_message_is_refused
            a_full_queue_refuses
        }
    };
    ($factory:ty: $($rule:ident)*) => {
        $(
            #[tokio::test]
            async fn $rule() {
                $crate::conformance::broker::$rule::<$factory>().await;
            }
        )*
    };
}

const EXCHANGE: &str = "suite.exchange";
const KEYS: [&str; 2] = ["transient", "durable"];

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Binds a queue; its name says whether it is durable.
async fn bind(broker: &dyn Broker, exchange: &str, routing: Routing, key: &str, queue: &str) {
    let (exchange, durable) = (name(exchange), queue.starts_with("durable"));
    broker
        .declare(Declare { exchange, routing, queue: name(queue), key: key.into(), durable })
        .await
        .unwrap();
}

/// A transient and a durable queue, each bound by its own name.
async fn bind_both(broker: &dyn Broker) {
    for key in KEYS {
        bind(broker, EXCHANGE, Routing::Direct, key, key).await;
    }
}

fn send<'a>(
    broker: &'a dyn Broker,
    exchange: &str,
    key: &str,
    text: &str,
) -> Answer<'a, Result<(), BrokerError>> {
    broker.publish(&name(exchange), key, text.as_bytes().into())
}

async fn send_all(broker: &dyn Broker, key: &str, texts: &[&str]) {
    for text in texts {
        send(broker, EXCHANGE, key, text).await.unwrap();
    }
}

fn text(body: &Blob) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}

async fn next(consumer: &mut Box<dyn Consumer>) -> Delivery {
    consumer.next().await.expect("the consumer goes on")
}

/// Takes and settles one message.
async fn finish(consumer: &mut Box<dyn Consumer>) -> String {
    let delivery = next(consumer).await;
    consumer.settle(delivery.tag, Settled::Done).await.unwrap();
    text(&delivery.body)
}

/// Takes so many messages and settles none.
async fn hold(consumer: &mut Box<dyn Consumer>, count: usize) -> Vec<(String, bool)> {
    let mut held = Vec::new();
    for _ in 0..count {
        let delivery = next(consumer).await;
        held.push((text(&delivery.body), delivery.again));
    }
    held
}

/// Whether a wait has not ended yet.
fn is_waiting(mut wait: Answer<'_, Option<Delivery>>) -> bool {
    wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

/// Awaits many answers at once, in the order in which they were asked for.
async fn all<T>(mut waiting: Vec<Answer<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut pending = false;
        for (answer, done) in waiting.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            match answer.as_mut().poll(context) {
                Poll::Ready(output) => *done = Some(output),
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// What one publisher publishes arrives in that order, whether somebody waits for it or not.
pub async fn delivered_in_order<F: BrokerFactory>() {
    let factory = F::fresh().await;
    let broker = factory.broker();
    bind_both(broker).await;
    for key in KEYS {
        let sent: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let (early, late) = sent.split_at(20);
        for text in early {
            send(broker, EXCHANGE, key, text).await.unwrap();
        }
        let mut consumer = broker.consume(&name(key), 4).await.unwrap();
        let mut seen = Vec::new();
        for _ in early {
            seen.push(finish(&mut consumer).await);
        }
        for text in late {
            send(broker, EXCHANGE, key, text).await.unwrap();
            seen.push(finish(&mut consumer).await);
        }
        assert_eq!(seen, sent, "{key}");
    }
}

/// A message reaches each queue that its key leads to, once, and no other.
pub async fn routed_to_every_bound_queue<F: BrokerFactory>() {
    let factory = F::fresh().await;
    let broker = factory.broker();
    let bindings = [
        ("direct", Routing::Direct, "red", "one"),
        ("direct", Routing::Direct, "red", "durable.two"),
        ("direct", Routing::Direct, "blue", "three"),
        ("topic", Routing::Topic, "room.*", "one"),
        ("topic", Routing::Topic, "room.7", "one"),
        ("topic", Routing::Topic, "#.7", "durable.two"),
        ("topic", Routing::Topic, "room.8", "three"),
        ("fan", Routing::Fanout, "", "one"),
        ("fan", Routing::Fanout, "ignored", "durable.two"),
        ("fan", Routing::Fanout, "", "three"),
    ];
    for (exchange, routing, key, queue) in bindings {
        bind(broker, exchange, routing, key, queue).await;
        bind(broker, exchange, routing, key, queue).await;
    }
    let messages = [
        ("direct", "red", "to red"),
        ("direct", "blue", "to blue"),
        ("topic", "room.7", "to room 7"),
        ("topic", "room.8", "to room 8"),
        ("topic", "a.b.7", "to any 7"),
        ("fan", "whatever", "to all"),
        // The last one: what was not seen before it was not sent there.
        ("fan", "", "end"),
    ];
    for (exchange, key, text) in messages {
        send(broker, exchange, key, text).await.unwrap();
    }
    let expected: [(&str, &[&str]); 3] = [
        ("one", &["to red", "to room 7", "to room 8", "to all"]),
        ("durable.two", &["to red", "to room 7", "to any 7", "to all"]),
        ("three", &["to blue", "to room 8", "to all"]),
    ];
    for (queue, texts) in expected {
        let mut consumer = broker.consume(&name(queue), 1).await.unwrap();
        let mut seen = Vec::new();
        loop {
            match finish(&mut consumer).await {
                text if text == "end" => break,
                text => seen.push(text),
            }
        }
        assert_eq!(seen, texts, "{queue}");
    }
}

/// What a durable queue took over is there after a restart, in order, unless it was settled. What was
/// delivered before is marked.
pub async fn durable_messages_outlive_a_restart<F: BrokerFactory>() {
    let mut factory = F::fresh().await;
    let broker = factory.broker();
    bind_both(broker).await;
    send_all(broker, "durable", &["settled", "dropped", "delivered", "waiting"]).await;
    let mut consumer = broker.consume(&name("durable"), 8).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "settled");
    let dropped = next(&mut consumer).await;
    consumer.settle(dropped.tag, Settled::Dropped).await.unwrap();
    assert_eq!(text(&next(&mut consumer).await.body), "delivered");
    drop(consumer);

    factory.restart().await;
    let broker = factory.broker();
    bind_both(broker).await;
    send_all(broker, "durable", &["new"]).await;
    let mut consumer = broker.consume(&name("durable"), 8).await.unwrap();
    let first = next(&mut consumer).await;
    assert_eq!((text(&first.body).as_str(), first.again), ("delivered", true));
    assert_eq!(text(&next(&mut consumer).await.body), "waiting");
    let last = next(&mut consumer).await;
    assert_eq!((text(&last.body).as_str(), last.again), ("new", false));
}

/// What a consumer gives back, or leaves when it goes, comes again before what was never delivered, in order
/// and marked.
pub async fn unsettled_deliveries_come_again<F: BrokerFactory>() {
    let factory = F::fresh().await;
    let broker = factory.broker();
    bind_both(broker).await;
    for key in KEYS {
        send_all(broker, key, &["a", "b", "c", "d"]).await;
        let mut consumer = broker.consume(&name(key), 3).await.unwrap();
        let first = next(&mut consumer).await;
        assert_eq!((text(&first.body).as_str(), first.again), ("a", false));
        consumer.settle(first.tag, Settled::Back).await.unwrap();
        drop(consumer);

        let mut consumer = broker.consume(&name(key), 3).await.unwrap();
        let held = hold(&mut consumer, 3).await;
        assert_eq!(held[0], ("a".to_owned(), true), "{key}");
        assert!(held[1..].iter().map(|(text, _)| text).eq(["b", "c"]), "{key}");
        drop(consumer);

        let mut consumer = broker.consume(&name(key), 8).await.unwrap();
        let held = hold(&mut consumer, 4).await;
        assert!(held.iter().map(|(text, _)| text).eq(["a", "b", "c", "d"]), "{key}");
        assert!(held[..3].iter().all(|(_, again)| *again), "{key}");
        assert!(!held[3].1, "{key}: never delivered before");
    }
}

/// Each message goes to one of several consumers, and one with full hands leaves the others' share alone. A
/// wait that is given up loses nothing.
pub async fn consumers_share_a_queue<F: BrokerFactory>() {
    let factory = F::fresh().await;
    let broker = factory.broker();
    bind_both(broker).await;
    for key in KEYS {
        let mut full = broker.consume(&name(key), 1).await.unwrap();
        assert!(is_waiting(full.next()), "{key}: nothing was sent");
        send_all(broker, key, &["a"]).await;
        let first = next(&mut full).await;
        assert!(is_waiting(full.next()), "{key}: its hands are full");
        let mut other = broker.consume(&name(key), 1).await.unwrap();
        assert!(is_waiting(other.next()), "{key}: the message is taken");
        send_all(broker, key, &["b", "c", "d"]).await;
        let mut seen = BTreeSet::from([text(&first.body)]);
        seen.insert(finish(&mut other).await);
        seen.insert(finish(&mut other).await);
        full.settle(first.tag, Settled::Done).await.unwrap();
        let (mut one, mut two) = (full.next(), other.next());
        let last = poll_fn(|context| match one.as_mut().poll(context) {
            Poll::Ready(delivery) => Poll::Ready(delivery),
            Poll::Pending => two.as_mut().poll(context),
        });
        seen.insert(text(&last.await.unwrap().body));
        assert!(seen.iter().eq(["a", "b", "c", "d"]), "{key}: {seen:?}");
    }
}

/// A publisher is told when no queue is bound for its message, and nothing has happened.
pub async fn an_unroutable_message_is_refused<F: BrokerFactory>() {
    let factory = F::fresh().await;
    let broker = factory.broker();
    let is_refused = |sent| matches!(sent, Err(BrokerError::Unroutable { .. }));
    assert!(is_refused(send(broker, "nowhere", "key", "x").await));
    bind(broker, "direct", Routing::Direct, "a", "transient").await;
    assert!(is_refused(send(broker, "direct", "b", "x").await));
    bind(broker, "topic", Routing::Topic, "room.*", "transient").await;
    assert!(is_refused(send(broker, "topic", "room.1.more", "x").await));
    send(broker, "topic", "room.1", "fits").await.unwrap();
    let mut consumer = broker.consume(&name("transient"), 1).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "fits");
}

/// A queue without room refuses, keeps what it has, and takes more when something was settled.
pub async fn a_full_queue_refuses<F: BrokerFactory>() {
    /// Publishes under way at once.
    const AT_ONCE: usize = 1_024;
    let factory = F::fresh().await;
    let broker = factory.broker();
    bind_both(broker).await;
    for key in KEYS {
        let mut left = factory.room();
        while left > 0 {
            let count = left.min(AT_ONCE);
            let sent = all((0..count).map(|_| send(broker, EXCHANGE, key, "fill")).collect()).await;
            sent.into_iter().for_each(Result::unwrap);
            left -= count;
        }
        let over = send(broker, EXCHANGE, key, "over").await;
        assert!(matches!(over, Err(BrokerError::Full(queue)) if queue == name(key)), "{key}");
        let mut consumer = broker.consume(&name(key), 1).await.unwrap();
        let first = next(&mut consumer).await;
        if factory.counts_unsettled() {
            let over = send(broker, EXCHANGE, key, "over").await;
            assert!(over.is_err(), "{key}: what is not settled takes room");
        }
        consumer.settle(first.tag, Settled::Done).await.unwrap();
        send(broker, EXCHANGE, key, "fits").await.unwrap();
    }
}
