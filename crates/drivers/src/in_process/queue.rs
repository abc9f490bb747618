//! One queue: what waits in memory, and how much more of it is in the store.
//!
//! A transient queue is all in memory. A durable one is in the store; memory holds a window of it, so that a
//! deep backlog costs no memory. Messages have ascending places, and `waiting` is always sorted by them: what
//! comes back takes its old place again, before everything that was never delivered.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use turnwise_core::limits;
use turnwise_core::name::Name;

use super::stored;
use crate::store::{Blob, Message, Store, StoreError};

/// A queue with its consumers' bell.
pub(super) struct Queue {
    pub(super) name: Name,
    /// Where its messages are kept, if they outlive a restart.
    pub(super) store: Option<Arc<dyn Store>>,
    backlog: Mutex<Backlog>,
    /// Rung once for each message that may be taken, so that one consumer wakes, not all of them.
    pub(super) arrived: Notify,
}

/// A message that waits, or that a consumer has and has not settled.
pub(super) struct Waiting {
    /// Its place in the queue; for a durable queue its number in the store.
    pub(super) place: u64,
    pub(super) body: Blob,
    pub(super) again: bool,
}

#[derive(Default)]
struct Backlog {
    waiting: VecDeque<Waiting>,
    /// Places taken: waiting, in the store, with a consumer, or reserved for a publish under way.
    held: usize,
    /// The last place that was given.
    newest: u64,
    /// The last place that was brought into memory. Behind `newest` only in a durable queue.
    loaded: u64,
    /// Up to here messages come from an earlier life of the broker.
    inherited: u64,
    /// Somebody is reading from the store.
    loading: bool,
    closed: bool,
}

/// What a consumer that wants a message finds.
pub(super) enum Taken<'a> {
    /// A message.
    Message(Waiting),
    /// None in memory, more in the store: read them, then look again.
    Behind(Load<'a>),
    /// None: wait for the bell.
    Nothing,
    /// The broker is gone.
    Closed,
}

impl Backlog {
    fn is_behind(&self) -> bool {
        self.newest > self.loaded
    }

    fn append(&mut self, place: u64, body: Blob) {
        self.loaded = place;
        self.waiting.push_back(Waiting { place, body, again: place <= self.inherited });
    }
}

impl Queue {
    /// A queue in memory.
    pub(super) fn transient(name: Name) -> Self {
        Queue { name, store: None, backlog: Mutex::default(), arrived: Notify::new() }
    }

    /// A queue in a store, with what an earlier life of the broker left there.
    pub(super) async fn durable(name: Name, store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let left = stored::inherit(&*store, &name).await?;
        let mut backlog =
            Backlog { held: left.held, newest: left.last, inherited: left.last, ..Backlog::default() };
        for message in left.first {
            backlog.append(message.number, message.body);
        }
        Ok(Queue { name, store: Some(store), backlog: Mutex::new(backlog), arrived: Notify::new() })
    }

    pub(super) fn is_durable(&self) -> bool {
        self.store.is_some()
    }

