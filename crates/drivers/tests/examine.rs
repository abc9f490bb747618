//! What an examination of real servers finds: when all is well, and for each thing that can be wrong with them.
#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;
use turnwise_core::name::Name;
use turnwise_drivers::broker::{Broker, Declare, Routing};
use turnwise_drivers::examine::{Finding, Health};
use turnwise_drivers::open::{self, FleetOptions, PostgresOptions, RabbitOptions, RedisOptions};
use turnwise_drivers::postgres::{PostgresStore, remove};
use turnwise_drivers::rabbitmq::RabbitBroker;
use turnwise_servers::{Postgres, RabbitMq, Redis, Vhost, shared};

/// A password that must never be seen.
const CANARY: &str = "PASSWORD-CANARY";

/// Servers with a schema and a virtual host that nobody else uses, and that are gone after the test.
struct Fleet {
    options: FleetOptions,
    vhost: Vhost,
    /// How to get rid of the schema, whatever a test does to the options.
    schema: PostgresOptions,
}

impl Fleet {
    fn new() -> Self {
        let name = format!("examined {:x}", getrandom::u64().unwrap());
        let (vhost, url) = (shared::vhost().unwrap(), shared::postgres().unwrap());
        let postgres = PostgresOptions { schema: name.clone(), ..PostgresOptions::new(url) };
        let rabbitmq = RabbitOptions { url: vhost.url().to_owned(), prefix: None, ca_file: None };
        let redis = RedisOptions { url: shared::redis().unwrap(), prefix: name, ca_file: None };
        let options = FleetOptions { postgres: postgres.clone(), rabbitmq, redis: Some(redis) };
        Fleet { options, vhost, schema: postgres }
    }

    async fn examine(&self) -> Vec<Finding> {
        open::examine(&self.options, |_| vec![tickets()]).await
    }

    /// Does something to the database as its administrator.
    async fn sql(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(&self.schema.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute(&sql.replace("SCHEMA_NAME", &format!("\"{}\"", self.schema.schema)))
            .await
            .unwrap();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        remove(&self.schema).unwrap();
    }
}

fn tickets() -> Declare {
    let name = |text: &str| Name::new(text).unwrap();
    let (exchange, queue) = (name("task.exchange"), name("echo.queue"));
    Declare { exchange, routing: Routing::Direct, queue, key: "task.echo".into(), durable: false }
}

/// The finding about one thing; all that is found has no password in it.
#[track_caller]
fn about<'a>(found: &'a [Finding], server: &str, what: &str) -> &'a Finding {
    assert!(!format!("{found:?}").contains(CANARY), "{found:?}");
    let wanted = found.iter().find(|finding| finding.server == server && finding.what == what);
    wanted.unwrap_or_else(|| panic!("nothing about {server} {what}: {found:#?}"))
}

/// One thing is wrong, and what is said about it has all of this.
#[track_caller]
fn says(found: &[Finding], (server, what): (&str, &str), health: Health, parts: &[&str]) {
    let finding = about(found, server, what);
    assert_eq!(finding.health, health, "{finding:?}");
    for part in parts {
        assert!(finding.says.contains(part), "`{part}` is not in: {}", finding.says);
    }
}

