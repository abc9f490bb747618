//! A store in a few lines, and the engine's part around a planner, for the tests of all parts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ids::{BatchId, JobId, LineId};
use crate::limits;
use crate::line::LineKey;
use crate::name::Name;
use crate::priority::Priority;
use crate::time::Time;

use super::chain::NONE;
use super::lines::Place;
use super::{KindRules, Planner, Target, Ticket, Want};

pub(super) fn name(text: impl AsRef<str>) -> Name {
    Name::new(text).unwrap()
}

/// A line of the kind `work`.
pub(super) fn line(owner: impl AsRef<str>) -> LineKey {
    LineKey {
        kind: name("work"),
        owner: name(owner),
        priority: Priority::default(),
        batch: None,
        limit_key: None,
    }
}

pub(super) fn in_batch(owner: &str, batch: u64) -> LineKey {
    LineKey { batch: Some(BatchId::from_u64(batch)), ..line(owner) }
}

pub(super) fn urgent(owner: &str, level: u8) -> LineKey {
    LineKey { priority: Priority::new(level).unwrap(), ..line(owner) }
}

pub(super) fn keyed(owner: &str, key: &str) -> LineKey {
    LineKey { limit_key: Some(name(key)), ..line(owner) }
}

pub(super) fn of_kind(kind: &str, owner: &str) -> LineKey {
    LineKey { kind: name(kind), ..line(owner) }
}

/// Jobs with their versions, and whether that was all.
pub(super) type Answer = (Vec<(JobId, u32)>, bool);

/// The kinds `work` (with the given rules) and `other`, both in the pool `main`.
pub(super) struct World {
    pub(super) planner: Planner,
    pub(super) now: Time,
    /// What the store would answer: ready jobs with their versions, by line.
    pub(super) ready: BTreeMap<LineId, BTreeMap<JobId, u32>>,
    pub(super) keys: BTreeMap<LineId, LineKey>,
    pub(super) out: BTreeMap<JobId, Ticket>,
    next: u64,
}

impl World {
    pub(super) fn new() -> Self {
        World::with(plain())
    }

    pub(super) fn with(rules: KindRules) -> Self {
        let mut planner = Planner::new();
        planner.set_kind(&name("work"), rules);
        planner.set_kind(&name("other"), plain());
        World {
            planner,
            now: Time::from_millis(1_000_000),
            ready: BTreeMap::new(),
            keys: BTreeMap::new(),
            out: BTreeMap::new(),
            next: 0,
        }
    }

    /// Jobs that the planner is told of, but has not read.
    pub(super) fn submit_unread(&mut self, key: &LineKey, count: usize) -> Vec<JobId> {
        let id = key.id();
        let jobs: Vec<JobId> = (0..count).map(|step| JobId::from_u64(self.next + 1 + step as u64)).collect();
        self.next += count as u64;
        self.ready.entry(id).or_default().extend(jobs.iter().map(|&job| (job, 1)));
        self.keys.insert(id, key.clone());
        self.planner.announce(id, key);
        jobs
    }

    pub(super) fn submit(&mut self, key: &LineKey, count: usize) -> Vec<JobId> {
        let jobs = self.submit_unread(key, count);
        self.feed();
        jobs
    }

    /// What the store answers to a want.
    pub(super) fn answer(&self, want: &Want) -> Answer {
        let ready = self.ready.get(&want.line).into_iter().flatten().map(|(&job, &version)| (job, version));
        let mut jobs: Vec<_> =
            ready.filter(|&(job, _)| Some(job) > want.after).take(want.limit + 1).collect();
        let exhausted = jobs.len() <= want.limit;
        jobs.truncate(want.limit);
        (jobs, exhausted)
    }

    /// Answers wants until there are none.
    pub(super) fn feed(&mut self) {
        for _ in 0..100_000 {
            let wants = self.planner.wants(256);
            if wants.is_empty() {
                return;
            }
            for want in wants {
                let (jobs, exhausted) = self.answer(&want);
                self.planner.filled(&want, &jobs, exhausted);
            }
        }
        panic!("the planner never stops reading");
    }

