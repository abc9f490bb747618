//! A store in a few lines, and the engine's part around a planner, for the tests of all parts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ids::{BatchId, JobId, LineId};
use crate::line::LineKey;
use crate::name::Name;
use crate::priority::Priority;
use crate::time::Time;

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
    pub(super) fn answer(&self, want: &Want) -> (Vec<(JobId, u32)>, bool) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One event in a life of the planner; numbers pick among what there is.
    #[derive(Clone, Debug)]
    enum Event {
        Submit { line: usize, count: usize },
        Plan(usize),
        Start(usize),
        Gone(usize),
        Cancel(usize),
        Returned(usize),
        Blocked(usize),
        LoseTicket(usize),
        Retry { line: usize },
        Ended(usize),
        Announce(usize),
        Pause(usize, bool),
        Ask,
        Answer,
        ReadFails,
        Pass(u64),
        NewLeader,
    }

    fn events() -> impl Strategy<Value = Event> {
        let pick = 0_usize..100;
        prop_oneof![
            6 => (pick.clone(), 1_usize..30).prop_map(|(line, count)| Event::Submit { line, count }),
            8 => (1_usize..20).prop_map(Event::Plan),
            12 => pick.clone().prop_map(Event::Start),
            1 => pick.clone().prop_map(Event::Gone),
            1 => pick.clone().prop_map(Event::Cancel),
            3 => pick.clone().prop_map(Event::Returned),
            2 => pick.clone().prop_map(Event::Blocked),
            2 => pick.clone().prop_map(Event::LoseTicket),
            2 => pick.clone().prop_map(|line| Event::Retry { line }),
            6 => pick.clone().prop_map(Event::Ended),
            2 => pick.clone().prop_map(Event::Announce),
            2 => (pick, any::<bool>()).prop_map(|(at, paused)| Event::Pause(at, paused)),
            6 => Just(Event::Ask),
            8 => Just(Event::Answer),
            1 => Just(Event::ReadFails),
            3 => (1_u64..3_000).prop_map(Event::Pass),
            1 => Just(Event::NewLeader),
        ]
    }

    fn lines() -> Vec<LineKey> {
        let mut lines = vec![of_kind("other", "a"), of_kind("other", "c")];
        for owner in ["a", "b", "c"] {
            lines.extend([
                line(owner),
                in_batch(owner, 1),
                urgent(owner, 9),
                keyed(owner, "x"),
                keyed(owner, "y"),
            ]);
        }
        lines
    }

    /// A world in which answers, notices and tickets take their time.
    struct Life {
        world: World,
        /// Asked and read, not yet told: the answer may be old by the time it comes.
        answers: Vec<(Want, Vec<(JobId, u32)>, bool)>,
        running: Vec<(JobId, LineId, u32)>,
        cancelled: BTreeSet<JobId>,
        submitted: BTreeSet<JobId>,
        started: BTreeMap<(JobId, u32), u32>,
    }

    impl Life {
        fn new() -> Self {
            let rules = KindRules { cap: Some(12), key_cap: Some(3), ..plain() };
            let mut world = World::with(rules);
            world.planner.set_weight(&name("c"), 3);
            Life {
                world,
                answers: Vec::new(),
                running: Vec::new(),
                cancelled: BTreeSet::new(),
                submitted: BTreeSet::new(),
                started: BTreeMap::new(),
            }
        }

        fn ticket(&self, at: usize) -> Option<Ticket> {
            let out = &self.world.out;
            (!out.is_empty()).then(|| out.values().nth(at % out.len()).unwrap().clone())
        }

        /// A claim: the store starts the job if it is ready in this version, and refuses otherwise.
        fn claim(&mut self, ticket: &Ticket) {
            self.world.out.remove(&ticket.job);
            let ready = self.world.ready.get_mut(&ticket.line).unwrap();
            if ready.get(&ticket.job) == Some(&ticket.version) {
                ready.remove(&ticket.job);
                self.world.planner.started(ticket.job, ticket.version);
                self.running.push((ticket.job, ticket.line, ticket.version));
                *self.started.entry((ticket.job, ticket.version)).or_default() += 1;
            } else {
                self.world.planner.gone(ticket.job, ticket.version);
            }
        }

        /// A running job ends and, as a retry, is ready again with a newer version.
        fn end(&mut self, at: usize, retry: bool) {
            if self.running.is_empty() {
                return;
            }
            let (job, line, version) = self.running.remove(at % self.running.len());
            self.world.planner.ended(line);
            if retry {
                self.world.ready.get_mut(&line).unwrap().insert(job, version + 2);
                let key = self.world.keys[&line].clone();
                self.world.planner.announce(line, &key);
            }
        }

        /// The engine knows which tickets were given up.
        fn expire(&mut self) {
            let before = self.world.planner.outstanding();
            let expired = self.world.planner.expire(self.world.now);
            assert_eq!(before - expired, self.world.planner.outstanding());
            let Life { world, .. } = self;
            world.out.retain(|&job, ticket| {
                world.planner.outs.get(job).is_some_and(|out| out.version == ticket.version)
            });
        }

        fn plan(&mut self, most: usize) {
            self.world.planner.set_free(&name("main"), most as u32);
            for ticket in self.world.planner.plan(self.world.now, most).tickets {
                self.world.out.insert(ticket.job, ticket);
            }
        }

        fn apply(&mut self, event: Event) {
            let all = lines();
            match event {
                Event::Submit { line, count } => {
                    let jobs = self.world.submit_unread(&all[line % all.len()], count);
                    self.submitted.extend(jobs);
                }
                Event::Plan(most) => self.plan(most),
                Event::Start(at) => {
                    if let Some(ticket) = self.ticket(at) {
                        self.claim(&ticket);
                    }
                }
                Event::Gone(at) | Event::Cancel(at) => {
                    if let Some(ticket) = self.ticket(at) {
                        self.world.ready.get_mut(&ticket.line).unwrap().remove(&ticket.job);
                        self.cancelled.insert(ticket.job);
                        if matches!(event, Event::Gone(_)) {
                            self.claim(&ticket);
                        }
                    }
                }
                Event::Returned(at) => {
                    if let Some(ticket) = self.ticket(at) {
                        self.world.out.remove(&ticket.job);
                        self.world.planner.returned(ticket.job, ticket.version);
                    }
                }
                Event::Blocked(at) => {
                    if let Some(ticket) = self.ticket(at) {
                        self.world.out.remove(&ticket.job);
                        let until = self.world.now + Duration::from_millis(700);
                        self.world.planner.blocked(ticket.job, ticket.version, until);
                    }
                }
                Event::LoseTicket(at) => {
                    if let Some(ticket) = self.ticket(at) {
                        self.world.out.remove(&ticket.job);
                    }
                }
                Event::Retry { line } => self.end(line, true),
                Event::Ended(at) => self.end(at, false),
                Event::Announce(at) => {
                    let key = &all[at % all.len()];
                    self.world.planner.announce(key.id(), key);
                }
                Event::Pause(at, paused) => {
                    let targets = [
                        Target::Owner(name("a")),
                        Target::Batch(BatchId::from_u64(1)),
                        Target::Kind(name("other")),
                    ];
                    self.world.planner.set_paused(&targets[at % 3], paused);
                }
                Event::Ask => {
                    for want in self.world.planner.wants(4) {
                        let (jobs, exhausted) = self.world.answer(&want);
                        self.answers.push((want, jobs, exhausted));
                    }
                }
                Event::Answer => {
                    if let Some((want, jobs, exhausted)) = self.answers.pop() {
                        self.world.planner.filled(&want, &jobs, exhausted);
                    }
                }
                Event::ReadFails => {
                    if let Some((want, ..)) = self.answers.pop() {
                        self.world.planner.unanswered(&want);
                    }
                }
                Event::Pass(millis) => {
                    self.world.pass(millis);
                    self.expire();
                }
                Event::NewLeader => self.new_leader(),
            }
        }

        /// Tickets of the old leader are still about; the store knows the lines and what runs.
        fn new_leader(&mut self) {
            self.world.planner.forget_all();
            assert_eq!((self.world.planner.windows(), self.world.planner.outstanding()), (0, 0));
            self.world.out.clear();
            for (&id, key) in &self.world.keys {
                self.world.planner.announce(id, key);
            }
            self.tell_running();
        }

        fn tell_running(&mut self) {
            let work = name("work");
            let of = |key: Option<&str>| {
                let counts =
                    |line: &LineKey| line.kind == work && (key.is_none() || line.limit_key.as_deref() == key);
                self.running.iter().filter(|(_, line, _)| counts(&self.world.keys[line])).count() as u32
            };
            let (kind, x, y) = (of(None), of(Some("x")), of(Some("y")));
            self.world.planner.set_running(&work, None, kind);
            self.world.planner.set_running(&work, Some(&name("x")), x);
            self.world.planner.set_running(&work, Some(&name("y")), y);
        }

        /// Everything is resumed and every notice arrives: all that is ready must come to an end.
        fn finish(&mut self) {
            for target in
                [Target::Owner(name("a")), Target::Batch(BatchId::from_u64(1)), Target::Kind(name("other"))]
            {
                self.world.planner.set_paused(&target, false);
            }
            while let Some((want, jobs, exhausted)) = self.answers.pop() {
                self.world.planner.filled(&want, &jobs, exhausted);
            }
            for _ in 0..10_000 {
                self.world.feed();
                self.plan(50);
                while let Some(ticket) = self.ticket(0) {
                    self.claim(&ticket);
                }
                (0..self.running.len()).for_each(|_| self.end(0, false));
                self.tell_running();
                self.world.pass(1_000);
                self.expire();
                if self.world.ready.values().all(BTreeMap::is_empty) {
                    return;
                }
            }
            panic!("work was left behind: {:?}", self.world.ready);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Whatever happens to tickets, answers and notices: every job is started once for each version in
        /// which it was ready, nothing is lost, and the books are even in the end.
        #[test]
        fn every_job_has_its_turn_once(events in prop::collection::vec(events(), 1..400)) {
            let mut life = Life::new();
            for event in events {
                life.apply(event);
                life.world.planner.check();
            }
            life.finish();
            life.world.feed();
            life.world.planner.check();
            prop_assert!(life.started.values().all(|&times| times == 1));
            let started: BTreeSet<JobId> = life.started.keys().map(|&(job, _)| job).collect();
            prop_assert!(life.submitted.iter().all(|job| started.contains(job) || life.cancelled.contains(job)));
            prop_assert_eq!((life.world.planner.windows(), life.world.planner.outstanding()), (0, 0));
            prop_assert_eq!(life.world.planner.outstanding_in(&name("main")), 0);
        }
    }
}
