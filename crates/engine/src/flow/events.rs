//! The event stream: everything that happened, in commit order, read by cursor. Nothing in the engine depends on it.

use turnwise_core::event::Cursor;
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

    /// Ends when something was committed: a good moment to read on. May end without anything new.
    pub async fn next_commit(&self) {
        self.inner.hub.commits.notified().await;
    }
}
