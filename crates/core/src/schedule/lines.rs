//! The lines in memory, and the window of jobs that is known of each.
//!
//! A window holds ready jobs in submit order, as they were read from the store: everything up to the cursor
//! was known at the last reading. What is beyond it, and what has become ready before it, is read when the
//! window has run low (see [`super::reads`]).

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

use crate::ids::{JobId, LineId};
use crate::limits;
use crate::time::Time;

use super::chain::{Chain, Chains};
use super::gates::Passage;
use super::intern::Slab;

/// Jobs that the first reading of a line asks for.
pub(super) const FIRST_READ: usize = 64;
/// A line without work keeps a window buffer of at most this many jobs.
const SMALL_BUFFER: usize = 16;

/// Where a line is. Only a line in the ring has to have a job in its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing known to start.
    Idle,
    /// Waiting for its turn.
    Ring,
    /// In the crowd behind this gate of its passage.
    Behind(usize),
    /// The store refused a claim: not before this time.
    Resting(Time),
}

/// Whether jobs before the cursor may have become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    No,
    /// Look when the window has run low.
    Later,
    /// Look at once: a ticket was lost.
    Now,
}

/// Which list of lines to read a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    None,
    Empty,
    Low,
}

/// A reading that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) number: u64,
    pub(super) from_start: bool,
    pub(super) reserved: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) job: JobId,
    pub(super) version: u32,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: LineId,
    pub(super) kind: u32,
    pub(super) owner: u32,
    pub(super) batch: u32,
    pub(super) key: u32,
    pub(super) level: u8,
    pub(super) passage: Passage,
    /// Its owner's part of the crowd behind each gate, once it was there.
    pub(super) clusters: Passage,
    /// The gate that let it out, while it waits in the ring for the turn that it was let out for.
    pub(super) let_out_of: u32,
    /// Whether it had a turn since it was last in a crowd.
    pub(super) had_turn: bool,
    pub(super) group: u32,
    pub(super) place: Place,
    pub(super) window: VecDeque<Waiting>,
    pub(super) cursor: Option<JobId>,
    /// The store may have more after the cursor.
    pub(super) more: bool,
    pub(super) changed: Changed,
    pub(super) reading: Option<Reading>,
    /// Jobs that were started or gone while a reading was under way: its answer may not know it yet.
    pub(super) late: Vec<Waiting>,
    /// How many jobs its window may hold, if the share allows it.
    pub(super) allowance: usize,
    pub(super) out: u32,
    /// Something was started since it came into memory.
    pub(super) served: bool,
    pub(super) queue: Queue,
    pub(super) dry: bool,
}

impl Line {
    /// Whether it should be read, and how urgently. A line that is held back needs no more than it has.
    fn queue_for(&self, share: usize) -> Queue {
        let held_back = !matches!(self.place, Place::Idle | Place::Ring);
        if held_back || self.reading.is_some() || !(self.more || self.changed > Changed::No) {
            Queue::None
        } else if self.window.is_empty() {
            Queue::Empty
        } else if self.window.len() * 4 < self.allowance.min(share) || self.changed == Changed::Now {
            Queue::Low
        } else {
            Queue::None
        }
    }

    fn is_dry(&self) -> bool {
        self.window.is_empty()
            && self.out == 0
            && !self.more
            && self.changed == Changed::No
            && self.reading.is_none()
    }
}

