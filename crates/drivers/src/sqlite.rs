//! The store on one machine: SQLite inside, one writer thread with group commit, short readers.
//!
//! Every answered commit is on the disk (WAL, `synchronous=FULL`). The writer never waits to fill a group: it
//! takes what has come while it was busy. Checkpoints happen on their own thread, off the commit path.

mod backup;
mod checkpoint;
mod codec;
mod listing;
mod lists;
mod lock;
mod log;
mod reads;
mod rows;
mod schema;
mod write;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};
use turnwise_core::event::Cursor;
use turnwise_core::limits;

use crate::clock::Clock;
use crate::group::{self, Callers};
use crate::store::{
    Answer, Committed, Filter, Found, JobsPage, Outcome, Read, Ready, ReadyAnswer, Store, StoreError, Tail,
    Unit,
};
pub use backup::{Inspection, backup, inspect};
use reads::LineCache;
use writer::Writer;

/// The database's name in its directory.
const DATABASE: &str = "turnwise.db";
/// Hints that a slow listener may be behind before it misses some.
const HINTS: usize = 1_024;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Where the data lives; made if it is not there.
    pub directory: PathBuf,
    /// Refuse to grow beyond so many bytes, as if the disk were full.
    pub most_bytes: Option<u64>,
}

/// A store in a directory.
pub struct SqliteStore {
    callers: Option<Callers>,
    hints: broadcast::Sender<Arc<Committed>>,
    clock: Arc<dyn Clock>,
    /// Answers `ready`, on the caller's thread: a bounded look at an index takes microseconds.
    planner: Mutex<Option<Reader>>,
    /// Answers everything else, on a thread of its own.
    looker: Option<std::sync::mpsc::Sender<Look>>,
    looking: Option<std::thread::JoinHandle<()>>,
    writing: Vec<std::thread::JoinHandle<()>>,
    _lock: lock::DirectoryLock,
}

/// A read-only connection and the lines that it has met.
struct Reader {
    connection: Connection,
    lines: LineCache,
}

type Look = Box<dyn FnOnce(&mut Reader) + Send>;

impl SqliteStore {
    /// Opens the store in a directory, alone.
    pub fn open(options: &SqliteOptions, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let lock = lock::DirectoryLock::take(&options.directory)?;
        let path = options.directory.join(DATABASE);
        if path.metadata().map_or(0, |file| file.len()) == 0 {
            // SQLite throws away any log that it finds beside an empty database: the tables come first.
            drop(schema::open(&path, options.most_bytes)?);
        }
        log::reserve(&path, checkpoint::HARD);
        let mut connection = schema::open(&path, options.most_bytes)?;
        let hints = broadcast::channel(HINTS).0;
        let (callers, inbox) = group::channel();
        let (checkpoints, checkpointer) = checkpoint::start(&path, &mut connection)?;
        let writer = Writer::new(connection, path.clone(), clock.clone(), hints.clone(), checkpoints)?;
        let writing = spawn("turnwise-writer", move || writer.run(inbox))?;
        let (looker, looks) = std::sync::mpsc::channel::<Look>();
        let mut reader = Reader::open(&path)?;
        let looking = spawn("turnwise-reader", move || {
            while let Ok(look) = looks.recv() {
                look(&mut reader);
            }
        })?;
        Ok(SqliteStore {
            callers: Some(callers),
            hints,
            clock,
            planner: Mutex::new(Some(Reader::open(&path)?)),
            looker: Some(looker),
            looking: Some(looking),
            writing: vec![writing, checkpointer],
            _lock: lock,
        })
    }

    /// Answers a question on the reader's thread.
    fn look<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<'_, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        let look: Look = Box::new(move |reader| {
            // Whoever asked may have gone.
            let _ = reply.send(question(reader));
        });
        let sent = self.looker.as_ref().is_some_and(|looker| looker.send(look).is_ok());
        Box::pin(async move {
            match sent {
                true => answer.await.map_err(|_| StoreError::Closed)?,
                false => Err(StoreError::Closed),
            }
        })
    }
}

impl Reader {
    fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Reader { connection: schema::open_reader(path)?, lines: LineCache::default() })
    }
}

pub(crate) fn spawn(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(body);
    thread.map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))
}

/// Every thread ends before the lock on the directory is given back.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Readers go first: the last connection to close is a writing one, which leaves no log behind.
        self.looker = None;
        self.planner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        join(self.looking.take());
        self.callers = None;
        self.writing.drain(..).for_each(|thread| join(Some(thread)));
    }
}

fn join(thread: Option<std::thread::JoinHandle<()>>) {
    if let Some(thread) = thread {
        // A panic in a thread was reported when it happened.
        let _ = thread.join();
    }
}

impl Store for SqliteStore {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>> {
        Box::pin(async move { self.callers.as_ref().ok_or(StoreError::Closed)?.commit(units).await })
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        let now = self.clock.now();
        self.look(move |reader| reads::read(reader, &what, now))
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        let mut planner = self.planner.lock().unwrap_or_else(PoisonError::into_inner);
        let answer =
            planner.as_mut().ok_or(StoreError::Closed).and_then(|reader| reads::ready(reader, &what));
        Box::pin(std::future::ready(answer))
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        let limit = limit.min(limits::PAGE_ROWS);
        self.look(move |reader| lists::tail(reader, after, limit))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        self.look(move |reader| listing::list(reader, &filter))
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.hints.subscribe()
    }
}
