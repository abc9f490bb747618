//! The event stream: everything that happened, in commit order, read by cursor. Nothing in the engine depends on it.

use turnwise_core::event::Cursor;
use turnwise_core::limits;
use turnwise_drivers::store::Tail;

use crate::Error;
use crate::engine::Engine;
use crate::view::EventView;

impl Engine {
    /// The events after a cursor, and where to go on. An empty page means: nothing more has happened yet.
    pub async fn events(&self, after: Cursor, limit: usize) -> Result<(Vec<EventView>, Cursor), Error> {
        match self.inner.store.tail(after, limit).await? {
            Tail::Page(page) => {
                let events =
                    page.events.into_iter().map(|(cursor, at, event)| EventView { cursor, at, event });
                Ok((events.collect(), page.next))
            }
            Tail::Gone { oldest } => Err(Error::Gone(oldest.as_u64())),
        }
    }

    /// The cursor after everything that has happened so far: who reads from there on sees what happens next.
    ///
    /// Blocks of events are numbered without gaps, so the last one is found by halving.
    pub async fn latest(&self) -> Result<Cursor, Error> {
        let (mut known, mut step) = (Cursor::START, 1_u64);
        let mut beyond = None;
        loop {
            let block = match beyond {
                None => known.block() + step,
                Some(beyond) => known.block() + (beyond - known.block()) / 2,
            };
            if block == known.block() {
                return self.end_of(known).await;
            }
            match self.inner.store.tail(Cursor::new(block, 0), 1).await? {
                Tail::Gone { oldest } => known = oldest,
                Tail::Page(page) if page.events.is_empty() => beyond = Some(block),
                Tail::Page(_) => (known, step) = (Cursor::new(block, 0), step.saturating_mul(2)),
            }
        }
    }

    /// The cursor after the last event that follows this one.
    async fn end_of(&self, mut cursor: Cursor) -> Result<Cursor, Error> {
        loop {
            match self.inner.store.tail(cursor, limits::PAGE_ROWS).await? {
                Tail::Gone { oldest } => cursor = oldest,
                Tail::Page(page) if page.events.is_empty() => return Ok(cursor),
                Tail::Page(page) => cursor = page.next,
            }
        }
    }

    /// Ends when something was committed: a good moment to read on. May end without anything new.
    pub async fn next_commit(&self) {
        self.inner.hub.commits.notified().await;
    }
}
