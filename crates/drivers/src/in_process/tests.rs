//! What this broker promises beyond the contract, and the corners of its own making.

use std::future::{Future, pending, ready};
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::broadcast;
use turnwise_core::event::Cursor;
use turnwise_core::limits;
use turnwise_core::name::Name;

use super::InProcessBroker;
use super::stored::PAGE;
use crate::broker::{Broker, BrokerError, Consumer, Declare, Routing, Settled};
use crate::clock::SystemClock;
use crate::memory::MemoryStore;
use crate::store::{
    Answer, Blob, Committed, Filter, Found, JobsPage, Outcome, QueueUnit, Read, Ready, ReadyAnswer, Store,
    StoreError, Tail, Unit,
};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn body(number: usize) -> Blob {
    number.to_string().into_bytes().into()
}

fn number(body: &Blob) -> usize {
    str::from_utf8(body).unwrap().parse().unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock)))
}

/// Polls once. Everything here answers at once or waits for a message.
fn now<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A broker with a queue, bound directly by its name.
fn broker(store: Option<&Arc<dyn Store>>, queue: &str) -> InProcessBroker {
    let broker = InProcessBroker::new(store.cloned());
    bind(&broker, queue, Routing::Direct, queue, store.is_some()).unwrap();
    broker
}

fn bind(
    broker: &InProcessBroker,
    exchange: &str,
    routing: Routing,
    queue: &str,
    durable: bool,
) -> Result<(), BrokerError> {
    let (exchange, queue) = (name(exchange), name(queue));
    now(broker.declare(Declare { exchange, routing, queue, key: "key".into(), durable })).unwrap()
}

fn publish(broker: &InProcessBroker, exchange: &str, numbers: impl IntoIterator<Item = usize>) {
    for number in numbers {
        now(broker.publish(&name(exchange), "key", body(number))).unwrap().unwrap();
    }
}

fn consume(broker: &InProcessBroker, queue: &str, ahead: usize) -> Box<dyn Consumer> {
    now(broker.consume(&name(queue), ahead)).unwrap().unwrap()
}

/// The next delivery: its number and whether it comes again; nothing if there is none.
fn next(consumer: &mut Box<dyn Consumer>) -> Option<(usize, bool, u64)> {
    let delivery = now(consumer.next())?.unwrap();
    Some((number(&delivery.body), delivery.again, delivery.tag))
}

fn take(consumer: &mut Box<dyn Consumer>, expected: usize, again: bool) -> u64 {
    let (number, is_again, tag) = next(consumer).expect("a message waits");
    assert_eq!((number, is_again), (expected, again));
    tag
}

fn take_all(consumer: &mut Box<dyn Consumer>, expected: Range<usize>, again: bool) {
    for number in expected {
        take(consumer, number, again);
    }
}

fn settle(consumer: &mut Box<dyn Consumer>, tag: u64, settled: Settled) {
    now(consumer.settle(tag, settled)).unwrap().unwrap();
}

#[test]
fn durable_queues_need_a_store() {
    let broker = InProcessBroker::new(None);
    let refused = bind(&broker, "exchange", Routing::Direct, "queue", true);
    assert!(matches!(refused, Err(BrokerError::NoStore(_))));
}

#[test]
fn declaring_differently_is_refused_and_changes_nothing() {
    let store = memory();
    let broker = broker(Some(&store), "queue");
    bind(&broker, "queue", Routing::Direct, "queue", true).unwrap();
    let refused = bind(&broker, "queue", Routing::Topic, "other", false);
    assert!(matches!(refused, Err(BrokerError::Mismatch(what)) if what == name("queue")));
    let refused = bind(&broker, "new", Routing::Direct, "queue", false);
    assert!(matches!(refused, Err(BrokerError::Mismatch(_))));
    let unknown = now(broker.consume(&name("other"), 1)).unwrap();
    assert!(matches!(unknown, Err(BrokerError::UnknownQueue(_))));
    bind(&broker, "new", Routing::Fanout, "other", false).unwrap();
}

