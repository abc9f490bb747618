//! The lease suite over Redis with a store behind it, and what happens when Redis forgets or is away.

#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use redis::AsyncCommands;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{Time, secs};
use turnwise_drivers::clock::Clock;
use turnwise_drivers::conformance::leases::LeasesFactory;
use turnwise_drivers::leases::{LeaseError, Leases};
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::redis_leases::{RedisLeases, RedisOptions};
use turnwise_drivers::store::{Found, Read, Store};
use turnwise_drivers::store_leases::StoreLeases;
use turnwise_servers::{Redis, shared};

const SPAN: Duration = secs(10);

/// A clock that only the test moves. Microseconds.
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

fn options(url: &str) -> RedisOptions {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("test-{}-{}", std::process::id(), TESTS.fetch_add(1, Ordering::SeqCst));
    RedisOptions { url: url.to_owned(), prefix, ca_file: None }
}

/// Redis has a clock of its own that no test can move. So whatever has ended on the store's clock is removed from
/// Redis by hand, at the same moment; its own clock counts longer than any test takes.
struct OverRedis {
    clock: Arc<Hands>,
    store: Arc<dyn Store>,
    options: RedisOptions,
    leases: RedisLeases,
    redis: redis::aio::MultiplexedConnection,
}

impl LeasesFactory for OverRedis {
    async fn fresh() -> Self {
        let clock = Arc::new(Hands(AtomicI64::new(1_000_000)));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
        let options = options(&shared::redis().unwrap());
        let leases = RedisLeases::connect(&options, store.clone()).await.unwrap();
        let client = redis::Client::open(options.url.as_str()).unwrap();
        let redis = client.get_multiplexed_async_connection().await.unwrap();
        OverRedis { clock, store, options, leases, redis }
    }

    fn leases(&self) -> &dyn Leases {
        &self.leases
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    async fn advance(&self, span: Duration) {
        self.clock.0.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
        let Found::Leases(leases) = self.store.read(Read::Leases).await.unwrap() else { panic!("no leases") };
        for lease in leases.iter().filter(|lease| lease.until <= self.clock.now()) {
            let key = format!("{}:lease:{}", self.options.prefix, lease.name);
            self.redis.clone().del::<_, ()>(key).await.unwrap();
        }
    }

    async fn restart(&mut self) {
        self.leases = RedisLeases::connect(&self.options, self.store.clone()).await.unwrap();
    }
}

mod over_redis {
    turnwise_drivers::leases_conformance!(super::OverRedis);
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Leases on a server of its own, over a store whose clock stands still.
async fn on(redis: &Redis) -> (RedisLeases, StoreLeases) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(Hands(AtomicI64::new(1_000_000)))));
    let leases = RedisLeases::connect(&options(&redis.url()), store.clone()).await.unwrap();
    (leases, StoreLeases::new(store))
}

fn is_stale<T>(answer: &Result<T, LeaseError>) -> bool {
    matches!(answer, Err(LeaseError::Refused(Refusal::StaleTerm(_))))
}

#[tokio::test]
async fn when_redis_forgets_the_old_holder_is_refused_and_terms_grow() {
    let redis = Redis::start().unwrap();
    let (leases, judge) = on(&redis).await;
    let old = leases.acquire(&name("right"), &name("a"), SPAN).await.unwrap();
    redis.flush().unwrap();
    let early = leases.acquire(&name("right"), &name("b"), SPAN).await;
    let held = |holder: &Name| *holder == name("a");
    assert!(
        matches!(&early, Err(LeaseError::Refused(Refusal::LeaseHeld { holder, .. })) if held(holder)),
        "the store has not forgotten: {early:?}"
    );
    assert!(is_stale(&leases.renew(&name("right"), old.term, SPAN).await));
    let new = leases.acquire(&name("right"), &name("b"), SPAN).await.unwrap();
    assert!(new.term > old.term);
    for answer in [
        judge.renew(&name("right"), old.term, SPAN).await,
        leases.renew(&name("right"), old.term, SPAN).await,
    ] {
        assert!(is_stale(&answer), "{answer:?}");
    }
    assert!(leases.renew(&name("right"), new.term, SPAN).await.is_ok(), "the current one goes on");
}

