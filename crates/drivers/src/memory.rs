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
use crate::ledger::{self, Working};
use crate::store::{
    Answer, Committed, Filter, Found, JobsPage, Outcome, Read, Ready, ReadyAnswer, Store, StoreError, Tail,
    TailPage, Unit,
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
    last_block: u64,
}

impl MemoryStore {
    /// An empty store that judges by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let inner = Inner { working: Working::new(Rows::default()), last_block: 0 };
        MemoryStore { inner: Mutex::new(inner), clock, hints: broadcast::channel(HINTS).0 }
    }

    /// Commits at once, for callers that own the thread.
    pub fn commit_now(&self, units: &[Unit]) -> Result<Vec<Outcome>, StoreError> {
        let now = self.clock.now();
        let mut inner = self.lock();
        let inner = &mut *inner;
        let mut outcomes = Vec::with_capacity(units.len());
        for unit in units {
            outcomes.push(ledger::execute(&mut inner.working, unit, now)?);
        }
        let working = &mut inner.working;
        working.backend.flush(&mut working.tables)?;
        let events = std::mem::take(&mut working.events);
        let lines = hinted(working)?;
        working.tidy();
        if !events.is_empty() {
            inner.last_block += 1;
            working.backend.blocks.insert(inner.last_block, (now, events.clone()));
        }
        let cursor = Cursor::new(inner.last_block, events.len().saturating_sub(1) as u16);
        // Nobody listening is fine: hints are only hints.
        let _ = self.hints.send(Arc::new(Committed { cursor, at: now, events, ready: lines }));
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

type HintedLines = Vec<(turnwise_core::ids::LineId, Arc<turnwise_core::line::LineKey>)>;

/// The distinct lines that may have ready work, with their keys.
pub(crate) fn hinted<B: ledger::Backend>(working: &mut Working<B>) -> Result<HintedLines, StoreError> {
    let mut ids = std::mem::take(&mut working.ready);
    ids.sort_unstable();
    ids.dedup();
    let mut lines = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(line) = working.tables.lines.get(&mut working.backend, &id)? {
            lines.push((id, line.clone()));
        }
    }
    Ok(lines)
}

/// The page of events after a cursor, from blocks that begin at the cursor's own.
pub(crate) fn page(
    blocks: impl Iterator<Item = (u64, Time, Vec<Event>)>,
    after: Cursor,
    limit: usize,
) -> TailPage {
    let mut page = TailPage { events: Vec::new(), next: after };
    for (block, at, events) in blocks {
        for (place, event) in events.into_iter().enumerate() {
            let cursor = Cursor::new(block, place as u16);
            if cursor <= after && after != Cursor::START {
                continue;
            }
            if page.events.len() == limit {
                return page;
            }
            page.events.push((cursor, at, event));
            page.next = cursor;
        }
    }
    page
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
        let trimmed = inner.working.backend.trimmed;
        let tail = if after.block() < trimmed {
            Tail::Gone { oldest: Cursor::new(trimmed, u16::MAX) }
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
