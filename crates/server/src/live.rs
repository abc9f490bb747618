//! Live events: one reader of the store for all who watch. It runs while somebody watches, and hands each event to those
//! whom it concerns; whoever is slow is left out or let go, and never waited for.

pub(crate) mod feed;
pub(crate) mod reader;
pub(crate) mod render;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;
use tokio::sync::watch;
use turnwise::{BatchId, Cursor, Engine, Name};

use reader::Reader;
use render::Shown;

/// Who watches at most, in one process.
pub(crate) const READERS: usize = 20_000;
/// Owners whose turns are counted apart. The others are counted together.
const OWNERS: usize = 20;

/// Which events a reader wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) owner: Option<Name>,
    pub(crate) kind: Option<Name>,
    pub(crate) batch: Option<BatchId>,
}

impl Wanted {
    /// Whether everything is wanted.
    pub(crate) fn is_all(&self) -> bool {
        *self == Wanted::default()
    }

    pub(crate) fn wants(&self, event: &Shown) -> bool {
        self.owner.as_ref().is_none_or(|owner| event.owner.as_ref() == Some(owner))
            && self.kind.as_ref().is_none_or(|kind| event.kind.as_ref() == Some(kind))
            && self.batch.is_none_or(|batch| event.batch == Some(batch))
    }
}

/// Everybody who watches.
pub(crate) struct Live {
    engine: Engine,
    closing: watch::Receiver<bool>,
    readers: Mutex<Readers>,
    number: AtomicU64,
    /// Said once a second while somebody watches: totals, and turns by owner.
    pulse: watch::Sender<Arc<str>>,
    turns: Mutex<BTreeMap<Name, u64>>,
}

#[derive(Default)]
struct Readers {
    /// Those who follow one batch: an event goes straight to them.
    batches: HashMap<BatchId, Vec<Weak<Reader>>>,
    others: Vec<Weak<Reader>>,
    /// Up to where the feed has come, if it runs.
    position: Option<Cursor>,
}

impl Readers {
    /// Who still watches.
    fn count(&mut self) -> usize {
        let watches = |reader: &Weak<Reader>| reader.strong_count() > 0;
        self.others.retain(watches);
        self.batches.retain(|_, readers| {
            readers.retain(watches);
            !readers.is_empty()
        });
        self.others.len() + self.batches.values().map(Vec::len).sum::<usize>()
    }
}

impl Live {
    pub(crate) fn new(engine: Engine, closing: watch::Receiver<bool>) -> Self {
        Live {
            engine,
            closing,
            readers: Mutex::default(),
            number: AtomicU64::new(0),
            pulse: watch::channel(Arc::from("")).0,
            turns: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many watch.
    pub(crate) fn watching(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// Somebody begins to watch. Where the feed is: what comes after that is handed over. `None` if the feed must be begun.
    fn join(&self, reader: &Arc<Reader>) -> Option<Cursor> {
        let mut readers = self.lock();
        match reader.wanted.batch {
            Some(batch) => readers.batches.entry(batch).or_default().push(Arc::downgrade(reader)),
            None => readers.others.push(Arc::downgrade(reader)),
        }
        readers.position
    }

    /// Totals once a second, for those who watch everything.
    pub(crate) fn pulses(&self, wanted: &Wanted) -> Option<watch::Receiver<Arc<str>>> {
        wanted.is_all().then(|| self.pulse.subscribe())
    }

    /// Hands events to those whom they concern.
    fn hand_out(&self, events: &[Arc<Shown>], position: Cursor) {
        let mut readers = self.lock();
        for event in events {
            let followers = event.batch.and_then(|batch| readers.batches.get(&batch));
            for reader in followers.into_iter().flatten().filter_map(Weak::upgrade) {
                reader.offer(event);
            }
        }
        for reader in readers.others.iter().filter_map(Weak::upgrade) {
            events.iter().for_each(|event| reader.offer(event));
        }
        readers.position = Some(position);
    }

    /// Counts the turns that owners took.
    fn count_turns<'a>(&self, owners: impl Iterator<Item = &'a Name>) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        for owner in owners {
            match turns.get_mut(owner) {
                Some(count) => *count += 1,
                None => {
                    let known = turns.len() < OWNERS;
                    let name = if known {
                        owner.clone()
                    } else {
                        Name::new("…others").expect("a fixed name is valid")
                    };
                    *turns.entry(name).or_default() += 1;
                }
            }
        }
    }

    fn turns(&self) -> BTreeMap<Name, u64> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