    /// Keeps a place for a message that is about to come; nothing if the queue is full.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Room> {
        let mut backlog = self.lock();
        if backlog.held >= limits::QUEUE_MESSAGES {
            return None;
        }
        backlog.held += 1;
        Some(Room { queue: Some(self.clone()) })
    }

    /// A message was dealt with: its place is free.
    pub(super) fn free(&self) {
        let mut backlog = self.lock();
        // A publish whose outcome was unknown was not counted when it came to light; the store counts
        // exactly.
        backlog.held = backlog.held.saturating_sub(1);
    }

    /// The next message, if there is one.
    pub(super) fn take(&self) -> Taken<'_> {
        let mut backlog = self.lock();
        if backlog.closed {
            return Taken::Closed;
        }
        if let Some(message) = backlog.waiting.pop_front() {
            return Taken::Message(message);
        }
        match &self.store {
            Some(store) if backlog.is_behind() && !backlog.loading => {
                backlog.loading = true;
                let (after, upto) = (backlog.loaded, backlog.newest);
                Taken::Behind(Load { queue: self, store: &**store, after, upto })
            }
            _ => Taken::Nothing,
        }
    }

    /// Messages come back unsettled, each to its old place.
    pub(super) fn give_back(&self, messages: impl IntoIterator<Item = Waiting>) {
        let mut count = 0;
        let mut backlog = self.lock();
        if backlog.closed {
            return;
        }
        for message in messages {
            let at = backlog.waiting.partition_point(|other| other.place < message.place);
            backlog.waiting.insert(at, Waiting { again: true, ..message });
            count += 1;
        }
        drop(backlog);
        self.ring(count);
    }

    /// The broker goes: consumers end, and what waits in memory is dropped.
    pub(super) fn close(&self) {
        let mut backlog = self.lock();
        backlog.closed = true;
        backlog.waiting.clear();
        drop(backlog);
        self.arrived.notify_waiters();
    }

    fn push(&self, body: Blob) {
        let mut backlog = self.lock();
        backlog.newest += 1;
        let place = backlog.newest;
        backlog.append(place, body);
        drop(backlog);
        self.ring(1);
    }

    /// The store has taken a message. If it is the next one and there is room in the window, it need not be
    /// read back; otherwise it is read in its turn.
    fn confirm(&self, number: u64, body: Blob) {
        let mut backlog = self.lock();
        backlog.newest = backlog.newest.max(number);
        if number == backlog.loaded + 1 && backlog.waiting.len() < stored::PAGE {
            backlog.append(number, body);
        }
        drop(backlog);
        self.ring(1);
    }

    fn ring(&self, times: usize) {
        for _ in 0..times {
            self.arrived.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Backlog> {
        // Every section leaves the backlog whole at each step, so a panic elsewhere does not matter here.
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is kept in a queue. It is given back unless it is filled, also when a publish is given up.
pub(super) struct Room {
    queue: Option<Arc<Queue>>,
}

impl Room {
    /// The queue, unless it was filled already.
    pub(super) fn queue(&self) -> Option<&Queue> {
        self.queue.as_deref()
    }

    /// Whether the message must go to the store first.
    pub(super) fn is_durable(&self) -> bool {
        self.queue().is_some_and(Queue::is_durable)
    }

    /// Puts a message into a transient queue.
    pub(super) fn fill(mut self, body: Blob) {
        if let Some(queue) = self.queue.take() {
            queue.push(body);
        }
    }

    /// Tells a durable queue of a message that the store has.
    pub(super) fn fill_stored(mut self, number: u64, body: Blob) {
        if let Some(queue) = self.queue.take() {
            queue.confirm(number, body);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.free();
        }
    }
}

/// The right to read a queue's next messages from the store. One at a time; when it ends, also because its
/// consumer gave up waiting, somebody else is woken to go on.
pub(super) struct Load<'a> {
    queue: &'a Queue,
    store: &'a dyn Store,
    after: u64,
    upto: u64,
}

impl Load<'_> {
    /// Brings the next page into memory.
    pub(super) async fn run(self) -> Result<(), StoreError> {
        let page = stored::page(self.store, &self.queue.name, self.after).await?;
        let is_last = page.len() < stored::PAGE;
        let mut backlog = self.queue.lock();
        // Messages that were confirmed in their turn meanwhile are here already.
        let loaded = backlog.loaded;
        for Message { number, body } in page.into_iter().filter(|message| message.number > loaded) {
            backlog.append(number, body);
        }
        if is_last {
            // Nothing is left up to where the read began, whatever the numbers promised.
            backlog.loaded = backlog.loaded.max(self.upto);
            backlog.newest = backlog.newest.max(backlog.loaded);
        }
        Ok(())
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        let mut backlog = self.queue.lock();
        backlog.loading = false;
        let rings = backlog.waiting.len() + usize::from(backlog.is_behind());
        drop(backlog);
        self.queue.ring(rings);
    }
}
