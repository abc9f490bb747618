//! The schema in PostgreSQL, looked at from outside: neighbouring versions, half-made and illegal states, and jobs that
//! programs hand in inside their own transactions.
#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::time::Duration;

use tokio_postgres::{Client, NoTls};
use turnwise_core::ids::JobId;
use turnwise_core::kind::Kind;
use turnwise_core::name::Name;
use turnwise_drivers::postgres::{PostgresOptions, PostgresStore, remove};
use turnwise_drivers::store::{
    Control, Filter, Found, JobRow, Read, Receipt, Store, StoreError, Sweep, Unit, commit_one,
};

/// A schema with one kind, and a connection of somebody else to it. It is gone after the test.
struct World {
    options: PostgresOptions,
    store: PostgresStore,
    client: Client,
}

impl World {
    async fn new() -> Self {
        let schema = format!("test {}", getrandom::u64().unwrap());
        let url = turnwise_servers::shared::postgres().unwrap();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let options = PostgresOptions { schema, ..PostgresOptions::new(url) };
        let store = PostgresStore::open(&options).unwrap();
        let mail = Kind::new(Name::new("mail").unwrap());
        commit_one(&store, Unit::Declare(mail)).await.unwrap().unwrap();
        World { options, store, client }
    }

    /// Somebody else does something in the schema.
    async fn outside(&self, sql: &str) -> Result<(), String> {
        let path = format!("SET search_path = \"{}\"; {sql}", self.options.schema);
        let done = self.client.batch_execute(&path).await;
        done.map_err(|error| error.as_db_error().map_or(error.to_string(), |db| db.message().to_owned()))
    }

    /// Calls `submit` with these arguments. The id that it answers.
    async fn submit(&self, arguments: &str) -> Result<JobId, String> {
        let sql = format!("SELECT \"{}\".submit({arguments})", self.options.schema);
        match self.client.query_one(&sql, &[]).await {
            Ok(row) => Ok(row.get::<_, &str>(0).parse().unwrap()),
            Err(error) => Err(error.as_db_error().map_or(error.to_string(), |db| db.message().to_owned())),
        }
    }

    async fn take_in(&self) -> usize {
        take_in(&self.store).await
    }

    async fn jobs(&self) -> Vec<JobRow> {
        self.store.list(Filter { limit: 100, ..Filter::default() }).await.unwrap().rows
    }
}

impl Drop for World {
    fn drop(&mut self) {
        remove(&self.options).unwrap();
    }
}

