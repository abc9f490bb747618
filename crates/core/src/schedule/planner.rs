//! The planner: which jobs start next.

use std::collections::VecDeque;

use crate::ids::{JobId, LineId};
use crate::name::Name;
use crate::time::Time;

use super::chain::NONE;
use super::crowd::{Coming, Spot};
use super::fair::{Rings, Why};
use super::gates::{AT_ONCE, Closed, Gates, KEY, KIND, Sleeper};
use super::lines::{Lines, Place};
use super::outs::{Out, Outs};
use super::rules::Names;

/// Most tickets that a decision makes room for before it knows that they are needed.
const USUAL_TICKETS: usize = 1_024;

/// A hint that a job may be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The job.
    pub job: JobId,
    /// The version that was ready; a job that has changed since refuses the claim.
    pub version: u32,
    /// The job's kind.
    pub kind: Name,
    /// The job's line.
    pub line: LineId,
}

/// What to do now, and when to ask again if nothing happens before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The tickets to hand out, in this order.
    pub tickets: Vec<Ticket>,
    /// The earliest time at which waiting alone makes a difference: a bucket refills, a line has rested, a
    /// ticket is too old.
    pub wake_at: Option<Time>,
}

/// Knows a little ahead of every line, and decides whose turn it is.
///
/// It is a hint-maker: the store has the last word in every claim, so whatever the planner has wrong costs
/// time, never correctness.
#[derive(Debug)]
pub struct Planner {
    pub(super) lines: Lines,
    pub(super) rings: Rings,
    pub(super) gates: Gates,
    pub(super) outs: Outs,
    pub(super) names: Names,
    /// Limit keys that no line uses and whose bucket is not full again.
    pub(super) cooling: VecDeque<u32>,
    /// The time of the last decision.
    pub(super) now: Time,
    /// Wants made so far.
    pub(super) wants: u64,
    /// A line with work was put out of memory.
    pub(super) forgot: bool,
    /// Lines that just left a crowd; kept to save an allocation.
    woken: Vec<u32>,
}

impl Default for Planner {
    fn default() -> Self {
        Planner::new()
    }
}

impl Planner {
    /// A planner that knows nothing yet.
    pub fn new() -> Self {
        Planner {
            lines: Lines::default(),
            rings: Rings::new(),
            gates: Gates::default(),
            outs: Outs::default(),
            names: Names::default(),
            cooling: VecDeque::new(),
            now: Time::ZERO,
            wants: 0,
            forgot: false,
            woken: Vec::new(),
        }
    }

    /// At most so many tickets, as far as the pools have room. Many small decisions give the same order as
    /// one large one.
    pub fn plan(&mut self, now: Time, most: usize) -> Decision {
        self.now = now;
        self.cool();
        while let Some(sleeper) = self.gates.due(now) {
            match sleeper {
                Sleeper::Gate(gate) => self.reopen(gate),
                Sleeper::Line(line) => self.wake(line),
            }
        }
        let mut tickets = Vec::with_capacity(most.min(self.rings.free()).min(USUAL_TICKETS));
        while tickets.len() < most
            && let Some(ticket) = self.next_ticket()
        {
            tickets.push(ticket);
        }
        let wake_at = self.gates.next_time().into_iter().chain(self.outs.next_time()).min();
        Decision { tickets, wake_at }
    }

    /// Tickets that are out.
    pub fn outstanding(&self) -> usize {
        self.outs.len()
    }

    /// Tickets that are out in one pool.
    pub fn outstanding_in(&self, pool: &Name) -> usize {
        self.rings.find_pool(pool).map_or(0, |pool| self.rings.pool(pool).out as usize)
    }

    /// Jobs known ahead, in all lines together.
    pub fn windows(&self) -> usize {
        self.lines.held
    }

    fn next_ticket(&mut self) -> Option<Ticket> {
        loop {
            for _ in 0..self.rings.pools() {
                let pool = self.rings.next_pool();
                while self.rings.pool(pool).free > 0
                    && let Some(line) = self.pick(pool)
                {
                    if let Some(ticket) = self.take(line, pool) {
                        self.let_out(1);
                        return Some(ticket);
                    }
                }
            }
            if !self.let_out(AT_ONCE) {
                return None;
            }
        }
    }

    /// The line whose turn it is. Lines that turn out to be held back leave the ring on the way.
    fn pick(&mut self, pool: u32) -> Option<u32> {
        while let Some(at) = self.rings.candidate(pool) {
            match self.gates.closed(&self.lines[at].passage, self.now) {
                None => return Some(at),
                Some((which, why)) => self.park(at, which, why),
            }
        }
        None
    }