/// All lines in memory.
#[derive(Debug, Default)]
pub(super) struct Lines {
    slab: Slab<Line>,
    by_id: BTreeMap<LineId, u32>,
    /// Jobs in all windows, and jobs that were asked for.
    pub(super) held: usize,
    pub(super) reserved: usize,
    empty: Chain,
    low: Chain,
    queue_links: Chains,
    /// Every line is in one of these two, in the order in which they may have to leave memory.
    dry: Chain,
    busy: Chain,
    stay_links: Chains,
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn find(&self, id: LineId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = u32> + use<> {
        self.slab.indexes()
    }

    pub(super) fn insert(&mut self, line: Line) -> u32 {
        let id = line.id;
        let at = self.slab.insert(line);
        self.by_id.insert(id, at);
        self.stay_links.push_back(&mut self.busy, at);
        at
    }

    /// The line must have left its ring, crowd or timer, and have no ticket out.
    pub(super) fn remove(&mut self, at: u32) -> Option<Line> {
        self.set_queue(at, Queue::None);
        let line = self.slab.remove(at)?;
        self.by_id.remove(&line.id);
        self.stay_links.remove(if line.dry { &mut self.dry } else { &mut self.busy }, at);
        self.held -= line.window.len();
        Some(line)
    }

    /// What every line with work may hold: powers of two, so that it seldom changes.
    pub(super) fn share(&self) -> usize {
        let each = limits::WINDOW_TOTAL / self.busy.len().max(1);
        (1 << each.max(1).ilog2()).min(limits::WINDOW_PER_LINE)
    }

    /// Puts a line into the lists where it belongs now.
    pub(super) fn appraise(&mut self, at: u32) {
        let queue = self.slab[at].queue_for(self.share());
        self.set_queue(at, queue);
        let line = &mut self.slab[at];
        let dry = line.is_dry();
        if dry == line.dry {
            return;
        }
        line.dry = dry;
        let (from, to) = if dry { (&mut self.busy, &mut self.dry) } else { (&mut self.dry, &mut self.busy) };
        self.stay_links.remove(from, at);
        self.stay_links.push_back(to, at);
        if dry {
            line.allowance = FIRST_READ;
            line.window.shrink_to(SMALL_BUFFER);
        }
    }

    fn set_queue(&mut self, at: u32, queue: Queue) {
        let before = std::mem::replace(&mut self.slab[at].queue, queue);
        if before == queue {
            return;
        }
        match before {
            Queue::Empty => self.queue_links.remove(&mut self.empty, at),
            Queue::Low => self.queue_links.remove(&mut self.low, at),
            Queue::None => {}
        }
        match queue {
            Queue::Empty => self.queue_links.push_back(&mut self.empty, at),
            Queue::Low => self.queue_links.push_back(&mut self.low, at),
            Queue::None => {}
        }
    }

    /// The line that has waited longest to be read; those that know nothing first.
    pub(super) fn first_to_read(&self) -> Option<u32> {
        self.empty.first().or(self.low.first())
    }

    /// The first candidate to leave memory; it becomes the last.
    pub(super) fn next_to_leave(&mut self) -> Option<u32> {
        let chain = if self.dry.is_empty() { &mut self.busy } else { &mut self.dry };
        let first = chain.first()?;
        self.stay_links.rotate(chain);
        Some(first)
    }

    pub(super) fn pop(&mut self, at: u32) -> Option<Waiting> {
        let waiting = self.slab[at].window.pop_front()?;
        self.held -= 1;
        Some(waiting)
    }

    /// Back into the window, in submit order.
    pub(super) fn put_back(&mut self, at: u32, waiting: Waiting) {
        let window = &mut self.slab[at].window;
        let place = window.partition_point(|other| other.job < waiting.job);
        window.insert(place, waiting);
        self.held += 1;
    }

    /// Cuts every window down to the share; what is cut off will be read again. A line that is being read
    /// keeps its cursor, and has little anyway.
    pub(super) fn trim(&mut self) {
        let share = self.share();
        for at in self.slab.indexes() {
            let line = &mut self.slab[at];
            if line.window.len() > share && line.reading.is_none() {
                self.held -= line.window.len() - share;
                line.window.truncate(share);
                line.cursor = line.window.back().map(|last| last.job).min(line.cursor);
                line.more = true;
            }
        }
    }
}

impl Index<u32> for Lines {
    type Output = Line;

    fn index(&self, at: u32) -> &Line {
        &self.slab[at]
    }
}

impl IndexMut<u32> for Lines {
    fn index_mut(&mut self, at: u32) -> &mut Line {
        &mut self.slab[at]
    }
}
