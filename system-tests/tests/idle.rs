//! A fleet that has nothing to do costs its servers almost nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use system_tests::frames::Protocol;
use system_tests::proxy::Proxy;
use turnwise::{Config, Context, Engine, FleetOptions, Job, PostgresOptions, RabbitOptions};
use turnwise_servers::shared;

/// How long it is watched: several beats, looks and renewals.
const WATCHED: Duration = Duration::from_secs(30);
/// What a node may cost each of its servers, per second.
const MOST: f64 = 5.0;

#[derive(Serialize, Deserialize)]
struct Nothing {}

impl Job for Nothing {
    const KIND: &'static str = "nothing";
    type Output = ();
}

/// A way to the server that a URL names, and the URL that leads over it.
fn over(url: &str, protocol: Protocol) -> (Proxy, String) {
    let host = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    let direct: SocketAddr = host.parse().unwrap();
    let proxy = Proxy::counting(direct, protocol).unwrap();
    let url = url.replace(host, &proxy.address().to_string());
    (proxy, url)
}

/// A node with every role and the usual settings, which has done some work and has nothing more to do.
#[tokio::test]
async fn an_idle_node_hardly_speaks_to_its_servers() {
    let (postgres, vhost) = (shared::postgres().unwrap(), shared::vhost().unwrap());
    let (statements, to_postgres) = over(&postgres, Protocol::Postgres);
    let (frames, to_rabbitmq) = over(vhost.url(), Protocol::Amqp);
    let schema = format!("idle_{}", getrandom::u64().unwrap());
    let database = PostgresOptions { schema: schema.clone(), ..PostgresOptions::new(&to_postgres) };
    let servers = FleetOptions {
        postgres: database.clone(),
        rabbitmq: RabbitOptions { url: to_rabbitmq, prefix: Some(schema), ca_file: None },
        redis: None,
    };
    let engine = Engine::open(Config::fleet(servers)).await.unwrap();
    engine.worker(|_: Nothing, _: Context| async { Ok(()) });
    let running = engine.start().await.unwrap();
    let batch = engine.batch("before").jobs((0..100).map(|_| Nothing {})).submit().await.unwrap();
    engine.wait_batch(batch.id).await.unwrap();
    let counted = || (statements.counted(), frames.counted());
    let (statements_before, frames_before) = counted();
    assert!(statements_before > 0 && frames_before > 0, "nothing was counted");
    // Nothing is waited for: this is the time in which it is watched.
    let watched = tokio::time::timeout(WATCHED, std::future::pending::<()>()).await;
    assert!(watched.is_err());
    let (statements, frames) = counted();
    let rate =
        |before: u64, after: u64| f64::from(u32::try_from(after - before).unwrap()) / WATCHED.as_secs_f64();
    let (statements, frames) = (rate(statements_before, statements), rate(frames_before, frames));
    println!("{statements:.2} statements and {frames:.2} frames per second");
    running.stop().await;
    engine.close().await;
    turnwise::remove_schema(&PostgresOptions { url: postgres, ..database }).unwrap();
    assert!(
        statements <= MOST && frames <= MOST,
        "{statements:.2} statements and {frames:.2} frames per second"
    );
}