    /// The first job of a line becomes a ticket. If one for it is out already (it may have come from another
    /// line), the older version gives way, and nothing is decided yet.
    fn take(&mut self, at: u32, pool: u32) -> Option<Ticket> {
        let waiting = self.lines.pop(at)?;
        if let Some(version) = self.outs.get(waiting.job).map(|out| out.version) {
            if version < waiting.version {
                self.lines.put_back(at, waiting);
                self.void(waiting.job, version);
            }
            self.settle_place(at);
            return None;
        }
        let line = &mut self.lines[at];
        line.out += 1;
        line.served = true;
        line.had_turn = true;
        self.gates.pass(&line.passage, self.now);
        self.rings.served(line.group);
        let counts = self.rings.pool_mut(pool);
        counts.out += 1;
        counts.served_at = self.now;
        self.outs.insert(Out { job: waiting.job, version: waiting.version, line: at, pool, at: self.now });
        let ticket = Ticket {
            job: waiting.job,
            version: waiting.version,
            kind: self.names.kinds.key(line.kind).clone(),
            line: line.id,
        };
        self.had_its_chance(at);
        self.let_out_same(at);
        self.settle_place(at);
        Some(ticket)
    }

    /// A line joins the crowd behind one of its gates.
    pub(super) fn park(&mut self, at: u32, which: usize, why: Closed) {
        let let_out_of = self.lines[at].let_out_of;
        self.displace(at);
        let line = &mut self.lines[at];
        let gate = line.passage[which];
        if line.clusters[which] == NONE {
            line.clusters[which] = self.gates.crowds.cluster(gate, line.owner);
        }
        let spot = Spot { cluster: line.clusters[which], level: line.level };
        let had_turn = std::mem::take(&mut line.had_turn);
        let coming = match let_out_of == gate {
            true => Coming::NoTurn,
            false if had_turn => Coming::HadTurn,
            false => Coming::New,
        };
        self.gates.park(at, gate, spot, coming, why);
        line.place = Place::Behind(which);
        self.lines.appraise(at);
    }

    /// A line rests until a time, or until the later one that it was told before.
    pub(super) fn rest(&mut self, at: u32, until: Time) {
        let until = match self.lines[at].place {
            Place::Resting(before) => before.max(until),
            _ => until,
        };
        self.displace(at);
        self.lines[at].place = Place::Resting(until);
        self.gates.rest(at, until);
        self.lines.appraise(at);
    }

    /// Takes a line out of wherever it is.
    pub(super) fn displace(&mut self, at: u32) {
        let line = &mut self.lines[at];
        match std::mem::replace(&mut line.place, Place::Idle) {
            Place::Idle => {}
            Place::Ring => {
                self.rings.leave(line.group, at, Why::HeldBack);
                self.had_its_chance(at);
            }
            Place::Behind(which) => {
                let spot = Spot { cluster: line.clusters[which], level: line.level };
                self.gates.unpark(at, line.passage[which], spot);
            }
            Place::Resting(until) => self.gates.unrest(at, until),
        }
    }

    /// A line that has left its crowd or has rested looks for its place again.
    fn wake(&mut self, at: u32) {
        let line = &mut self.lines[at];
        if let Place::Behind(which) = line.place {
            line.let_out_of = line.passage[which];
        }
        line.place = Place::Idle;
        self.settle_place(at);
        if self.lines[at].place == Place::Idle {
            self.had_its_chance(at);
        }
    }

    /// A line that a gate let out has had its turn, or cannot have it.
    pub(super) fn had_its_chance(&mut self, at: u32) {
        let gate = std::mem::replace(&mut self.lines[at].let_out_of, NONE);
        if gate != NONE {
            self.gates.came_back(gate);
        }
    }

    fn wake_all(&mut self, mut woken: Vec<u32>) {
        woken.drain(..).for_each(|at| self.wake(at));
        self.woken = woken;
    }

    /// Something changed at a gate: lines that it lets out look for their place again.
    pub(super) fn reopen(&mut self, gate: u32) {
        let mut woken = std::mem::take(&mut self.woken);
        self.gates.reopen(gate, self.now, &mut woken);
        self.wake_all(woken);
    }

    /// The reason why lines stand behind a gate is no more.
    pub(super) fn disperse(&mut self, gate: u32) {
        let mut woken = std::mem::take(&mut self.woken);
        self.gates.disperse(gate, &mut woken);
        self.wake_all(woken);
    }

    /// Lets lines out of a gate that is ajar; whether there were any.
    fn let_out(&mut self, most: usize) -> bool {
        let mut woken = std::mem::take(&mut self.woken);
        self.gates.release_ajar(self.now, most, &mut woken);
        let any = !woken.is_empty();
        self.wake_all(woken);
        any
    }

