//! The store of a fleet: PostgreSQL, shared by many nodes.
//!
//! The ledger decides here as it does on one machine; see [`writer`] for how nodes take turns. Every answered commit is
//! on the disk of the server (`synchronous_commit = on`). Each node has four connections: one writes, two read, and one
//! follows what the others do.

mod codec;
pub(crate) mod examine;
mod fetch;
mod follow;
mod handed_in;
mod link;
mod listing;
mod lists;
mod meter;
mod reads;
mod rows;
mod schema;
mod tls;
mod together;
mod write;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use tokio::sync::{Notify, broadcast, oneshot};
use tokio_postgres::Row;
use turnwise_core::event::Cursor;
use turnwise_core::limits;

use crate::clock::Clock;
use crate::group::{self, Callers};
use crate::sqlite::spawn;
use crate::store::{
    Answer, Committed, Filter, Found, JobsPage, Outcome, Read, Ready, ReadyAnswer, Store, StoreError, Tail,
    Unit,
};
use follow::Follower;
use link::{Ears, Link};
pub use meter::{Cost, Meter};
use reads::LineCache;
use writer::Writer;

/// Connections of a node: one writes, two read, one follows.
const CONNECTIONS: i64 = 4;

/// Hints that a slow listener may be behind before it misses some.
const HINTS: usize = 1_024;

/// How to reach the database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, with `sslmode=require` for an encrypted connection.
    pub url: String,
    /// The schema that the tables are in; made if it is not there.
    pub schema: String,
    /// Certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Judge by this clock instead of the database's, for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl PostgresOptions {
    /// The usual schema, the system's certificates, the database's clock.
    pub fn new(url: impl Into<String>) -> Self {
        PostgresOptions { url: url.into(), schema: "turnwise".into(), ca_file: None, clock: None }
    }
}

/// The address may hold a password: it is never shown.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// A store that many nodes share.
pub struct PostgresStore {
    callers: Option<Callers>,
    hints: broadcast::Sender<Arc<Committed>>,
    planner: Option<mpsc::Sender<Look>>,
    looker: Option<mpsc::Sender<Look>>,
    /// Ends the follower.
    stop: Arc<AtomicBool>,
    told: Arc<Notify>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// A connection to read with, and the lines that it has met.
struct Reader {
    link: Link,
    lines: LineCache,
    clock: Option<Arc<dyn Clock>>,
}

type Look = Box<dyn FnOnce(&mut Reader) + Send>;

impl PostgresStore {
    /// Connects, and brings the schema up to this version. Answers within a bounded time, whatever the server does.
    pub fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        // The connection is made on the thread that keeps it: this one may belong to another runtime.
        let (opened, answer) = mpsc::channel();
        let (callers, inbox) = group::channel();
        let hints = broadcast::channel(HINTS).0;
        let mut origin = [0; 8];
        getrandom::fill(&mut origin)
            .map_err(|error| StoreError::Failed(format!("the system gives no random numbers: {error}")))?;
        let origin = i64::from_le_bytes(origin);
        let (writers, told_of) = (options.clone(), hints.clone());
        let writing = spawn("turnwise-writer", move || {
            let connected = Link::new(&writers).and_then(|mut link| {
                schema::migrate(&mut link)?;
                Ok(link)
            });
            match connected {
                Ok(link) => {
                    // Whoever opens it waits for this.
                    let _ = opened.send(Ok(()));
                    Writer::new(link, writers, told_of, origin).run(inbox);
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        })?;
        answer.recv().map_err(|_| StoreError::Closed)??;
        let (planner, planning) = reader("turnwise-planner", options)?;
        let (looker, looking) = reader("turnwise-reader", options)?;
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let follower = Follower {
            link: Link::new(options)?.listen(Ears { told: told.clone(), own: origin.to_string() }),
            told: told.clone(),
            hints: hints.clone(),
            origin,
            stop: stop.clone(),
        };
        let following = spawn("turnwise-follower", move || follower.run())?;
        Ok(PostgresStore {
            callers: Some(callers),
            hints,
            planner: Some(planner),
            looker: Some(looker),
            stop,
            told,
            threads: vec![writing, planning, looking, following],
        })
    }
}

/// Removes a schema and everything in it.
pub fn remove(options: &PostgresOptions) -> Result<(), StoreError> {
    let options = options.clone();
    // On a thread of its own: the caller's may belong to another runtime.
    let removing = std::thread::spawn(move || {
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", schema::quoted(&options.schema));
        Link::new(&options)?.batch(&drop)
    });
    removing.join().map_err(|_| StoreError::Closed)?
}

/// Starts a thread that answers questions.
fn reader(
    name: &str,
    options: &PostgresOptions,
) -> Result<(mpsc::Sender<Look>, std::thread::JoinHandle<()>), StoreError> {
    let (sender, looks) = mpsc::channel::<Look>();
    let mut reader =
        Reader { link: Link::new(options)?, lines: LineCache::default(), clock: options.clock.clone() };
    let thread = spawn(name, move || {
        while let Ok(look) = looks.recv() {
            look(&mut reader);
        }
    })?;
    Ok((sender, thread))
}

/// Has a question answered on a reader's thread.
fn ask<T: Send + 'static>(
    reader: Option<&mpsc::Sender<Look>>,
    question: impl FnOnce(&mut Reader) -> Result<T, StoreError> + Send + 'static,
) -> Answer<'static, Result<T, StoreError>> {
    let (reply, answer) = oneshot::channel();
    let look: Look = Box::new(move |reader| {
        // Whoever asked may have gone.
        let _ = reply.send(question(reader));
    });
    let sent = reader.is_some_and(|reader| reader.send(look).is_ok());
    Box::pin(async move {
        match sent {
            true => answer.await.map_err(|_| StoreError::Closed)?,
            false => Err(StoreError::Closed),
        }
    })
}

/// Asks for the last event that there is. Whoever wrote it may be newer than this version: it is not opened.
const LAST_EVENT: &str = "SELECT block, events FROM event ORDER BY block DESC LIMIT 1";

/// The cursor that the answer to [`LAST_EVENT`] says.
fn last_cursor(rows: &[Row]) -> Result<Cursor, StoreError> {
    let Some(row) = rows.first() else { return Ok(Cursor::START) };
    let last: i32 = codec::get::<i32>(row, 1)? - 1;
    Ok(Cursor::new(codec::number(row, 0)?, last as u16))
}

/// Every thread ends, and with it its connection.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.told.notify_one();
        (self.callers, self.planner, self.looker) = (None, None, None);
        for thread in self.threads.drain(..) {
            // A panic in a thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Store for PostgresStore {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>> {
        Box::pin(async move { self.callers.as_ref().ok_or(StoreError::Closed)?.commit(units).await })
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        ask(self.looker.as_ref(), move |reader| reads::read(reader, &what))
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        // A look through all lines may take its time; planning does not wait for it.
        let reader = match what {
            Ready::Jobs(_) => self.planner.as_ref(),
            Ready::Lines { .. } => self.looker.as_ref(),
        };
        ask(reader, move |reader| reads::ready(reader, &what))
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        let limit = limit.min(limits::PAGE_ROWS);
        ask(self.looker.as_ref(), move |reader| lists::tail(&mut reader.link, after, limit))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        ask(self.looker.as_ref(), move |reader| listing::list(reader, &filter))
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.hints.subscribe()
    }
}