    /// Tickets, as many as asked for and possible; they stay out.
    pub(super) fn tickets(&mut self, most: usize) -> Vec<Ticket> {
        self.planner.set_free(&name("main"), most as u32);
        let tickets = self.planner.plan(self.now, most).tickets;
        for ticket in &tickets {
            let ready = self.ready.get(&ticket.line).and_then(|ready| ready.get(&ticket.job));
            assert_eq!(ready, Some(&ticket.version), "a ticket for a job that is not ready");
            assert!(self.out.insert(ticket.job, ticket.clone()).is_none(), "two tickets for {}", ticket.job);
        }
        tickets
    }

    /// The claim of a ticket commits.
    pub(super) fn start(&mut self, ticket: &Ticket) {
        self.ready.get_mut(&ticket.line).unwrap().remove(&ticket.job).unwrap();
        self.out.remove(&ticket.job);
        self.planner.started(ticket.job, ticket.version);
    }

    /// Everything that can start does so at once; the lines in order.
    pub(super) fn start_all(&mut self) -> Vec<LineId> {
        let tickets = self.tickets(1_000);
        tickets.iter().for_each(|ticket| self.start(ticket));
        self.feed();
        tickets.iter().map(|ticket| ticket.line).collect()
    }

    /// Starts as many as possible, with a reading after each step, and says whose they were.
    pub(super) fn serve(&mut self, most: usize) -> Vec<LineKey> {
        let mut served = Vec::new();
        while served.len() < most {
            let tickets = self.tickets(1);
            let [ticket] = tickets.as_slice() else { break };
            self.start(ticket);
            self.feed();
            served.push(self.keys[&ticket.line].clone());
        }
        served
    }

    /// The owners in the order in which they had their turns.
    pub(super) fn owners(&mut self, most: usize) -> Vec<String> {
        self.serve(most).iter().map(|key| key.owner.to_string()).collect()
    }

    pub(super) fn pause(&mut self, target: &Target, paused: bool) {
        self.planner.set_paused(target, paused);
        self.feed();
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    /// Owners with a ready job that has no ticket out.
    pub(super) fn waiting_owners(&self) -> BTreeSet<Name> {
        let waits = |(_, ready): &(&LineId, &BTreeMap<JobId, u32>)| {
            ready.keys().any(|job| !self.out.contains_key(job))
        };
        self.ready.iter().filter(waits).map(|(id, _)| self.keys[id].owner.clone()).collect()
    }
}

/// No caps, no rates, in the pool `main`.
pub(super) fn plain() -> KindRules {
    KindRules::new(name("main"))
}

impl Planner {
    /// Everything that must hold between two calls.
    pub(super) fn check(&self) {
        let mut held = 0;
        let mut reserved = 0;
        let mut outs = 0;
        for at in self.lines.indexes() {
            let line = &self.lines[at];
            held += line.window.len();
            reserved += line.reading.map_or(0, |reading| reading.reserved);
            outs += line.out as usize;
            assert!(line.window.iter().is_sorted_by(|a, b| a.job < b.job));
            assert!(line.place != Place::Ring || !line.window.is_empty());
            assert!(line.place == Place::Ring || line.let_out_of == NONE);
            assert!(line.place != Place::Idle || line.window.is_empty());
            assert!(!line.window.iter().any(|waiting| self.outs.get(waiting.job).is_some()));
        }
        assert_eq!((held, reserved, outs), (self.lines.held, self.lines.reserved, self.outs.len()));
        assert!(self.lines.len() <= limits::LINES_IN_MEMORY);
    }

    /// After a decision that left room: whoever has a job is held back.
    pub(super) fn check_nobody_could_start(&self) {
        for at in self.lines.indexes() {
            let line = &self.lines[at];
            let resting = matches!(line.place, Place::Resting(_));
            let closed = self.gates.closed(&line.passage, self.now).is_some();
            assert!(line.window.is_empty() || resting || closed, "{line:?}");
        }
    }
}
