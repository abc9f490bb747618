//! Jobs that programs submit inside their own transactions in PostgreSQL, in any language, run on a fleet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::NoTls;
use turnwise::{Config, Context, Engine, FleetOptions, Job, Outcome, PostgresOptions, RabbitOptions};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
struct Greet {
    from: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";
    type Output = ();
}

/// The same program three times: a row of its own and a job in one transaction that commits, and in one that does not.
fn statements(schema: &str, language: &str) -> [String; 2] {
    ["commits", "rolls back"].map(|end| {
        format!(
            "INSERT INTO {schema}_own VALUES ('{language} {end}'); \
             SELECT {schema}.submit('greet', '{{\"from\": \"{language} {end}\"}}', owner => '{language}')"
        )
    })
}

fn psql(url: &str, schema: &str) {
    let [commits, rolls_back] = statements(schema, "psql");
    let script = format!("BEGIN; {rolls_back}; ROLLBACK; BEGIN; {commits}; COMMIT;");
    let ended = Command::new("psql").args(["-v", "ON_ERROR_STOP=1", "-qc", &script, url]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn python(url: &str, schema: &str) {
    let script = "import psycopg2, sys\n\
        connection = psycopg2.connect(sys.argv[1])\n\
        cursor = connection.cursor()\n\
        cursor.execute(sys.argv[2])\n\
        connection.rollback()\n\
        cursor.execute(sys.argv[3])\n\
        assert len(cursor.fetchone()[0]) == 13\n\
        connection.commit()\n";
    let [commits, rolls_back] = statements(schema, "python");
    // Debian's, which has the package.
    let program = Command::new("/usr/bin/python3").args(["-c", script, url, &rolls_back, &commits]).output();
    let ended = program.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

async fn rust(url: &str, schema: &str) {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let [commits, rolls_back] = statements(schema, "rust");
    for (statements, commit) in [(rolls_back, false), (commits, true)] {
        let transaction = client.transaction().await.unwrap();
        transaction.batch_execute(&statements).await.unwrap();
        if commit {
            transaction.commit().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_job_runs_if_and_only_if_the_callers_transaction_commits() {
    let url = turnwise_servers::shared::postgres().unwrap();
    let vhost = turnwise_servers::shared::vhost().unwrap();
    let schema = format!("sql_{}", getrandom::u64().unwrap());
    let servers = FleetOptions {
        postgres: PostgresOptions { schema: schema.clone(), ..PostgresOptions::new(url.clone()) },
        rabbitmq: RabbitOptions { url: vhost.url().to_owned(), prefix: None, ca_file: None },
        redis: None,
    };
    let engine = Engine::open(Config::fleet(servers.clone())).await.unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = heard.clone();
    engine.worker(move |greet: Greet, _: Context| {
        listener.lock().unwrap().push(greet.from);
        async { Outcome::Ok(()) }
    });
    let running = engine.start().await.unwrap();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE TABLE {schema}_own (said TEXT)")).await.unwrap();

    psql(&url, &schema);
    python(&url, &schema);
    rust(&url, &schema).await;

    let all = async {
        while heard.lock().unwrap().len() < 3 {
            engine.next_commit().await;
        }
        engine.drain().await.unwrap();
    };
    tokio::time::timeout(PATIENCE, all).await.unwrap();
    let mut heard = heard.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard, ["psql commits", "python commits", "rust commits"]);
    let own = client.query(&format!("SELECT said FROM {schema}_own ORDER BY said"), &[]).await.unwrap();
    assert_eq!(own.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), heard);

    running.stop().await;
    engine.close().await;
    client.batch_execute(&format!("DROP TABLE {schema}_own")).await.unwrap();
    turnwise::remove_schema(&servers.postgres).unwrap();
}
