//! What an operator should know about the database. It is only read: the session is read-only from its beginning.

mod schema;

use std::time::{Duration, SystemTime};

use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};
use turnwise_core::name::Name;

use super::{CONNECTIONS, PostgresOptions, link, tls};
use crate::examine::{Finding, Findings, PATIENCE};

/// The oldest PostgreSQL that will do, as it writes its version.
const OLDEST: i32 = 130_000;
/// A node needs its connections at least twice: a new process starts before the old one has gone.
const SPARE_NODES: i64 = 2;
/// A transaction that is older holds back the removal of dead rows, and with it everybody's speed.
const OLD_SNAPSHOT: Duration = Duration::from_secs(60);
/// Nothing is changed, and no question takes long.
const SETTINGS: &str =
    "SET default_transaction_read_only = on; SET statement_timeout = '3s'; SET lock_timeout = '1s'";

/// What was found, and the kinds that are declared there.
pub(crate) struct Examined {
    pub(crate) findings: Vec<Finding>,
    pub(crate) kinds: Vec<Name>,
}

/// Looks at everything. Each question has a limit in time.
pub(crate) async fn examine(options: &PostgresOptions) -> Examined {
    let mut findings = Findings::about("postgres");
    let (client, place) = match connect(options).await {
        Ok(connected) => connected,
        Err(why) => {
            findings.fail("reachable", why);
            return Examined { findings: findings.into_vec(), kinds: Vec::new() };
        }
    };
    let asking = Asking { client, place, options };
    let mut kinds = Vec::new();
    let looked = async {
        asking.version(&mut findings).await?;
        kinds = asking.schema(&mut findings).await?;
        asking.durability(&mut findings).await?;
        asking.clock(&mut findings).await?;
        asking.connections(&mut findings).await?;
        asking.snapshots(&mut findings, OLD_SNAPSHOT).await
    };
    if let Err(why) = looked.await {
        findings.fail("answers", why);
    }
    Examined { findings: findings.into_vec(), kinds }
}

async fn connect(options: &PostgresOptions) -> Result<(Client, String), String> {
    let config = link::config(options)?;
    let tls = tls::connector(options.ca_file.as_deref()).map_err(|error| error.to_string())?;
    let connected = timeout(PATIENCE, async {
        let (client, connection) = config.connect(tls).await?;
        // How it ends is seen by the next question.
        tokio::spawn(connection);
        client.batch_execute(SETTINGS).await?;
        Ok(client)
    });
    match connected.await {
        Ok(Ok(client)) => Ok((client, link::host(&config))),
        Ok(Err(error)) => Err(link::unreachable(&config, &error)),
        Err(_) => Err(link::silent(&config, PATIENCE)),
    }
}

/// A connection to ask on.
struct Asking<'a> {
    client: Client,
    place: String,
    options: &'a PostgresOptions,
}