#[test]
fn what_comes_back_takes_its_old_place() {
    let broker = broker(None, "queue");
    publish(&broker, "queue", 0..6);
    let (mut first, mut second) = (consume(&broker, "queue", 8), consume(&broker, "queue", 8));
    let back = take(&mut first, 0, false);
    take(&mut second, 1, false);
    take(&mut first, 2, false);
    take(&mut second, 3, false);
    drop(second);
    settle(&mut first, back, Settled::Back);
    take(&mut first, 0, true);
    take(&mut first, 1, true);
    drop(first);
    let mut third = consume(&broker, "queue", 8);
    take_all(&mut third, 0..4, true);
    take_all(&mut third, 4..6, false);
}

#[test]
fn a_consumer_with_full_hands_waits_until_it_settles() {
    let broker = broker(None, "queue");
    publish(&broker, "queue", 0..3);
    let mut consumer = consume(&broker, "queue", 2);
    let first = take(&mut consumer, 0, false);
    take(&mut consumer, 1, false);
    assert!(next(&mut consumer).is_none());
    settle(&mut consumer, first, Settled::Dropped);
    take(&mut consumer, 2, false);
    let twice = now(consumer.settle(first, Settled::Done)).unwrap();
    assert!(matches!(twice, Err(BrokerError::UnknownDelivery(tag)) if tag == first));
}

#[test]
fn a_publish_that_one_queue_refuses_reaches_none() {
    let store = memory();
    let broker = broker(Some(&store), "stored");
    let push = || Unit::Queue(QueueUnit::Push(name("stored"), body(0)));
    bind(&broker, "all", Routing::Fanout, "full", false).unwrap();
    publish(&broker, "all", 0..limits::QUEUE_MESSAGES);
    bind(&broker, "all", Routing::Fanout, "empty", false).unwrap();
    bind(&broker, "all", Routing::Fanout, "stored", true).unwrap();
    let refused = now(broker.publish(&name("all"), "", body(1))).unwrap();
    assert!(matches!(refused, Err(BrokerError::Full(queue)) if queue == name("full")));
    assert!(next(&mut consume(&broker, "empty", 1)).is_none());
    assert!(next(&mut consume(&broker, "stored", 1)).is_none());

    let mut consumer = consume(&broker, "full", 1);
    let tag = take(&mut consumer, 0, false);
    settle(&mut consumer, tag, Settled::Done);
    // The store is the judge of its queues: here it knows of messages that the broker has not seen.
    now(store.commit(std::iter::repeat_with(push).take(limits::QUEUE_MESSAGES).collect())).unwrap().unwrap();
    let refused = now(broker.publish(&name("all"), "", body(1))).unwrap();
    assert!(matches!(refused, Err(BrokerError::Full(queue)) if queue == name("stored")));
    assert!(next(&mut consume(&broker, "empty", 1)).is_none());
}

#[test]
fn a_publish_that_is_given_up_keeps_no_room() {
    let store = memory();
    let broker = broker(Some(&store), "queue");
    for _ in 0..limits::QUEUE_MESSAGES + 1 {
        drop(broker.publish(&name("queue"), "key", body(0)));
    }
    publish(&broker, "queue", [7]);
    take(&mut consume(&broker, "queue", 1), 7, false);
}

#[test]
fn a_message_too_large_is_refused() {
    let broker = broker(None, "queue");
    let large: Blob = vec![0; limits::PAYLOAD_BYTES + 1].into();
    let refused = now(broker.publish(&name("queue"), "key", large)).unwrap();
    assert!(matches!(refused, Err(BrokerError::Refused(_))));
}

