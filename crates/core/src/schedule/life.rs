//! The planner's whole life at random: every job has its turn once, whatever happens on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use crate::ids::{BatchId, JobId, LineId};
use crate::line::LineKey;
use crate::rate::Rate;

use super::model::{Answer, World, in_batch, keyed, line, name, of_kind, plain, urgent};
use super::{KindRules, Target, Ticket, Want};

/// What becomes of a ticket.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Claimed,
    /// It is still out: a later claim finds the job gone.
    JobCancelled,
    Returned,
    Blocked,
    Lost,
}

/// One event in a life of the planner; numbers pick among what there is.
#[derive(Clone, Debug)]
enum Event {
    Submit { line: usize, count: usize },
    Plan(usize),
    Ticket(usize, Fate),
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
    let fate = prop_oneof![
        12 => Just(Fate::Claimed),
        2 => Just(Fate::JobCancelled),
        3 => Just(Fate::Returned),
        2 => Just(Fate::Blocked),
        2 => Just(Fate::Lost),
    ];
    prop_oneof![
        6 => (pick.clone(), 1_usize..30).prop_map(|(line, count)| Event::Submit { line, count }),
        8 => (1_usize..20).prop_map(Event::Plan),
        20 => (pick.clone(), fate).prop_map(|(at, fate)| Event::Ticket(at, fate)),
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

fn targets() -> [Target; 3] {
    [Target::Owner(name("a")), Target::Batch(BatchId::from_u64(1)), Target::Kind(name("other"))]
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
    answers: Vec<(Want, Answer)>,
    running: Vec<(JobId, LineId, u32)>,
    cancelled: BTreeSet<JobId>,
    submitted: BTreeSet<JobId>,
    started: BTreeMap<(JobId, u32), u32>,
}

impl Life {
    fn new() -> Self {
        let rules =
            KindRules { cap: Some(12), key_cap: Some(3), key_rate: Some(Rate::per_second(20)), ..plain() };
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
        let tickets = self.world.planner.plan(self.world.now, most).tickets;
        if tickets.len() < most {
            self.world.planner.check_nobody_could_start();
        }
        for ticket in tickets {
            self.world.out.insert(ticket.job, ticket);
        }
    }

    fn apply(&mut self, event: &Event) {
        let all = lines();
        match *event {
            Event::Submit { line, count } => {
                let jobs = self.world.submit_unread(&all[line % all.len()], count);
                self.submitted.extend(jobs);
            }
            Event::Plan(most) => self.plan(most),
            Event::Retry { line } => self.end(line, true),
            Event::Ended(at) => self.end(at, false),
            Event::Announce(at) => {
                let key = &all[at % all.len()];
                self.world.planner.announce(key.id(), key);
            }
            Event::Pause(at, paused) => self.world.planner.set_paused(&targets()[at % 3], paused),
            Event::Ask => {
                for want in self.world.planner.wants(4) {
                    let answer = self.world.answer(&want);
                    self.answers.push((want, answer));
                }
            }
            Event::Answer => {
                if let Some((want, (jobs, exhausted))) = self.answers.pop() {
                    self.world.planner.filled(&want, &jobs, exhausted);
                }
            }
            Event::ReadFails => {
                if let Some((want, _)) = self.answers.pop() {
                    self.world.planner.unanswered(&want);
                }
            }
            Event::Pass(millis) => {
                self.world.pass(millis);
                self.expire();
            }
            Event::NewLeader => self.new_leader(),
            Event::Ticket(at, fate) => {
                if let Some(ticket) = self.ticket(at) {
                    self.meet(&ticket, fate);
                }
            }
        }
    }

    fn meet(&mut self, ticket: &Ticket, fate: Fate) {
        let World { planner, ready, out, now, .. } = &mut self.world;
        match fate {
            Fate::Claimed => self.claim(ticket),
            Fate::JobCancelled => {
                ready.get_mut(&ticket.line).unwrap().remove(&ticket.job);
                self.cancelled.insert(ticket.job);
            }
            Fate::Returned => {
                out.remove(&ticket.job);
                planner.returned(ticket.job, ticket.version);
            }
            Fate::Blocked => {
                out.remove(&ticket.job);
                planner.blocked(ticket.job, ticket.version, *now + Duration::from_millis(700));
            }
            Fate::Lost => drop(out.remove(&ticket.job)),
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
        while let Some((want, (jobs, exhausted))) = self.answers.pop() {
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
            let planner = &self.world.planner;
            let idle = planner.windows() == 0 && planner.outstanding() == 0;
            if idle && self.world.ready.values().all(BTreeMap::is_empty) {
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
            life.apply(&event);
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
