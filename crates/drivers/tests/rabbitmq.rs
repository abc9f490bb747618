//! The broker suite over RabbitMQ, and what only a server behind a network can do to its clients.

#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::pending;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use turnwise_core::name::Name;
use turnwise_drivers::broker::{Broker, BrokerError, Consumer, Declare, Delivery, Routing, Settled};
use turnwise_drivers::conformance::broker::BrokerFactory;
use turnwise_drivers::rabbitmq::{RabbitBroker, RabbitOptions};
use turnwise_servers::{RabbitMq, Vhost, shared};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn options(url: &str) -> RabbitOptions {
    RabbitOptions { url: url.to_owned(), prefix: None, ca_file: None }
}

async fn connect(url: &str) -> RabbitBroker {
    RabbitBroker::connect(options(url)).await.unwrap()
}

/// Each test has a virtual host of its own. A restart is a new connection: the server is restarted in a test below.
struct OverRabbitMq {
    broker: RabbitBroker,
    vhost: Vhost,
}

impl BrokerFactory for OverRabbitMq {
    async fn fresh() -> Self {
        let vhost = shared::vhost().unwrap();
        OverRabbitMq { broker: connect(vhost.url()).await, vhost }
    }

    fn broker(&self) -> &dyn Broker {
        &self.broker
    }

    async fn restart(&mut self) {
        self.broker.close().await;
        self.broker = connect(self.vhost.url()).await;
    }

    fn counts_unsettled(&self) -> bool {
        false
    }
}

mod over_rabbitmq {
    turnwise_drivers::broker_conformance!(super::OverRabbitMq);
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn queue(name_of: &str, durable: bool) -> Declare {
    let (exchange, queue) = (name("exchange"), name(name_of));
    Declare { exchange, routing: Routing::Direct, queue, key: name_of.into(), durable }
}

async fn send(broker: &RabbitBroker, key: &str, text: &str) -> Result<(), BrokerError> {
    broker.publish(&name("exchange"), key, text.as_bytes().into()).await
}

/// Publishes until it is taken.
async fn insist(broker: &RabbitBroker, key: &str, text: &str) {
    let again = async {
        while let Err(error) = send(broker, key, text).await {
            assert!(matches!(error, BrokerError::Unreachable(_)), "{error}");
        }
    };
    timeout(LIMIT, again).await.expect("the broker comes back");
}

/// Consumes until it can.
async fn consume_again(broker: &RabbitBroker, key: &str) -> Box<dyn Consumer> {
    let again = async {
        loop {
            match broker.consume(&name(key), 8).await {
                Ok(consumer) => break consumer,
                Err(error) => assert!(matches!(error, BrokerError::Unreachable(_)), "{error}"),
            }
        }
    };
    timeout(LIMIT, again).await.expect("the broker comes back")
}

async fn next(consumer: &mut Box<dyn Consumer>) -> Option<Delivery> {
    timeout(LIMIT, consumer.next()).await.expect("it says something")
}

async fn finish(consumer: &mut Box<dyn Consumer>) -> String {
    let delivery = next(consumer).await.unwrap();
    consumer.settle(delivery.tag, Settled::Done).await.unwrap();
    String::from_utf8(delivery.body.to_vec()).unwrap()
}

fn said(result: Result<RabbitBroker, BrokerError>) -> String {
    let error = result.err().expect("it is refused");
    assert!(matches!(error, BrokerError::Unreachable(_)), "{error}");
    format!("{error} {error:?}")
}

#[tokio::test]
async fn a_restarted_server_is_found_again_with_what_it_has_confirmed() {
    let mut server = RabbitMq::start().unwrap();
    let broker = connect(&server.url()).await;
    broker.declare(queue("durable", true)).await.unwrap();
    broker.declare(queue("transient", false)).await.unwrap();
    for text in ["one", "two", "three"] {
        send(&broker, "durable", text).await.unwrap();
    }
    let mut consumer = broker.consume(&name("durable"), 1).await.unwrap();
    let mut idle = broker.consume(&name("transient"), 1).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "one");
    let held = next(&mut consumer).await.unwrap();

    let server = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server
    });
    assert!(next(&mut idle).await.is_none(), "a consumer is told");
    let server = server.await.unwrap();
    let stale = consumer.settle(held.tag, Settled::Done).await;
    assert!(matches!(stale, Err(BrokerError::UnknownDelivery(_) | BrokerError::Unreachable(_))), "{stale:?}");
    assert!(next(&mut consumer).await.is_none());

    // Nothing is declared again by hand.
    insist(&broker, "durable", "four").await;
    insist(&broker, "transient", "hint").await;
    let mut consumer = consume_again(&broker, "durable").await;
    for text in ["two", "three", "four"] {
        assert_eq!(finish(&mut consumer).await, text);
    }
    let mut idle = consume_again(&broker, "transient").await;
    assert_eq!(finish(&mut idle).await, "hint");
    drop(server);
}