#[test]
fn a_deep_durable_queue_is_read_in_order_page_by_page() {
    let store = memory();
    let deep = 3 * PAGE + 7;
    let first_life = broker(Some(&store), "queue");
    publish(&first_life, "queue", 0..deep);
    let mut consumer = consume(&first_life, "queue", deep);
    let tag = take(&mut consumer, 0, false);
    settle(&mut consumer, tag, Settled::Done);
    take_all(&mut consumer, 1..deep / 2, false);
    drop(first_life);
    assert!(now(consumer.next()).unwrap().is_none(), "the consumer ends with its broker");

    let second_life = broker(Some(&store), "queue");
    publish(&second_life, "queue", deep..deep + 3);
    let mut consumer = consume(&second_life, "queue", 2 * deep);
    take_all(&mut consumer, 1..deep, true);
    take_all(&mut consumer, deep..deep + 3, false);
    assert!(next(&mut consumer).is_none());
}

#[test]
fn an_unconfirmed_message_that_the_store_has_keeps_its_place() {
    let store = memory();
    let broker = broker(Some(&store), "queue");
    let mut consumer = consume(&broker, "queue", 8);
    publish(&broker, "queue", [0]);
    // As if a publisher had been cancelled between the commit and its answer.
    now(store.commit(vec![Unit::Queue(QueueUnit::Push(name("queue"), body(1)))])).unwrap().unwrap();
    publish(&broker, "queue", [2, 3]);
    take_all(&mut consumer, 0..4, false);
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A consumer's wait, with a bell of its own.
struct Wait<'a> {
    next: Answer<'a, Option<crate::broker::Delivery>>,
    bell: Arc<Bell>,
}

impl<'a> Wait<'a> {
    fn begin(consumer: &'a mut Box<dyn Consumer>) -> Self {
        let mut wait = Wait { next: consumer.next(), bell: Arc::default() };
        assert!(wait.poll().is_none(), "nothing is there yet");
        wait
    }

    fn poll(&mut self) -> Option<usize> {
        let waker = Waker::from(self.bell.clone());
        match self.next.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(delivery) => Some(number(&delivery.unwrap().body)),
            Poll::Pending => None,
        }
    }

    fn rings(&self) -> usize {
        self.bell.0.load(Ordering::Relaxed)
    }
}

#[test]
fn one_message_wakes_one_consumer() {
    let broker = broker(None, "queue");
    let mut consumers: Vec<_> = (0..4).map(|_| consume(&broker, "queue", 1)).collect();
    let mut waits: Vec<_> = consumers.iter_mut().map(Wait::begin).collect();
    publish(&broker, "queue", [0, 1]);
    assert_eq!(waits.iter().map(Wait::rings).collect::<Vec<_>>(), [1, 1, 0, 0]);
    assert_eq!(waits.iter_mut().map(Wait::poll).collect::<Vec<_>>(), [Some(0), Some(1), None, None]);
}

#[test]
fn a_wait_given_up_passes_its_wake_up_on() {
    let broker = broker(None, "queue");
    let (mut first, mut second) = (consume(&broker, "queue", 1), consume(&broker, "queue", 1));
    let given_up = Wait::begin(&mut first);
    let mut other = Wait::begin(&mut second);
    publish(&broker, "queue", [0]);
    assert_eq!((given_up.rings(), other.rings()), (1, 0));
    drop(given_up);
    assert_eq!((other.rings(), other.poll()), (1, Some(0)));
}

#[test]
fn what_a_consumer_leaves_wakes_another() {
    let broker = broker(None, "queue");
    let (mut first, mut second) = (consume(&broker, "queue", 8), consume(&broker, "queue", 8));
    publish(&broker, "queue", [0, 1]);
    take(&mut first, 0, false);
    take(&mut first, 1, false);
    let mut other = Wait::begin(&mut second);
    drop(first);
    assert_eq!((other.rings(), other.poll()), (1, Some(0)));
}

#[test]
fn waiting_consumers_end_with_their_broker() {
    let broker = broker(None, "queue");
    let mut consumer = consume(&broker, "queue", 1);
    let mut wait = Wait::begin(&mut consumer);
    drop(broker);
    assert_eq!(wait.rings(), 1);
    assert!(matches!(wait.next.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None)));
}

