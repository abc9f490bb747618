//! A connection: made anew when it was lost, with its statements prepared once. Used from one thread.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Row, Statement};

use super::{PostgresOptions, schema, tls};
use crate::store::StoreError;

/// How long a connection may take, and how long the server may take to answer anything at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Settings of every connection. A node that stands still in the middle of a commit holds everybody up: the server ends
/// its transaction before anybody is taken for dead. Every question has its index, so a plan is made once and never
/// reads a whole table because it was small when the plan was made.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '4s'; SET lock_timeout = '8s'; \
                        SET statement_timeout = '30s'; SET synchronous_commit = on; SET jit = off; \
                        SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
                        SET enable_hashjoin = off; SET enable_mergejoin = off; \
                        SET client_min_messages = warning;";

/// A value that outlives the call that made it.
pub(super) type Value = Box<dyn ToSql + Sync + Send>;

/// A statement to be sent together with others.
pub(super) struct Pending {
    pub(super) sql: Cow<'static, str>,
    pub(super) values: Vec<Value>,
}

/// Who is told of notifications.
#[derive(Clone)]
pub(super) struct Ears {
    pub(super) told: Arc<Notify>,
    /// What this node's own notifications say.
    pub(super) own: String,
}

/// A connection, or the wish for one.
pub(super) struct Link {
    runtime: Runtime,
    config: Config,
    options: PostgresOptions,
    /// The connection then listens for notifications.
    ears: Option<Ears>,
    client: Option<Client>,
    statements: HashMap<String, Statement>,
    /// A transaction is under way: on another connection its rest would be written without its beginning.
    pinned: bool,
}

impl Link {
    /// A link that connects when it is first used.
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let config = config(options).map_err(StoreError::Failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(format!("cannot start a runtime: {error}")))?;
        Ok(Link {
            runtime,
            config,
            options: options.clone(),
            ears: None,
            client: None,
            statements: HashMap::new(),
            pinned: false,
        })
    }

    /// Listens for notifications of others from now on.
    pub(super) fn listen(mut self, ears: Ears) -> Self {
        self.ears = Some(ears);
        self
    }

    /// The channel that tells of commits.
    pub(super) fn channel(&self) -> String {
        format!("{}.commits", self.options.schema)
    }

    pub(super) fn schema(&self) -> &str {
        &self.options.schema
    }

    /// The key of the right to commit, one for each schema.
    pub(super) fn lock_key(&self) -> i64 {
        // FNV-1a: every node computes the same number.
        let hash = self.options.schema.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        hash.cast_signed()
    }

    /// Waits for something else on this link's thread; the connection is looked after meanwhile.
    pub(super) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    /// Whether it is connected. What was prepared or begun before a new connection is gone.
    pub(super) fn is_connected(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Connects, if it is not connected.
    pub(super) fn connect(&mut self) -> Result<(), StoreError> {
        if self.is_connected() {
            return Ok(());
        }
        if self.pinned {
            let why = format!("the connection to {} was lost in the middle of a commit", host(&self.config));
            return Err(StoreError::Failed(why));
        }
        self.statements.clear();
        self.client = None;
        let tls = tls::connector(self.options.ca_file.as_deref())?;
        // Named last, temporary tables of others cannot stand in front of ours in what runs with our rights.
        let path = format!("SET search_path = {}, pg_temp; ", schema::quoted(&self.options.schema));
        let listen = match &self.ears {
            Some(_) => format!("LISTEN {}", schema::quoted(&self.channel())),
            None => String::new(),
        };
        let greeting = format!("{SETTINGS} {path} {listen}");
        let (config, ears) = (&self.config, self.ears.clone());
        let client = self.runtime.block_on(async {
            let connected = tokio::time::timeout(PATIENCE, async {
                let (client, mut connection) = config.connect(tls).await?;
                tokio::spawn(async move {
                    // How it ended is seen by the next call.
                    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                        // What this node did itself it need not be told.
                        if let (AsyncMessage::Notification(news), Some(Ears { told, own })) = (message, &ears)
                            && news.payload() != own
                        {
                            told.notify_one();
                        }
                    }
                });
                client.batch_execute(&greeting).await?;
                Ok::<_, tokio_postgres::Error>(client)
            });
            match connected.await {
                Ok(connected) => connected.map_err(|error| StoreError::Failed(unreachable(config, &error))),
                Err(_) => Err(StoreError::Failed(silent(config, PATIENCE))),
            }
        })?;
        self.client = Some(client);
        Ok(())
    }

    /// From now on there is this connection or none.
    pub(super) fn pin(&mut self) -> Result<(), StoreError> {
        self.connect()?;
        self.pinned = true;
        Ok(())
    }

    /// A new connection will do as well again.
    pub(super) fn unpin(&mut self) {
        self.pinned = false;
    }

    /// The connection is not to be used any more.
    pub(super) fn drop_connection(&mut self) {
        self.client = None;
        self.statements.clear();
    }

    /// Statements without values and answers.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connect()?;
        let Some(client) = &self.client else { return Err(StoreError::Closed) };
        let done = self.runtime.block_on(bounded(client.batch_execute(sql)));
        self.checked(done)
    }

    /// The rows that a statement gives.
    pub(super) fn rows(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        self.connect()?;
        let statement = self.prepared(sql)?;
        let Some(client) = &self.client else { return Err(StoreError::Closed) };
        let found = self.runtime.block_on(bounded(client.query(&statement, values)));
        self.checked(found)
    }

    /// Sends statements one after the other without waiting in between: one way there and one back for all of them.
    pub(super) fn send(&mut self, pending: &[Pending]) -> Result<Vec<Vec<Row>>, StoreError> {
        self.connect()?;
        let statements =
            pending.iter().map(|one| self.prepared(&one.sql)).collect::<Result<Vec<Statement>, _>>()?;
        let Some(client) = &self.client else { return Err(StoreError::Closed) };
        let calls = pending.iter().zip(&statements).map(|(one, statement)| async move {
            let values: Vec<&(dyn ToSql + Sync)> =
                one.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            client.query(statement, &values).await
        });
        // They are polled, and so sent, in this order.
        let done = self.runtime.block_on(bounded(try_join_all(calls)));
        self.checked(done)
    }

    /// A statement that is prepared once for a connection.
    fn prepared(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let Some(client) = &self.client else { return Err(StoreError::Closed) };
        let statement = self.runtime.block_on(bounded(client.prepare(sql)));
        let statement = self.checked(statement)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Tells what a fault means. Whatever is unclear about the connection ends it.
    fn checked<T>(&mut self, done: Result<T, Fault>) -> Result<T, StoreError> {
        done.map_err(|fault| match fault {
            Fault::Silent => {
                self.drop_connection();
                StoreError::Failed(format!("the database at {} does not answer", host(&self.config)))
            }
            Fault::Error(error) => {
                if error.as_db_error().is_none() || error.is_closed() {
                    self.drop_connection();
                }
                meaning(&self.config, &error)
            }
        })
    }
}