async fn take_in(store: &PostgresStore) -> usize {
    match commit_one(store, Unit::Sweep(Sweep::TakeIn)).await.unwrap().unwrap() {
        Receipt::Changed(count) => count,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn neighbouring_versions_run_side_by_side() {
    let world = World::new().await;
    // What the next version would do first: it only adds.
    let expand = "ALTER TABLE job ADD COLUMN colour TEXT; CREATE TABLE paint (id BIGINT PRIMARY KEY); \
                  UPDATE version SET number = number + 1";
    world.outside(expand).await.unwrap();
    let old = PostgresStore::open(&world.options).unwrap();
    world.submit("'mail', '{}'").await.unwrap();
    assert_eq!((take_in(&old).await, world.jobs().await.len()), (1, 1));
    // What the version after it would do: it takes away.
    world.outside("UPDATE version SET serves = number").await.unwrap();
    let Err(StoreError::Newer { found, known, .. }) = PostgresStore::open(&world.options) else {
        panic!("a schema that serves only newer programs was opened")
    };
    assert_eq!(found, known + 1);
}

#[tokio::test]
async fn a_half_made_schema_is_told_and_left_alone() {
    let world = World::new().await;
    world.outside("DELETE FROM version").await.unwrap();
    let said = PostgresStore::open(&world.options).err().unwrap().to_string();
    assert!(said.contains("half made") && said.contains("restore a backup"), "{said}");
}

#[tokio::test]
async fn the_database_refuses_illegal_states_by_itself() {
    let world = World::new().await;
    world.submit("'mail', '{}'").await.unwrap();
    world.take_in().await;
    let illegal = [
        "UPDATE job SET state = 9",
        "UPDATE job SET state = 3",
        "UPDATE job SET position = 1",
        "UPDATE job SET attempts = 0",
        "INSERT INTO job SELECT * FROM job",
        "UPDATE account SET backlog = -1",
        "INSERT INTO lease VALUES ('a', 'b', 0, 0)",
        "INSERT INTO event VALUES (99, 0, 0, 0, '')",
        "UPDATE version SET serves = number + 1",
    ];
    for sql in illegal {
        assert!(world.outside(sql).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn what_is_handed_in_becomes_jobs_once() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for number in 0..50 {
        let owner = if number % 2 == 0 { "ada" } else { "bob" };
        ids.push(world.submit(&format!("'mail', '{{\"n\": {number}}}', owner => '{owner}'")).await.unwrap());
    }
    let other = PostgresStore::open(&world.options).unwrap();
    // Both look at the same fifty, and each is accepted by one of them.
    let (one, two) = tokio::join!(take_in(&world.store), take_in(&other));
    assert_eq!(one + two, 50);
    let mut found: Vec<JobId> = world.jobs().await.iter().map(|row| row.header.id).collect();
    found.sort_unstable();
    assert_eq!(found, ids);
    let Found::Job(Some(job)) = world.store.read(Read::Job(ids[7])).await.unwrap() else { panic!("no job") };
    assert_eq!(&job.payload[..], br#"{"n": 7}"#);
    assert_eq!(job.row.line.owner.as_str(), "bob");
    assert_eq!(world.take_in().await, 0);
}

#[tokio::test]
async fn handing_in_is_part_of_the_callers_transaction() {
    let world = World::new().await;
    let schema = &world.options.schema;
    let submit = |key: &str| format!("SELECT \"{schema}\".submit('mail', '{{}}', unique_key => '{key}')");
    world.client.batch_execute(&format!("BEGIN; {}; ROLLBACK", submit("a"))).await.unwrap();
    assert_eq!((world.take_in().await, world.jobs().await.len()), (0, 0));
    world.client.batch_execute(&format!("BEGIN; {}", submit("a"))).await.unwrap();
    assert_eq!(world.take_in().await, 0, "nobody sees what is not committed");
    world.client.batch_execute("COMMIT").await.unwrap();
    assert_eq!((world.take_in().await, world.jobs().await.len()), (1, 1));
}

#[tokio::test]
async fn every_choice_of_a_submission_can_be_made() {
    let world = World::new().await;
    let all = "'mail', '{}', owner => 'ada', lane => 'l', strict_lane => true, priority => 9, limit_key => 'k', \
               attempts => 7, delay => '1 hour', unique_key => 'u', unique_for => '1 day'";
    let id = world.submit(all).await.unwrap();
    assert_eq!(world.submit("'mail', '{}', unique_key => 'u'").await.unwrap(), id, "not taken in yet");
    world.take_in().await;
    assert_eq!(world.submit("'mail', '{}', unique_key => 'u'").await.unwrap(), id, "taken in");
    let Found::Job(Some(job)) = world.store.read(Read::Job(id)).await.unwrap() else { panic!("no job") };
    assert_eq!(job.row.line.priority.level(), 9);
    assert_eq!(job.row.line.limit_key.as_deref(), Some("k"));
    assert_eq!(job.row.header.attempts, 7);
    assert_eq!(job.row.header.at.since(job.row.header.submitted).as_secs().div_ceil(60), 60);
    assert_eq!(job.lane.unwrap().on_dead, turnwise_core::lane::OnDead::Halt);
}

#[tokio::test]
async fn what_cannot_become_a_job_is_refused_or_waits() {
    let world = World::new().await;
    let refused = [
        ("'letter', '{}'", "no worker has ever served jobs of kind \"letter\""),
        ("'', '{}'", "the kind is no name"),
        ("'mail', '{}', owner => E'a\\nb'", "the owner is no name"),
        ("'mail', '{}', lane => repeat('x', 257)", "the lane is no name"),
        ("'mail', NULL", "the payload is missing or too large"),
        ("'mail', to_jsonb(repeat('x', 1048577))", "the payload is missing or too large"),
        ("'mail', '{}', priority => 10", "10 is not a priority"),
        ("'mail', '{}', attempts => 0", "0 attempts are not possible"),
        ("'mail', '{}', delay => '400 days'", "too far in the future"),
        ("'mail', '{}', delay => '1 s', due => now()", "both a delay and a due time"),
        ("'mail', '{}', unique_for => '1 s'", "unique_for needs a unique_key"),
    ];
    for (arguments, why) in refused {
        let said = world.submit(arguments).await.unwrap_err();
        assert!(said.contains(why), "{arguments}: {said}");
    }
    let quota =
        |quota| Control::SetOwner { owner: Name::new("ada").unwrap(), weight: None, quota: Some(quota) };
    commit_one(&world.store, Unit::Control(quota(1))).await.unwrap().unwrap();
    // Both fit when they are handed in, and one does not when they are taken in.
    for _ in 0..2 {
        world.submit("'mail', '{}', owner => 'ada'").await.unwrap();
    }
    assert_eq!((world.take_in().await, world.jobs().await.len()), (2, 1));
    let said = world.submit("'mail', '{}', owner => 'ada'").await.unwrap_err();
    assert!(said.contains("as many unfinished jobs as it may have"), "{said}");
    let why = world
        .client
        .query_one(&format!("SELECT refused FROM \"{}\".handed_in", world.options.schema), &[])
        .await;
    assert!(why.unwrap().get::<_, &str>(0).contains("quota"));
    commit_one(&world.store, Unit::Control(quota(5))).await.unwrap().unwrap();
    world.outside("UPDATE handed_in SET again = 0").await.unwrap();
    assert_eq!((world.take_in().await, world.jobs().await.len()), (1, 2));
}

#[tokio::test]
async fn whoever_may_submit_needs_no_right_to_the_tables() {
    let world = World::new().await;
    let role = format!("app_{}", getrandom::u64().unwrap());
    let schema = &world.options.schema;
    let grant = format!("CREATE ROLE {role}; GRANT USAGE ON SCHEMA \"{schema}\" TO {role}; SET ROLE {role}");
    world.client.batch_execute(&grant).await.unwrap();
    assert!(world.submit("'mail', '{}'").await.unwrap_err().contains("permission denied"));
    let allow =
        format!("RESET ROLE; GRANT EXECUTE ON FUNCTION \"{schema}\".submit TO {role}; SET ROLE {role}");
    world.client.batch_execute(&allow).await.unwrap();
    world.submit("'mail', '{}'").await.unwrap();
    assert!(world.outside("SELECT * FROM job").await.unwrap_err().contains("permission denied"));
    let gone = format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}");
    world.client.batch_execute(&gone).await.unwrap();
    assert_eq!(world.take_in().await, 1);
}

#[tokio::test]
async fn whoever_listens_is_told_that_something_was_handed_in() {
    let world = World::new().await;
    let mut hints = world.store.watch();
    world.submit("'mail', '{}'").await.unwrap();
    let told = async { while !hints.recv().await.unwrap().handed_in {} };
    tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
}