#[tokio::test]
async fn when_all_is_well_everything_is_ok_and_nothing_is_changed() {
    let fleet = Fleet::new();
    let found = fleet.examine().await;
    says(&found, ("postgres", "schema"), Health::Ok, &["not there yet"]);
    says(&found, ("rabbitmq", "queues"), Health::Ok, &["0 exchanges and queues"]);
    drop(PostgresStore::open(&fleet.options.postgres).unwrap());
    let broker = RabbitBroker::connect(fleet.options.rabbitmq.clone()).await.unwrap();
    broker.declare(tickets()).await.unwrap();
    let found = fleet.examine().await;
    says(&found, ("postgres", "schema"), Health::Ok, &["as this program wants it"]);
    says(&found, ("postgres", "version"), Health::Ok, &["PostgreSQL 1"]);
    says(&found, ("postgres", "connections"), Health::Ok, &["a node opens 4", "in use"]);
    says(&found, ("postgres", "durability"), Health::Ok, &["fsync is on"]);
    says(&found, ("rabbitmq", "version"), Health::Ok, &["RabbitMQ 3."]);
    says(&found, ("rabbitmq", "queues"), Health::Ok, &["2 exchanges and queues"]);
    says(&found, ("redis", "version"), Health::Ok, &["Redis "]);
    // Somebody else may hold a snapshot on a server that is shared.
    let wrong: Vec<_> =
        found.iter().filter(|finding| finding.health != Health::Ok && finding.what != "snapshots").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn every_server_that_cannot_be_reached_is_named() {
    let mut fleet = Fleet::new();
    fleet.options.postgres.url = format!("postgres://ada:{CANARY}@127.0.0.1:1/db");
    fleet.options.rabbitmq.url = format!("amqp://ada:{CANARY}@127.0.0.1:1/%2f");
    fleet.options.redis.as_mut().unwrap().url = format!("redis://ada:{CANARY}@127.0.0.1:1/");
    let found = fleet.examine().await;
    for (server, setting) in
        [("postgres", "TURNWISE_POSTGRES"), ("rabbitmq", "TURNWISE_RABBITMQ"), ("redis", "TURNWISE_REDIS")]
    {
        says(&found, (server, "reachable"), Health::Fail, &["127.0.0.1:1", setting]);
    }
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_given_up_soon() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    let mut fleet = Fleet::new();
    fleet.options.postgres.url = format!("postgres://ada:{CANARY}@{place}/db");
    fleet.options.rabbitmq.url = format!("amqp://ada:{CANARY}@{place}/%2f");
    fleet.options.redis.as_mut().unwrap().url = format!("redis://ada:{CANARY}@{place}/");
    let begin = Instant::now();
    let found = fleet.examine().await;
    // The limit is four seconds; a busy machine may be late.
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    for server in ["postgres", "rabbitmq", "redis"] {
        says(&found, (server, "reachable"), Health::Fail, &[&place.to_string()]);
    }
}

#[tokio::test]
async fn a_wrong_password_is_named_and_not_shown() {
    let mut postgres = Postgres::start().unwrap();
    let rules = "host all ada 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    std::fs::write(postgres.directory().join("data/pg_hba.conf"), rules).unwrap();
    postgres.restart().unwrap();
    let redis = Redis::start().unwrap();
    redis.tell("CONFIG SET requirepass another").unwrap();
    let mut fleet = Fleet::new();
    fleet.options.postgres.url = postgres.url().replace("postgres@", &format!("ada:{CANARY}@"));
    fleet.options.rabbitmq.url =
        fleet.options.rabbitmq.url.replace("guest:guest", &format!("guest:{CANARY}"));
    fleet.options.redis.as_mut().unwrap().url =
        redis.url().replace("redis://", &format!("redis://:{CANARY}@"));
    let found = fleet.examine().await;
    for (server, setting) in
        [("postgres", "TURNWISE_POSTGRES"), ("rabbitmq", "TURNWISE_RABBITMQ"), ("redis", "TURNWISE_REDIS")]
    {
        says(&found, (server, "reachable"), Health::Fail, &["password", setting]);
    }
}

#[tokio::test]
async fn a_schema_that_will_not_do_is_told() {
    let fleet = Fleet::new();
    fleet.sql("CREATE SCHEMA SCHEMA_NAME").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Ok, &["is empty"]);
    drop(PostgresStore::open(&fleet.options.postgres).unwrap());
    fleet.sql("UPDATE SCHEMA_NAME.version SET number = 99").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Ok, &["99", "can still work with"]);
    fleet.sql("UPDATE SCHEMA_NAME.version SET serves = 99").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Fail, &["99", "upgrade Turnwise"]);
    fleet.sql("UPDATE SCHEMA_NAME.version SET number = 0, serves = 0").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Ok, &["version 0", "next node that starts"]);
    fleet.sql("DELETE FROM SCHEMA_NAME.version").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Fail, &["half made", "DROP SCHEMA"]);
    fleet.sql("DROP TABLE SCHEMA_NAME.version").await;
    says(&fleet.examine().await, ("postgres", "schema"), Health::Fail, &["half made"]);
}