/// What went wrong with a call.
enum Fault {
    /// Nothing came back in time.
    Silent,
    /// An error did.
    Error(tokio_postgres::Error),
}

/// Longer than any statement may take on the server.
const SILENCE: Duration = Duration::from_secs(40);

async fn bounded<T>(call: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(SILENCE, call).await {
        Ok(done) => done.map_err(Fault::Error),
        Err(_) => Err(Fault::Silent),
    }
}

/// How to connect. What cannot be read is not repeated: it may hold a password.
pub(super) fn config(options: &PostgresOptions) -> Result<Config, String> {
    let mut config: Config = options.url.parse().map_err(|_| {
        "the address of the database is not one: TURNWISE_POSTGRES looks like \
         postgres://user:password@host:5432/database"
    })?;
    config.connect_timeout(PATIENCE).keepalives_idle(Duration::from_secs(10)).tcp_user_timeout(PATIENCE);
    config.application_name("turnwise");
    Ok(config)
}

/// Where the database is, without anything secret.
pub(super) fn host(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(name)) => name.clone(),
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    format!("{host}:{}", config.get_ports().first().unwrap_or(&5432))
}

/// Why there is no connection, and what to change.
pub(super) fn unreachable(config: &Config, error: &tokio_postgres::Error) -> String {
    let place = host(config);
    let user = config.get_user().unwrap_or("nobody");
    match error.code() {
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            format!(
                "the database at {place} does not let `{user}` in: check user and password in TURNWISE_POSTGRES"
            )
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => format!(
            "the database at {place} has no database `{}`: make it, or change TURNWISE_POSTGRES",
            config.get_dbname().unwrap_or(user)
        ),
        _ => format!("the database at {place} cannot be reached ({}): check TURNWISE_POSTGRES", said(error)),
    }
}

/// Somebody took the call and said nothing.
pub(super) fn silent(config: &Config, waited: Duration) -> String {
    let (place, waited) = (host(config), waited.as_secs());
    format!("the database at {place} accepted and did not answer within {waited} s: check TURNWISE_POSTGRES")
}

/// What an error says, with its cause.
pub(super) fn said(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(source)) => source.to_string(),
        (None, None) => error.to_string(),
    }
}

/// What a fault of PostgreSQL means for the caller.
fn meaning(config: &Config, error: &tokio_postgres::Error) -> StoreError {
    let Some(db) = error.as_db_error() else {
        return StoreError::Failed(format!("the connection to {} was lost ({})", host(config), said(error)));
    };
    let code = db.code();
    match code.code().get(..2) {
        _ if *code == SqlState::DISK_FULL => StoreError::Full,
        // Integrity: a state that must not be.
        Some("23") => StoreError::Broken(format!(
            "a state that must not be was refused by the database ({})",
            db.message()
        )),
        // Missing tables, wrong columns, no rights.
        Some("42") => StoreError::Broken(format!("{} (PostgreSQL's code {})", db.message(), code.code())),
        _ => StoreError::Failed(format!("{} (PostgreSQL's code {})", db.message(), code.code())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_never_goes_on_with_another_connection() {
        let options = PostgresOptions::new(turnwise_servers::shared::postgres().unwrap());
        let (mut link, mut other) = (Link::new(&options).unwrap(), Link::new(&options).unwrap());
        link.pin().unwrap();
        let pid: i32 = link.rows("SELECT pg_backend_pid()", &[]).unwrap()[0].get(0);
        other.rows("SELECT pg_terminate_backend($1)", &[&pid]).unwrap();
        // The first call may find out, the second one knows.
        for _ in 0..3 {
            assert!(link.rows("SELECT 1", &[]).is_err());
        }
        link.unpin();
        assert_eq!(link.rows("SELECT 1", &[]).unwrap().len(), 1);
    }
}