/// A store that can be made to fail or to keep its readers waiting.
struct Faulty {
    inner: Arc<dyn Store>,
    fails: AtomicBool,
    hangs: AtomicBool,
}

impl Faulty {
    fn broker() -> (Arc<Faulty>, InProcessBroker) {
        let faulty = Faulty { inner: memory(), fails: AtomicBool::new(false), hangs: AtomicBool::new(false) };
        let faulty = Arc::new(faulty);
        let store: Arc<dyn Store> = faulty.clone();
        (faulty, broker(Some(&store), "queue"))
    }

    fn set(flag: &AtomicBool, on: bool) {
        flag.store(on, Ordering::Relaxed);
    }

    fn is(flag: &AtomicBool) -> bool {
        flag.load(Ordering::Relaxed)
    }
}

impl Store for Faulty {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>> {
        if Faulty::is(&self.fails) {
            Box::pin(ready(Err(StoreError::Full)))
        } else {
            self.inner.commit(units)
        }
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        match (Faulty::is(&self.hangs), Faulty::is(&self.fails)) {
            (true, _) => Box::pin(pending()),
            (false, true) => Box::pin(ready(Err(StoreError::Failed("made to".into())))),
            (false, false) => self.inner.read(what),
        }
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        self.inner.ready(what)
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        self.inner.tail(after, limit)
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        self.inner.list(filter)
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.inner.watch()
    }
}

#[test]
fn a_read_given_up_is_taken_over_by_a_waiting_consumer() {
    let (store, broker) = Faulty::broker();
    publish(&broker, "queue", 0..PAGE + 1);
    let (mut first, mut second) = (consume(&broker, "queue", 2 * PAGE), consume(&broker, "queue", 8));
    take_all(&mut first, 0..PAGE, false);
    Faulty::set(&store.hangs, true);
    let reading = Wait::begin(&mut first);
    let mut waiting = Wait::begin(&mut second);
    Faulty::set(&store.hangs, false);
    assert_eq!((waiting.rings(), waiting.poll()), (0, None), "one reads at a time");
    drop(reading);
    assert_eq!((waiting.rings(), waiting.poll()), (1, Some(PAGE)));
}

#[test]
fn a_consumer_ends_when_its_queue_cannot_be_read_and_a_new_one_goes_on() {
    let (store, broker) = Faulty::broker();
    publish(&broker, "queue", 0..PAGE + 1);
    let mut consumer = consume(&broker, "queue", 2 * PAGE);
    take_all(&mut consumer, 0..PAGE, false);
    Faulty::set(&store.fails, true);
    assert!(now(consumer.next()).unwrap().is_none());
    Faulty::set(&store.fails, false);
    drop(consumer);
    let mut consumer = consume(&broker, "queue", 2 * PAGE);
    take_all(&mut consumer, 0..PAGE, true);
    take(&mut consumer, PAGE, false);
}

#[test]
fn when_the_store_fails_nothing_is_published_and_settling_can_be_tried_again() {
    let (store, broker) = Faulty::broker();
    bind(&broker, "queue", Routing::Direct, "transient", false).unwrap();
    publish(&broker, "queue", [0]);
    let (mut durable, mut transient) = (consume(&broker, "queue", 8), consume(&broker, "transient", 8));
    let tag = take(&mut durable, 0, false);
    take(&mut transient, 0, false);
    Faulty::set(&store.fails, true);
    let refused = now(broker.publish(&name("queue"), "key", body(1))).unwrap();
    assert!(matches!(refused, Err(BrokerError::Store(StoreError::Full))));
    assert!(now(durable.settle(tag, Settled::Done)).unwrap().is_err());
    assert!(next(&mut durable).is_none() && next(&mut transient).is_none());
    Faulty::set(&store.fails, false);
    settle(&mut durable, tag, Settled::Done);
    drop(durable);
    assert!(next(&mut consume(&broker, "queue", 8)).is_none());
}
