//! A store in memory, for tests and for the simulation. It keeps every promise but outliving the process, and
//! passes the same suite as the others.

mod index;
mod reads;
mod rows;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::broadcast;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::limits;
use turnwise_core::time::Time;

use crate::clock::Clock;
use crate::ledger::{self, Working, blocks, hinted, last_of, page, trimmed};
use crate::store::{
    Answer, Committed, Filter, Found, JobsPage, Outcome, Read, Ready, ReadyAnswer, Store, StoreError, Tail,
    Unit,
};
use rows::Rows;

/// Hints that a slow listener may be behind before it misses some.
const HINTS: usize = 1_024;

/// A store in memory.
pub struct MemoryStore {
    inner: Mutex<Inner>,
    clock: Arc<dyn Clock>,
    hints: broadcast::Sender<Arc<Committed>>,
}

struct Inner {
    working: Working<Rows>,
    /// The cursor of the last event.
    last: Cursor,
}

impl MemoryStore {
    /// An empty store that judges by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let inner = Inner { working: Working::new(Rows::default()), last: Cursor::START };
        MemoryStore { inner: Mutex::new(inner), clock, hints: broadcast::channel(HINTS).0 }
    }

    /// Commits at once, for callers that own the thread.
    pub fn commit_now(&self, units: &[Unit]) -> Result<Vec<Outcome>, StoreError> {
        let now = self.clock.now();
        let mut inner = self.lock();
        let committed = inner.commit(units, now);
        if committed.is_err() {
            inner.working.discard();
        }
        let (outcomes, hint) = committed?;
        // Nobody listening is fine: hints are only hints.
        let _ = self.hints.send(Arc::new(hint));
        Ok(outcomes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic inside a commit leaves rows that were never written; they are thrown away by the next commit.
        self.inner.lock().unwrap_or_else(|poisoned| {
            let mut guard = poisoned.into_inner();
            guard.working.discard();
            guard
        })
    }
}

impl Inner {
    fn commit(&mut self, units: &[Unit], now: Time) -> Result<(Vec<Outcome>, Committed), StoreError> {
        let mut outcomes = Vec::with_capacity(units.len());
        for unit in units {
            outcomes.push(ledger::execute(&mut self.working, unit, now)?);
        }
        let working = &mut self.working;
        working.backend.flush(&mut working.tables)?;
        let events = std::mem::take(&mut working.events);
        let ready = hinted(working)?;
        working.tidy();
        for (block, events) in blocks(self.last, &events) {
            self.last = last_of(block, events);
            working.backend.blocks.insert(block, (now, events.to_vec()));
        }
        Ok((outcomes, Committed { cursor: self.last, at: now, events, ready, handed_in: false }))
    }
}

impl Store for MemoryStore {
    fn commit(&self, units: Vec<Unit>) -> Answer<'_, Result<Vec<Outcome>, StoreError>> {
        Box::pin(ready(self.commit_now(&units)))
    }

    fn read(&self, what: Read) -> Answer<'_, Result<Found, StoreError>> {
        let now = self.clock.now();
        Box::pin(ready(Ok(reads::read(&self.lock().working.backend, &what, now))))
    }

    fn ready(&self, what: Ready) -> Answer<'_, Result<ReadyAnswer, StoreError>> {
        Box::pin(ready(Ok(reads::ready(&self.lock().working.backend, &what))))
    }

    fn tail(&self, after: Cursor, limit: usize) -> Answer<'_, Result<Tail, StoreError>> {
        let limit = limit.min(limits::PAGE_ROWS);
        let inner = self.lock();
        let blocks: &BTreeMap<u64, (Time, Vec<Event>)> = &inner.working.backend.blocks;
        let oldest = trimmed(blocks.keys().next().copied());
        let tail = if after < oldest {
            Tail::Gone { oldest }
        } else {
            let blocks =
                blocks.range(after.block()..).map(|(block, (at, events))| (*block, *at, events.clone()));
            Tail::Page(page(blocks, after, limit))
        };
        Box::pin(ready(Ok(tail)))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Result<JobsPage, StoreError>> {
        Box::pin(ready(Ok(reads::list(&self.lock().working.backend, &filter))))
    }

    fn watch(&self) -> broadcast::Receiver<Arc<Committed>> {
        self.hints.subscribe()
    }
}