    /// Lets out the next line of the same owner behind the same gates.
    fn let_out_same(&mut self, at: u32) {
        for which in [KIND, KEY] {
            let line = &self.lines[at];
            let (gate, cluster) = (line.passage[which], line.clusters[which]);
            if cluster == NONE {
                continue;
            }
            self.gates.crowds.served(cluster);
            if let Some(next) = self.gates.release_same(gate, cluster) {
                self.wake(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{World, in_batch, keyed, line, name, of_kind, plain, urgent};
    use super::super::{KindRules, Target};
    use super::*;
    use crate::ids::BatchId;
    use crate::line::LineKey;

    #[test]
    fn the_most_urgent_first_but_only_inside_an_owner() {
        let mut world = World::new();
        world.submit(&urgent("a", 0), 2);
        world.submit(&line("b"), 5);
        world.submit(&urgent("a", 9), 2);
        let order: Vec<(String, u8)> =
            world.serve(9).iter().map(|key| (key.owner.to_string(), key.priority.level())).collect();
        let of_a: Vec<u8> = order.iter().filter(|(owner, _)| owner == "a").map(|&(_, level)| level).collect();
        assert_eq!(of_a, [9, 9, 0, 0]);
        assert!(order[..4].iter().filter(|(owner, _)| owner == "b").count() == 2);
    }

    #[test]
    fn an_urgent_line_that_is_held_back_hides_nothing() {
        let mut world = World::new();
        world.submit(&urgent("a", 9), 2);
        world.submit(&in_batch("a", 7), 2);
        world.pause(&Target::Kind(name("work")), true);
        world.submit(&of_kind("other", "a"), 2);
        assert_eq!(world.serve(9).len(), 2);
        world.pause(&Target::Kind(name("work")), false);
        world.pause(&Target::Batch(BatchId::from_u64(7)), true);
        let levels: Vec<u8> = world.serve(9).iter().map(|key| key.priority.level()).collect();
        assert_eq!(levels, [9, 9]);
        world.pause(&Target::Batch(BatchId::from_u64(7)), false);
        assert_eq!(world.serve(9).len(), 2);
    }

    #[test]
    fn batches_take_turns_and_so_do_the_lines_of_a_batch() {
        let mut world = World::new();
        world.submit(&in_batch("a", 1), 100);
        world.submit(&in_batch("a", 2), 2);
        world.submit(&line("a"), 2);
        world.submit(&keyed("a", "x"), 2);
        let short = |key: &LineKey| match (key.batch, &key.limit_key) {
            (Some(batch), _) => batch.as_u64().to_string(),
            (None, Some(key)) => key.to_string(),
            (None, None) => "-".to_string(),
        };
        let order: Vec<String> = world.serve(14).iter().map(short).collect();
        assert_eq!(order.concat(), "12-12x1-1x1111");
    }

    #[test]
    fn submit_order_inside_a_line() {
        let mut world = World::new();
        let jobs = world.submit(&line("a"), 500);
        let mut order = Vec::new();
        while let [ticket] = world.tickets(1).as_slice() {
            order.push(ticket.job);
            world.start(ticket);
            world.feed();
        }
        assert_eq!(order, jobs);
    }

    fn mixed() -> World {
        let mut world = World::with(KindRules { key_cap: Some(7), cap: Some(90), ..plain() });
        world.planner.set_kind(&name("other"), KindRules::new(name("second")));
        world.planner.set_free(&name("second"), 40);
        for owner in 0..80_u32 {
            world.planner.set_weight(&name(format!("o{owner}")), 1 + owner % 4);
            let who = &format!("o{owner}");
            for key in [line(who), in_batch(who, 1), urgent(who, 9), keyed(who, "k"), of_kind("other", who)] {
                world.submit(&key, 1 + owner as usize % 5);
            }
        }
        world
    }

    #[test]
    fn many_small_decisions_are_one_large_one() {
        let (mut one, mut many) = (mixed(), mixed());
        one.planner.set_free(&name("main"), 400);
        many.planner.set_free(&name("main"), 400);
        let now = one.now;
        let large = one.planner.plan(now, usize::MAX);
        let mut small = Vec::new();
        for most in (1..4).cycle() {
            let decision = many.planner.plan(now, most);
            let done = decision.tickets.is_empty();
            small.extend(decision.tickets);
            if done {
                assert_eq!(decision.wake_at, large.wake_at);
                break;
            }
        }
        assert_eq!(small.len(), 90 + 40);
        assert_eq!(small, large.tickets);
    }

    #[test]
    fn pools_have_room_of_their_own() {
        let mut world = World::new();
        world.planner.set_kind(&name("other"), KindRules::new(name("second")));
        world.submit(&line("a"), 10);
        world.submit(&of_kind("other", "a"), 10);
        world.planner.set_free(&name("main"), 2);
        world.planner.set_free(&name("second"), 3);
        assert_eq!(world.planner.plan(world.now, 100).tickets.len(), 5);
        let out = ["main", "second", "third"].map(|pool| world.planner.outstanding_in(&name(pool)));
        assert_eq!((out, world.planner.outstanding()), ([2, 3, 0], 5));
        // The kind changes over with all its lines.
        world.planner.set_kind(&name("other"), plain());
        world.planner.set_free(&name("main"), 4);
        let kinds: Vec<Name> =
            world.planner.plan(world.now, 100).tickets.into_iter().map(|t| t.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| ***kind == *"other").count(), 2);
        assert_eq!(kinds.len(), 4);
    }

    #[test]
    fn a_kind_without_rules_waits_for_them() {
        let mut world = World::new();
        world.submit(&of_kind("new", "a"), 3);
        assert_eq!((world.serve(9).len(), world.planner.windows()), (0, 0));
        world.planner.set_kind(&name("new"), plain());
        world.feed();
        assert_eq!(world.serve(9).len(), 3);
    }
}