#[tokio::test]
async fn while_the_server_is_away_callers_are_told_in_bounded_time() {
    let mut server = RabbitMq::start().unwrap();
    let broker = connect(&server.url()).await;
    broker.declare(queue("durable", true)).await.unwrap();
    send(&broker, "durable", "before").await.unwrap();
    let mut server = tokio::task::spawn_blocking(move || {
        server.stop().unwrap();
        server
    })
    .await
    .unwrap();
    let start = Instant::now();
    let sent = timeout(LIMIT, send(&broker, "durable", "lost")).await.expect("bounded");
    assert!(matches!(sent, Err(BrokerError::Unreachable(_))), "{sent:?}");
    let declared = timeout(LIMIT, broker.declare(queue("other", true))).await.expect("bounded");
    assert!(matches!(declared, Err(BrokerError::Unreachable(_))), "{declared:?}");
    let consumed = timeout(LIMIT, broker.consume(&name("durable"), 1)).await.expect("bounded");
    assert!(matches!(consumed, Err(BrokerError::Unreachable(_))), "an absent server has no consumers");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    let server = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server
    });
    let server = server.await.unwrap();
    insist(&broker, "durable", "after").await;
    let mut consumer = consume_again(&broker, "durable").await;
    assert_eq!(finish(&mut consumer).await, "before");
    assert_eq!(finish(&mut consumer).await, "after", "what was refused is not sent later");
    drop(server);
}

#[tokio::test]
async fn a_server_short_of_memory_holds_publishers_and_not_consumers() {
    let server = RabbitMq::start().unwrap();
    let broker = connect(&server.url()).await;
    broker.declare(queue("durable", true)).await.unwrap();
    send(&broker, "durable", "before").await.unwrap();
    let (server, _) = tokio::task::spawn_blocking(move || {
        let done = server.control(&["set_vm_memory_high_watermark", "0"]).unwrap();
        (server, done)
    })
    .await
    .unwrap();
    // The first may slip through before the server stops reading.
    let blocked = async {
        loop {
            if let Err(error) = send(&broker, "durable", "held").await {
                break error;
            }
        }
    };
    let error = timeout(LIMIT, blocked).await.expect("publishers are told");
    assert!(matches!(&error, BrokerError::Unreachable(why) if why.contains("memory or disk")), "{error}");
    let mut consumer = broker.consume(&name("durable"), 1).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "before");
    let server = tokio::task::spawn_blocking(move || {
        server.control(&["set_vm_memory_high_watermark", "0.4"]).unwrap();
        server
    })
    .await
    .unwrap();
    insist(&broker, "durable", "after").await;
    loop {
        let text = finish(&mut consumer).await;
        if text == "after" {
            break;
        }
        assert_eq!(text, "held", "what was on its way may have arrived");
    }
    drop(server);
}

