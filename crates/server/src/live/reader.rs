//! One who watches: a bounded queue, and what happens when it is full.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use turnwise::Cursor;

use super::Wanted;
use super::render::Shown;

/// Events that one reader is sent each second. What is left out is said, with the cursors to fetch it by.
pub(crate) const EVENTS_PER_SECOND: u32 = 200;
/// Events that wait for a reader.
const QUEUE: usize = 1_000;
/// A reader whose queue has been full for so long is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is to be sent next.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// An event.
    Event(Arc<Shown>),
    /// Events were left out.
    Thinned {
        /// The last cursor before them.
        from: Cursor,
        /// The last of them.
        to: Cursor,
        count: u64,
    },
}

/// One who watches.
pub(crate) struct Reader {
    pub(crate) wanted: Wanted,
    state: Mutex<State>,
    pub(crate) told: Notify,
}

struct State {
    queue: Vec<Item>,
    /// The cursor of the last event that was offered.
    last: Cursor,
    /// When this second began, and how many events it has had.
    second: (Instant, u32),
    full_since: Option<Instant>,
    dropped: bool,
}

impl Reader {
    pub(crate) fn new(wanted: Wanted) -> Arc<Self> {
        let state = State {
            queue: Vec::new(),
            last: Cursor::START,
            second: (Instant::now(), 0),
            full_since: None,
            dropped: false,
        };
        Arc::new(Reader { wanted, state: Mutex::new(state), told: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened. It never waits.
    pub(crate) fn offer(&self, event: &Arc<Shown>) {
        if self.wanted.wants(event) {
            self.lock().offer(event, Instant::now());
            self.told.notify_one();
        }
    }

    /// What has come, and whether the reader was let go.
    pub(crate) fn take(&self) -> (Vec<Item>, bool) {
        let mut state = self.lock();
        state.full_since = None;
        (std::mem::take(&mut state.queue), state.dropped)
    }
}

impl State {
    fn offer(&mut self, event: &Arc<Shown>, now: Instant) {
        let before = std::mem::replace(&mut self.last, event.cursor);
        if self.dropped {
            return;
        }
        if now.duration_since(self.second.0) >= Duration::from_secs(1) {
            self.second = (now, 0);
        }
        let full = self.queue.len() >= QUEUE;
        if full {
            let since = *self.full_since.get_or_insert(now);
            if now.duration_since(since) >= PATIENCE {
                self.dropped = true;
                self.queue.clear();
                return;
            }
        }
        if full || self.second.1 >= EVENTS_PER_SECOND {
            match self.queue.last_mut() {
                Some(Item::Thinned { to, count, .. }) => (*to, *count) = (event.cursor, *count + 1),
                _ => self.queue.push(Item::Thinned { from: before, to: event.cursor, count: 1 }),
            }
            return;
        }
        self.second.1 += 1;
        self.queue.push(Item::Event(event.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> Arc<Shown> {
        Arc::new(Shown {
            cursor: Cursor::from_u64(number),
            batch: None,
            owner: None,
            kind: None,
            text: String::new(),
        })
    }

    #[test]
    fn too_much_is_left_out_and_said() {
        let reader = Reader::new(Wanted::default());
        let now = Instant::now();
        let most = u64::from(EVENTS_PER_SECOND);
        (1..=most + 50).for_each(|number| reader.lock().offer(&event(number), now));
        let (items, dropped) = reader.take();
        assert_eq!((items.len() as u64, dropped), (most + 1, false));
        let Some(Item::Thinned { from, to, count }) = items.last() else { panic!("{items:?}") };
        assert_eq!((from.as_u64(), to.as_u64(), *count), (most, most + 50, 50));
        reader.lock().offer(&event(most + 51), now + Duration::from_secs(1));
        assert!(matches!(&reader.take().0[..], [Item::Event(_)]), "a new second has room again");
    }

    #[test]
    fn who_never_reads_is_let_go_and_costs_no_memory() {
        let reader = Reader::new(Wanted::default());
        let began = Instant::now();
        let mut now = began;
        for number in 1..20_000 {
            now = began + Duration::from_millis(number * 5);
            reader.lock().offer(&event(number), now);
            assert!(reader.lock().queue.len() <= QUEUE + 1);
        }
        let (items, dropped) = reader.take();
        assert!(items.is_empty() && dropped, "{now:?}");
    }
}
