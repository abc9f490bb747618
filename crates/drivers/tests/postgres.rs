//! The store's conformance suite over a real PostgreSQL, each rule in a schema of its own: for one node, and for two
//! that take turns so that neither may trust what it remembers.
#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::broadcast;
use turnwise_core::event::Cursor;
use turnwise_core::ids::JobId;
use turnwise_core::kind::Kind;
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::schedule::Target;
use turnwise_drivers::conformance::store::differ::live_the_same;
use turnwise_drivers::conformance::store::world::{Factory, ManualClock, World};
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::postgres::{PostgresOptions, PostgresStore, remove};
use turnwise_drivers::store::{
    Answer, Blob, Committed, Control, Filter, Found, JobsPage, NewJob, Outcome, Read, Ready, ReadyAnswer,
    Start, Store, StoreError, Submission, Tail, Unit, commit_one,
};
use turnwise_drivers::store_conformance;

struct Memory;

impl Factory for Memory {
    async fn fresh() -> World {
        let clock = Arc::new(ManualClock::default());
        World::new(clock.clone(), false, move || Arc::new(MemoryStore::new(clock.clone())))
    }
}

/// A schema that is gone after the test.
struct Schema(PostgresOptions);

impl Schema {
    fn new() -> Self {
        let schema = format!("test {}", getrandom::u64().unwrap());
        let url = turnwise_servers::shared::postgres().unwrap();
        Schema(PostgresOptions { schema, ..PostgresOptions::new(url) })
    }

    fn on(&self, clock: &Arc<ManualClock>) -> PostgresOptions {
        PostgresOptions { clock: Some(clock.clone()), ..self.0.clone() }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        remove(&self.0).unwrap();
    }
}

struct Postgres;

impl Factory for Postgres {
    async fn fresh() -> World {
        let (clock, schema) = (Arc::new(ManualClock::default()), Schema::new());
        World::new(clock.clone(), true, move || Arc::new(PostgresStore::open(&schema.on(&clock)).unwrap()))
    }
}

/// Two nodes, asked in turn.
struct Pair {
    nodes: [PostgresStore; 2],
    turn: AtomicUsize,
    hints: broadcast::Sender<Arc<Committed>>,
}

impl Pair {
    fn next(&self) -> &PostgresStore {
        &self.nodes[self.turn.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

impl Store for Pair {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>> {
        let node = self.next();
        let mut hints = node.watch();
        Box::pin(async move {
            let outcomes = node.commit(units).await?;
            // The hint of this commit came before its answer. Hints about the other node's earlier commits may have
            // come as well; they are never empty, and are about what was before.
            let heard: Vec<_> = std::iter::from_fn(|| hints.try_recv().ok()).collect();
            let own = heard.iter().max_by_key(|hint| (hint.cursor, hint.events.is_empty()));
            // Nobody listening is fine.
            let _ = self.hints.send(own.unwrap().clone());
            Ok(outcomes)
        })
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        self.next().read(what)
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        self.next().ready(what)
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        self.next().tail(after, limit)
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        self.next().list(filter)
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.hints.subscribe()
    }
}

struct Two;

impl Factory for Two {
    async fn fresh() -> World {
        let (clock, schema) = (Arc::new(ManualClock::default()), Schema::new());
        World::new(clock.clone(), true, move || {
            let open = || PostgresStore::open(&schema.on(&clock)).unwrap();
            let hints = broadcast::channel(1_024).0;
            Arc::new(Pair { nodes: [open(), open()], turn: AtomicUsize::new(0), hints })
        })
    }
}

store_conformance!(postgres, Postgres);
store_conformance!(two_nodes, Two);

#[tokio::test]
async fn memory_and_postgres_live_the_same() {
    live_the_same::<Memory, Postgres>(0..20).await;
}

#[tokio::test]
async fn memory_and_two_nodes_live_the_same() {
    live_the_same::<Memory, Two>(20..40).await;
}

#[tokio::test]
async fn a_node_is_told_of_the_commits_of_another() {
    let schema = Schema::new();
    let (one, other) = (PostgresStore::open(&schema.0).unwrap(), PostgresStore::open(&schema.0).unwrap());
    let mut hints = other.watch();
    let kind = Kind::new(Name::new("k").unwrap());
    commit_one(&one, Unit::Declare(kind.clone())).await.unwrap().unwrap();
    // The follower begins with what happens after its first look: something happens until it tells of it.
    for paused in [true, false].into_iter().cycle() {
        let pause = Control::Pause(Target::Kind(kind.name.clone()), paused);
        commit_one(&one, Unit::Control(pause)).await.unwrap().unwrap();
        if tokio::time::timeout(Duration::from_millis(300), hints.recv()).await.is_ok() {
            break;
        }
    }
    let job = NewJob {
        id: JobId::from_u64(7),
        kind: kind.name.clone(),
        owner: Name::new("ada").unwrap(),
        priority: Priority::default(),
        batch: None,
        limit_key: None,
        lane: None,
        start: Start::Now,
        attempts: None,
        unique: Vec::new(),
        payload: Blob::default(),
    };
    let submission = Submission { jobs: vec![job], ..Submission::default() };
    commit_one(&one, Unit::Submit(submission)).await.unwrap().unwrap();
    loop {
        let hint = hints.recv().await.unwrap();
        if let [(_, line)] = &hint.ready[..] {
            assert_eq!(line.owner.as_str(), "ada");
            break;
        }
    }
}

/// Opens a store that must not open.
fn refused(options: &PostgresOptions) -> String {
    match PostgresStore::open(options) {
        Ok(_) => panic!("it opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn many_nodes_may_start_together() {
    let schema = Schema::new();
    std::thread::scope(|scope| {
        let open = || PostgresStore::open(&schema.0).map(drop);
        let nodes: Vec<_> = (0..10).map(|_| scope.spawn(open)).collect();
        for node in nodes {
            node.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_wrong_address_says_what_to_change_and_keeps_the_password() {
    let url = turnwise_servers::shared::postgres().unwrap();
    let missing = url.replace("/postgres", "/nowhere");
    let said = refused(&PostgresOptions::new(missing));
    assert!(said.contains("TURNWISE_POSTGRES") && said.contains("`nowhere`"), "{said}");
    let nobody = "postgres://ada:PASSWORD-CANARY@127.0.0.1:1/postgres";
    let options = PostgresOptions::new(nobody);
    let said = format!("{} {options:?}", refused(&options));
    assert!(said.contains("127.0.0.1:1") && said.contains("TURNWISE_POSTGRES"), "{said}");
    assert!(!said.contains("CANARY"), "{said}");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://ada@{}/postgres", silent.local_addr().unwrap());
    let said = refused(&PostgresOptions::new(url));
    assert!(said.contains("TURNWISE_POSTGRES"), "{said}");
}