#[tokio::test]
async fn whoever_lost_its_term_in_the_store_loses_it_in_redis() {
    let redis = Redis::start().unwrap();
    let (leases, judge) = on(&redis).await;
    let old = leases.acquire(&name("right"), &name("a"), SPAN).await.unwrap();
    let new = judge.acquire(&name("right"), &name("a"), SPAN).await.unwrap();
    assert!(is_stale(&leases.renew(&name("right"), old.term, SPAN).await));
    judge.release(&name("right"), new.term).await.unwrap();
    let next = leases.acquire(&name("right"), &name("b"), SPAN).await.unwrap();
    assert!(next.term > new.term, "nothing of the old holder is left in Redis");
}

#[tokio::test]
async fn redis_lets_go_of_a_silent_holder_by_itself() {
    let redis = Redis::start().unwrap();
    let (leases, judge) = on(&redis).await;
    let lease = leases.acquire(&name("right"), &name("a"), Duration::from_millis(500)).await.unwrap();
    judge.release(&name("right"), lease.term).await.unwrap();
    let start = Instant::now();
    let next = loop {
        match leases.acquire(&name("right"), &name("b"), SPAN).await {
            Ok(lease) => break lease,
            Err(error) => assert!(start.elapsed() < SPAN, "{error}"),
        }
    };
    assert!(next.term > lease.term);
}

#[tokio::test]
async fn a_redis_that_is_away_is_told_in_bounded_time_and_found_again() {
    let mut redis = Redis::start().unwrap();
    let (leases, _) = on(&redis).await;
    let lease = leases.acquire(&name("right"), &name("a"), SPAN).await.unwrap();
    redis.stop().unwrap();
    let start = Instant::now();
    let renewed = leases.renew(&name("right"), lease.term, SPAN).await;
    assert!(matches!(renewed, Err(LeaseError::Store(_))), "{renewed:?}");
    assert!(leases.acquire(&name("right"), &name("b"), SPAN).await.is_err());
    assert!(start.elapsed() < SPAN, "{:?}", start.elapsed());
    redis.restart().unwrap();
    let renewed = leases.renew(&name("right"), lease.term, SPAN).await.unwrap();
    assert_eq!(renewed.term, lease.term, "Redis has a log, and remembers");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_and_no_password_is_shown() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://me:hidden-word@{}/", silent.local_addr().unwrap());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(Hands(AtomicI64::new(0)))));
    let start = Instant::now();
    let error = RedisLeases::connect(&options(&url), store.clone()).await.err().unwrap();
    assert!(start.elapsed() < SPAN, "{:?}", start.elapsed());
    let said = format!("{error} {error:?} {:?}", options(&url));
    assert!(said.contains("TURNWISE_REDIS") && !said.contains("hidden-word"), "{said}");

    let redis = Redis::start().unwrap();
    redis.tell("CONFIG SET requirepass other-word").unwrap();
    let url = redis.url().replace("redis://", "redis://:hidden-word@");
    let error = RedisLeases::connect(&options(&url), store).await.err().unwrap().to_string();
    assert!(error.contains("password") && error.contains("TURNWISE_REDIS"), "{error}");
    assert!(!error.contains("hidden-word"), "{error}");
}

#[tokio::test]
async fn an_encrypted_connection_needs_a_certificate_that_is_trusted() {
    let redis = Redis::start_encrypted().unwrap();
    let (url, authority) = redis.encrypted().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(Hands(AtomicI64::new(0)))));
    let trusting = RedisOptions { ca_file: Some(authority), ..options(&url) };
    let leases = RedisLeases::connect(&trusting, store.clone()).await.unwrap();
    assert!(leases.acquire(&name("right"), &name("a"), SPAN).await.is_ok());
    let error = RedisLeases::connect(&options(&url), store).await.err().unwrap().to_string();
    assert!(error.to_lowercase().contains("certificate"), "{error}");
}