#[tokio::test]
async fn a_right_that_is_missing_is_told_with_the_words_that_grant_it() {
    let mut fleet = Fleet::new();
    let role = format!("nobody_{:x}", getrandom::u64().unwrap());
    fleet.sql(&format!("CREATE ROLE {role} LOGIN")).await;
    fleet.options.postgres.url = fleet.schema.url.replace("postgres@", &format!("{role}@"));
    let permissions = ("postgres", "permissions");
    let absent = fleet.examine().await;
    says(&absent, permissions, Health::Fail, &["CREATE SCHEMA", "AUTHORIZATION", &role]);
    drop(PostgresStore::open(&fleet.schema).unwrap());
    says(&fleet.examine().await, permissions, Health::Fail, &["GRANT USAGE, CREATE ON SCHEMA", &role]);
    fleet.sql(&format!("GRANT USAGE ON SCHEMA SCHEMA_NAME TO {role}")).await;
    says(&fleet.examine().await, permissions, Health::Fail, &["GRANT SELECT, INSERT", &role]);
    let grant = format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA SCHEMA_NAME TO {role}; \
         GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA SCHEMA_NAME TO {role}"
    );
    fleet.sql(&grant).await;
    says(&fleet.examine().await, permissions, Health::Ok, &[&role]);
    fleet.sql(&format!("ALTER ROLE {role} CONNECTION LIMIT 7")).await;
    says(&fleet.examine().await, ("postgres", "connections"), Health::Warn, &["0 of 7", "ALTER ROLE"]);
    // What the words promise is true: a node works.
    drop(PostgresStore::open(&fleet.options.postgres).unwrap());
    fleet.sql("UPDATE SCHEMA_NAME.version SET number = 0, serves = 0").await;
    says(&fleet.examine().await, permissions, Health::Fail, &["only the owner", "\"postgres\""]);
    fleet.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn queues_that_differ_are_named_with_the_way_to_mend_them() {
    let fleet = Fleet::new();
    let broker = RabbitBroker::connect(fleet.options.rabbitmq.clone()).await.unwrap();
    broker.declare(Declare { durable: true, routing: Routing::Topic, ..tickets() }).await.unwrap();
    let found = fleet.examine().await;
    let differ: Vec<_> =
        found.iter().filter(|finding| finding.what == "queues" && finding.health == Health::Fail).collect();
    assert_eq!(differ.len(), 2, "{found:#?}");
    for (finding, parts) in differ.into_iter().zip([
        ["`task.exchange`", "argument type", "rabbitmqadmin"],
        ["`echo.queue`", "argument x-expires", "rabbitmqctl delete_queue -p "],
    ]) {
        assert!(parts.iter().all(|part| finding.says.contains(part)), "{}", finding.says);
    }
}

#[tokio::test]
async fn rights_in_a_virtual_host_are_rehearsed() {
    let fleet = Fleet::new();
    for (rights, what) in [
        (["^$", ".*", ".*"], "may not make queues"),
        ([".*", "^$", ".*"], "may not bind queues"),
        ([".*", ".*", "queue$"], "may not bind queues"),
        ([".*", ".*", "exchange$"], "may not read from queues"),
        ([".*", "queue$", ".*"], "may not write to exchanges"),
    ] {
        fleet.vhost.allow(rights[0], rights[1], rights[2]).unwrap();
        let found = fleet.examine().await;
        let parts = [what, "rabbitmqctl set_permissions -p test-", " guest '.*' '.*' '.*'"];
        says(&found, ("rabbitmq", "permissions"), Health::Fail, &parts);
    }
}

#[tokio::test]
async fn a_server_short_of_memory_is_warned_about() {
    let server = RabbitMq::start().unwrap();
    server.control(&["set_vm_memory_high_watermark", "0"]).unwrap();
    let mut fleet = Fleet::new();
    fleet.options.rabbitmq.url = server.url();
    let found = fleet.examine().await;
    says(&found, ("rabbitmq", "alarms"), Health::Warn, &["memory or disk", "rabbitmq-diagnostics alarms"]);
}

#[tokio::test]
async fn a_redis_that_evicts_is_warned_about() {
    let redis = Redis::start().unwrap();
    redis.tell("CONFIG SET maxmemory-policy allkeys-lru").unwrap();
    let mut fleet = Fleet::new();
    fleet.options.redis.as_mut().unwrap().url = redis.url();
    let found = fleet.examine().await;
    says(&found, ("redis", "eviction"), Health::Warn, &["allkeys-lru", "noeviction"]);
    redis.tell("ACL SETUSER default resetkeys ~other:*").unwrap();
    says(&fleet.examine().await, ("redis", "permissions"), Health::Fail, &["ACL SETUSER", ":lease:*"]);
}

#[tokio::test]
async fn a_database_that_may_lose_what_it_confirmed_is_warned_about() {
    let mut postgres = Postgres::start().unwrap();
    let settings = postgres.directory().join("data/postgresql.auto.conf");
    std::fs::write(settings, "fsync = off\n").unwrap();
    postgres.restart().unwrap();
    let mut fleet = Fleet::new();
    fleet.options.postgres.url = postgres.url();
    let found = fleet.examine().await;
    says(&found, ("postgres", "durability"), Health::Warn, &["fsync is off", "postgresql.conf"]);
}