#[tokio::test]
async fn a_wrong_password_or_virtual_host_is_named_and_no_password_is_shown() {
    let vhost = shared::vhost().unwrap();
    let wrong = vhost.url().replace("guest:guest", "guest:hidden-word");
    let error = said(RabbitBroker::connect(options(&wrong)).await);
    assert!(error.contains("user `guest`") && error.contains("TURNWISE_RABBITMQ"), "{error}");
    assert!(!error.contains("hidden-word"), "{error}");
    let absent = format!("{}-absent", vhost.url());
    let error = said(RabbitBroker::connect(options(&absent)).await);
    assert!(error.contains("-absent`") && error.contains("TURNWISE_RABBITMQ"), "{error}");
    assert!(!error.contains("guest:guest"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("amqp://guest:hidden-word@{}/%2f", silent.local_addr().unwrap());
    let start = Instant::now();
    let error = said(timeout(LIMIT, RabbitBroker::connect(options(&url))).await.expect("bounded"));
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert!(error.contains("not answered") && !error.contains("hidden-word"), "{error}");
    drop(silent);
    let error = said(RabbitBroker::connect(options(&url)).await);
    assert!(error.contains("is it running") && !error.contains("hidden-word"), "{error}");
}

#[tokio::test]
async fn what_is_declared_differently_is_refused_and_disturbs_nobody() {
    let vhost = shared::vhost().unwrap();
    let broker = connect(vhost.url()).await;
    broker.declare(queue("one", true)).await.unwrap();
    let mut consumer = broker.consume(&name("one"), 1).await.unwrap();
    let other = broker.declare(queue("one", false)).await;
    assert!(matches!(other, Err(BrokerError::Mismatch(which)) if which == name("one")));
    let other = broker.declare(Declare { routing: Routing::Topic, ..queue("two", true) }).await;
    assert!(matches!(other, Err(BrokerError::Mismatch(which)) if which == name("exchange")));
    let absent = broker.consume(&name("absent"), 1).await.err().unwrap();
    assert!(matches!(absent, BrokerError::UnknownQueue(which) if which == name("absent")));
    send(&broker, "one", "still here").await.unwrap();
    assert_eq!(finish(&mut consumer).await, "still here");
    let unknown = consumer.settle(99, Settled::Done).await;
    assert!(matches!(unknown, Err(BrokerError::UnknownDelivery(99))), "{unknown:?}");
}

#[tokio::test]
async fn with_many_under_way_only_the_unroutable_are_refused() {
    let vhost = shared::vhost().unwrap();
    let broker = connect(vhost.url()).await;
    broker.declare(queue("durable", true)).await.unwrap();
    let keys = ["durable", "nowhere", "durable", "durable", "nowhere"];
    let sent: Vec<_> = (0..2_000).map(|number| (number.to_string(), keys[number % keys.len()])).collect();
    let answers = join_all(sent.iter().map(|(number, key)| send(&broker, key, number))).await;
    for ((number, key), answer) in sent.iter().zip(answers) {
        match *key {
            "durable" => answer.unwrap(),
            _ => assert!(matches!(answer, Err(BrokerError::Unroutable { .. })), "{number}: {answer:?}"),
        }
    }
    let mut consumer = broker.consume(&name("durable"), 64).await.unwrap();
    for (number, _) in sent.iter().filter(|(_, key)| *key == "durable") {
        assert_eq!(finish(&mut consumer).await, *number);
    }
}

#[tokio::test]
async fn prefixes_keep_fleets_apart() {
    let vhost = shared::vhost().unwrap();
    let prefixed = |prefix: &str| RabbitOptions { prefix: Some(prefix.into()), ..options(vhost.url()) };
    let red = RabbitBroker::connect(prefixed("red")).await.unwrap();
    let blue = RabbitBroker::connect(prefixed("blue")).await.unwrap();
    for broker in [&red, &blue] {
        broker.declare(queue("one", true)).await.unwrap();
    }
    send(&red, "one", "red").await.unwrap();
    send(&blue, "one", "blue").await.unwrap();
    let mut consumer = blue.consume(&name("one"), 4).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "blue");
    let plain = connect(vhost.url()).await;
    assert!(matches!(plain.consume(&name("one"), 1).await, Err(BrokerError::UnknownQueue(_))));
    assert!(plain.consume(&name("red.one"), 1).await.is_ok());
}

/// Stands between a client and a server. When it is told to, the lines that are open go dead without a word; new ones
/// are well.
async fn stand_between(server: String, cut: watch::Receiver<()>) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (mut cut, server) = (cut.clone(), server.clone());
            cut.mark_unchanged();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => {}
                    // Both stay open, and nobody reads.
                    _ = cut.changed() => pending().await,
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_line_that_goes_dead_without_a_word_is_noticed() {
    let vhost = shared::vhost().unwrap();
    let (server, path) = vhost.url().rsplit('@').next().unwrap().split_once('/').unwrap();
    let (cut, is_cut) = watch::channel(());
    let between = stand_between(server.to_owned(), is_cut).await;
    let broker = connect(&format!("amqp://guest:guest@{between}/{path}?heartbeat=1")).await;
    broker.declare(queue("durable", true)).await.unwrap();
    send(&broker, "durable", "before").await.unwrap();
    let mut consumer = broker.consume(&name("durable"), 1).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "before");
    cut.send_replace(());
    let sent = timeout(LIMIT, send(&broker, "durable", "lost")).await.expect("bounded");
    assert!(matches!(sent, Err(BrokerError::Unreachable(_))), "{sent:?}");
    assert!(next(&mut consumer).await.is_none(), "a consumer is told");
    insist(&broker, "durable", "after").await;
    let mut consumer = consume_again(&broker, "durable").await;
    assert_eq!(finish(&mut consumer).await, "after");
}

#[tokio::test]
async fn an_encrypted_connection_needs_a_certificate_that_is_trusted() {
    let server = RabbitMq::start_encrypted().unwrap();
    let (url, authority) = server.encrypted().unwrap();
    let trusting = RabbitOptions { ca_file: Some(authority), ..options(&url) };
    let broker = RabbitBroker::connect(trusting).await.unwrap();
    broker.declare(queue("durable", true)).await.unwrap();
    send(&broker, "durable", "secret").await.unwrap();
    let mut consumer = broker.consume(&name("durable"), 1).await.unwrap();
    assert_eq!(finish(&mut consumer).await, "secret");
    let error = said(timeout(LIMIT, RabbitBroker::connect(options(&url))).await.expect("bounded"));
    assert!(error.to_lowercase().contains("certificate"), "{error}");
    let absent = RabbitOptions { ca_file: Some("/no/such/file.pem".into()), ..options(&url) };
    assert!(said(RabbitBroker::connect(absent).await).contains("/no/such/file.pem"));
}