impl Asking<'_> {
    async fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, String> {
        match timeout(PATIENCE, self.client.query(sql, values)).await {
            Ok(answer) => answer.map_err(|error| {
                format!("the database at {} refused a question ({})", self.place, link::said(&error))
            }),
            Err(_) => Err(format!(
                "the database at {} has not answered within {} s",
                self.place,
                PATIENCE.as_secs()
            )),
        }
    }

    /// The only row of an answer.
    async fn row(&self, sql: &str) -> Result<Row, String> {
        let mut rows = self.rows(sql, &[]).await?;
        rows.pop().ok_or_else(|| format!("the database at {} answered nothing", self.place))
    }

    async fn version(&self, findings: &mut Findings) -> Result<(), String> {
        let row = self
            .row(
                "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
                  pg_is_in_recovery()",
            )
            .await?;
        let (number, version, is_standby): (i32, String, bool) = (row.get(0), row.get(1), row.get(2));
        let place = &self.place;
        findings.ok("reachable", format!("PostgreSQL answers at {place}"));
        match number < OLDEST {
            true => findings
                .fail("version", format!("PostgreSQL {version} is too old: upgrade it to 13 or later")),
            false => findings.ok("version", format!("PostgreSQL {version}")),
        }
        if is_standby {
            let text =
                format!("{place} is a standby and takes no writes: name the primary in TURNWISE_POSTGRES");
            findings.fail("primary", text);
        }
        Ok(())
    }

    async fn durability(&self, findings: &mut Findings) -> Result<(), String> {
        let row = self
            .row(
                "SELECT current_setting('fsync'), current_setting('full_page_writes'), \
                  current_setting('synchronous_commit')",
            )
            .await?;
        let [fsync, pages, commit]: [String; 3] = [row.get(0), row.get(1), row.get(2)];
        for (name, value) in [("fsync", &fsync), ("full_page_writes", &pages)] {
            if value == "off" {
                let text = format!(
                    "{name} is off: accepted work can be lost, or the whole database, when the machine fails. Set \
                     {name} = on in postgresql.conf"
                );
                findings.warn("durability", text);
            }
        }
        if fsync != "off" && pages != "off" {
            let overruled = match commit.as_str() {
                "on" | "remote_apply" => String::new(),
                other => format!(" (the server's is {other}; nodes overrule it)"),
            };
            findings.ok(
                "durability",
                format!("fsync is on, and every node commits with synchronous_commit = on{overruled}"),
            );
        }
        Ok(())
    }

    async fn clock(&self, findings: &mut Findings) -> Result<(), String> {
        let before = SystemTime::now();
        let row = self.row("SELECT extract(epoch FROM clock_timestamp())::float8").await?;
        let theirs = Duration::try_from_secs_f64(row.get(0)).unwrap_or_default();
        let so = "Sessions and leases are judged by the server's clock, so nothing breaks, but due times and logs \
                  will not agree";
        findings.clock(theirs, (before, SystemTime::now()), so);
        Ok(())
    }

    /// Whether there is room for another node, whichever limit is met first.
    async fn connections(&self, findings: &mut Findings) -> Result<(), String> {
        let row = self
            .row(
                "SELECT current_setting('max_connections')::int8 \
                    - current_setting('superuser_reserved_connections')::int8 \
                    - coalesce(current_setting('reserved_connections', true), '0')::int8, \
                  (SELECT sum(numbackends)::int8 FROM pg_stat_database), \
                  (SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END::int8 FROM pg_roles \
                   WHERE rolname = current_user), \
                  (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user), \
                  (SELECT CASE WHEN rolsuper THEN -1 ELSE datconnlimit END::int8 FROM pg_database, pg_roles \
                   WHERE datname = current_database() AND rolname = current_user), \
                  (SELECT numbackends::int8 FROM pg_stat_database WHERE datname = current_database())",
            )
            .await?;
        let (most, used): (i64, i64) = (row.get(0), row.get(1));
        let limits = [
            (most, used, "max_connections in postgresql.conf"),
            (row.get(2), row.get(3), "the limit of the role (ALTER ROLE … CONNECTION LIMIT)"),
            (row.get(4), row.get(5), "the limit of the database (ALTER DATABASE … CONNECTION LIMIT)"),
        ];
        // A negative limit is none.
        let left = |(most, used, _): &(i64, i64, &str)| if *most < 0 { i64::MAX } else { most - used };
        let Some(tightest) = limits.into_iter().min_by_key(left) else { return Ok(()) };
        // This question has a connection as well, which is free again in a moment.
        let (most, used, setting) = (tightest.0, tightest.1 - 1, tightest.2);
        let text = format!("a node opens {CONNECTIONS} connections; {used} of {most} are in use");
        match most - used < CONNECTIONS * SPARE_NODES {
            true => findings.warn(
                "connections",
                format!("{text}, which leaves no room for {SPARE_NODES} more nodes: raise {setting}, or stop who needs none"),
            ),
            false => findings.ok("connections", text),
        }
        Ok(())
    }

    /// Who keeps dead rows from being removed, because an old transaction of his might still look at them.
    async fn snapshots(&self, findings: &mut Findings, old: Duration) -> Result<(), String> {
        let rows = self
            .rows(
                "SELECT pid, coalesce(application_name, ''), coalesce(usename::text, ''), \
                 extract(epoch FROM clock_timestamp() - xact_start)::float8 FROM pg_stat_activity \
                 WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend' \
                 AND extract(epoch FROM clock_timestamp() - xact_start) > $1::float8 ORDER BY xact_start LIMIT 3",
                &[&old.as_secs_f64()],
            )
            .await?;
        if rows.is_empty() {
            let text = format!("no transaction that can be seen is older than {} s", old.as_secs());
            findings.ok("snapshots", text);
        }
        for row in rows {
            let (pid, program, user, age): (i32, String, String, f64) =
                (row.get(0), row.get(1), row.get(2), row.get(3));
            let text = format!(
                "process {pid} ({program}, user {user}) has had a transaction open for {age:.0} s: the database cannot \
                 remove dead rows meanwhile and gets slow. End it there, or with SELECT pg_terminate_backend({pid})"
            );
            findings.warn("snapshots", text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examine::Health;

    #[tokio::test]
    async fn who_holds_back_the_oldest_snapshot_is_named() {
        let options = PostgresOptions::new(turnwise_servers::shared::postgres().unwrap());
        let (other, _) = connect(&options).await.unwrap();
        let pid: i32 = other.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let hold = "SET application_name = 'forgotten'; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";
        other.batch_execute(hold).await.unwrap();
        let (client, place) = connect(&options).await.unwrap();
        let asking = Asking { client, place, options: &options };
        // Others may hold older ones on a server that is shared: all that are held now are looked at.
        let mut findings = Findings::about("postgres");
        asking.snapshots(&mut findings, Duration::ZERO).await.unwrap();
        let found = findings.into_vec();
        assert!(found.iter().all(|finding| finding.health == Health::Warn), "{found:?}");
        let says = |text: &str| found.iter().any(|finding| finding.says.contains(text));
        assert!(says(&format!("process {pid} (forgotten")) || found.len() == 3, "{found:?}");
        let mut findings = Findings::about("postgres");
        asking.snapshots(&mut findings, Duration::from_secs(86_400)).await.unwrap();
        assert_eq!(findings.into_vec()[0].health, Health::Ok);
    }
}
