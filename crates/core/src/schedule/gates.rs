//! Gates: whatever can hold a line back.
//!
//! A kind, a limit key of a kind, an owner and a batch each have one gate: it may be paused, have a cap on
//! what runs, or a bucket that is empty. Every job of a line passes the same gates. A line that finds one
//! closed leaves its ring and joins the [crowd](super::crowd) behind that gate, so closed gates cost nothing
//! until something changes.
//!
//! A gate that opens lets out one line of each owner in its crowd, at most [`AT_ONCE`]. If more wait, it is
//! *ajar*: each ticket lets out one more, and one of the same owner, and so does having nothing else to
//! start. A cap of one with ten thousand lines behind it therefore costs a bounded effort per start.

use std::collections::BTreeSet;

use crate::rate::{Bucket, Rate};
use crate::time::Time;

use super::chain::{Chain, Chains, NONE};
use super::crowd::{Coming, Crowd, Crowds, Spot};
use super::intern::Slab;

/// Owners that an opening gate lets out at once. Each costs about a tenth of a microsecond per start when a
/// cap is always full; up to this many, the gate goes round exactly like the ring.
pub(super) const AT_ONCE: usize = 16;

/// Where a line's gates are kept in [`Passage`].
pub(super) const KIND: usize = 0;
pub(super) const KEY: usize = 1;
pub(super) const OWNER: usize = 2;
pub(super) const BATCH: usize = 3;

/// The gates of one line: kind, key, owner, batch. The first two count what is out and what runs.
pub(super) type Passage = [u32; 4];

/// Why a gate is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Until somebody resumes it.
    Paused,
    /// Until a job ends or a ticket comes back.
    Full,
    /// Until the bucket has a token.
    Until(Time),
}

#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Paused by somebody, or a kind whose rules are not known yet.
    pub(super) paused: bool,
    pub(super) cap: Option<u32>,
    pub(super) running: u32,
    out: u32,
    bucket: Option<(Rate, Bucket)>,
    crowd: Crowd,
    /// Lines that it let out and that had no turn yet.
    let_out: usize,
    timer: Option<Time>,
    ajar: bool,
}

impl Gate {
    /// The gate of a kind whose rules are not known yet.
    pub(super) fn closed_kind() -> Self {
        Gate { paused: true, ..Gate::default() }
    }

    /// A new rate keeps what is left of the old bucket, so that setting rules again gives nothing away.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>, now: Time) {
        self.bucket = match (rate, self.bucket) {
            (Some(rate), Some((_, bucket))) => Some((rate, bucket)),
            (Some(rate), None) => Some((rate, Bucket::full(rate, now))),
            (None, _) => None,
        };
    }

    /// Whether a new gate with the same rules would be no different.
    pub(super) fn is_fresh(&self, now: Time) -> bool {
        !self.paused
            && self.running == 0
            && self.bucket.is_none_or(|(rate, bucket)| bucket.is_full(rate, now))
    }

    fn closed(&self, now: Time) -> Option<Closed> {
        if self.paused {
            return Some(Closed::Paused);
        }
        if self.cap.is_some_and(|cap| self.running.saturating_add(self.out) >= cap) {
            return Some(Closed::Full);
        }
        let (rate, bucket) = self.bucket.as_ref()?;
        bucket.peek(*rate, now).err().map(Closed::Until)
    }
}

/// What wakes up at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sleeper {
    Gate(u32),
    Line(u32),
}

#[derive(Debug, Default)]
pub(super) struct Gates {
    gates: Slab<Gate>,
    pub(super) crowds: Crowds,
    ajar: Chain,
    ajar_links: Chains,
    timers: BTreeSet<(Time, Sleeper)>,
}

impl Gates {
    pub(super) fn add(&mut self, gate: Gate) -> u32 {
        self.gates.insert(gate)
    }

    /// Nobody may stand behind the gate any more.
    pub(super) fn remove(&mut self, at: u32) {
        self.set_timer(at, None);
        self.set_ajar(at, false);
        self.gates.remove(at);
    }

    pub(super) fn gate(&self, at: u32) -> &Gate {
        &self.gates[at]
    }

    pub(super) fn gate_mut(&mut self, at: u32) -> &mut Gate {
        &mut self.gates[at]
    }

    /// Which gate is closed to a line: the first of its passage.
    pub(super) fn closed(&self, passage: &Passage, now: Time) -> Option<(usize, Closed)> {
        let closed = |&at: &u32| if at == NONE { None } else { self.gates[at].closed(now) };
        passage.iter().enumerate().find_map(|(which, at)| Some((which, closed(at)?)))
    }

    /// Which gate is paused for a line.
    pub(super) fn paused(&self, passage: &Passage) -> Option<usize> {
        passage.iter().position(|&at| at != NONE && self.gates[at].paused)
    }

    /// A ticket goes out.
    pub(super) fn pass(&mut self, passage: &Passage, now: Time) {
        for at in counted(passage) {
            let gate = &mut self.gates[at];
            gate.out += 1;
            if let Some((rate, bucket)) = &mut gate.bucket {
                // It was open when it was looked at, with the same time.
                let _ = bucket.take(*rate, now);
            }
        }
    }

    /// A ticket is no longer out. Its tokens go back if nothing was started for them.
    pub(super) fn come_back(&mut self, passage: &Passage, with_token: bool) {
        for at in counted(passage) {
            let gate = &mut self.gates[at];
            gate.out -= 1;
            if let (true, Some((rate, bucket))) = (with_token, &mut gate.bucket) {
                bucket.give_back(*rate);
            }
        }
    }

    /// What runs is counted where a cap needs it.
    pub(super) fn start(&mut self, passage: &Passage) {
        for at in counted(passage) {
            let gate = &mut self.gates[at];
            gate.running += u32::from(gate.cap.is_some());
        }
    }

    pub(super) fn end(&mut self, passage: &Passage) {
        for at in counted(passage) {
            self.gates[at].running = self.gates[at].running.saturating_sub(1);
        }
    }

    /// The line joins the crowd behind a gate.
    pub(super) fn park(&mut self, line: u32, at: u32, spot: Spot, coming: Coming, why: Closed) {
        self.crowds.join(&mut self.gates[at].crowd, spot, line, coming);
        if let Closed::Until(time) = why {
            self.set_timer(at, Some(time));
        }
    }

    pub(super) fn unpark(&mut self, line: u32, at: u32, spot: Spot) {
        self.crowds.leave(&mut self.gates[at].crowd, spot, line);
    }

    pub(super) fn rest(&mut self, line: u32, until: Time) {
        self.timers.insert((until, Sleeper::Line(line)));
    }

    pub(super) fn unrest(&mut self, line: u32, until: Time) {
        self.timers.remove(&(until, Sleeper::Line(line)));
    }

    /// Who should have woken up by now, one at a time.
    pub(super) fn due(&mut self, now: Time) -> Option<Sleeper> {
        let &(time, sleeper) = self.timers.first().filter(|&&(time, _)| time <= now)?;
        self.timers.remove(&(time, sleeper));
        if let Sleeper::Gate(at) = sleeper {
            self.gates[at].timer = None;
        }
        Some(sleeper)
    }

    pub(super) fn next_time(&self) -> Option<Time> {
        self.timers.first().map(|&(time, _)| time)
    }

    /// Something changed at a gate: the lines that may leave its crowd, unless enough are out already.
    pub(super) fn reopen(&mut self, at: u32, now: Time, out: &mut Vec<u32>) {
        let most = AT_ONCE.saturating_sub(self.gates[at].let_out);
        self.review(at, now, most, out);
    }

    /// A line that was let out had its turn, or is held back again.
    pub(super) fn came_back(&mut self, at: u32) {
        self.gates[at].let_out -= 1;
    }

    /// Lets out lines of at most so many owners, if the gate is open.
    fn review(&mut self, at: u32, now: Time, most: usize, out: &mut Vec<u32>) {
        let gate = &mut self.gates[at];
        if gate.crowd.is_empty() {
            return self.set_ajar(at, false);
        }
        match gate.closed(now) {
            None => {
                let before = out.len();
                for _ in 0..most.min(gate.crowd.owners()) {
                    out.extend(self.crowds.pop(&mut gate.crowd));
                }
                gate.let_out += out.len() - before;
                let more = !gate.crowd.is_empty();
                self.set_ajar(at, more);
            }
            Some(Closed::Until(time)) => {
                self.set_ajar(at, false);
                self.set_timer(at, Some(time));
            }
            Some(_) => self.set_ajar(at, false),
        }
    }

    /// A pause was lifted or rules have changed: everybody may look again.
    pub(super) fn disperse(&mut self, at: u32, out: &mut Vec<u32>) {
        let gate = &mut self.gates[at];
        while let Some(line) = self.crowds.pop(&mut gate.crowd) {
            gate.let_out += 1;
            out.push(line);
        }
        self.set_ajar(at, false);
    }

    /// Lets lines out of the gate that has been ajar longest; nothing if none is.
    pub(super) fn release_ajar(&mut self, now: Time, most: usize, out: &mut Vec<u32>) {
        while out.is_empty() {
            let Some(at) = self.ajar.first() else { return };
            self.ajar_links.rotate(&mut self.ajar);
            self.review(at, now, most, out);
        }
    }

    /// Another line of the same owner behind a gate that is ajar: who is having a visit should not lose the
    /// rest of it while more could be started.
    pub(super) fn release_same(&mut self, at: u32, cluster: u32) -> Option<u32> {
        let gate = &mut self.gates[at];
        let line = if gate.ajar { self.crowds.pop_of(&mut gate.crowd, cluster) } else { None };
        gate.let_out += usize::from(line.is_some());
        line
    }

    fn set_ajar(&mut self, at: u32, ajar: bool) {
        match (std::mem::replace(&mut self.gates[at].ajar, ajar), ajar) {
            (false, true) => self.ajar_links.push_back(&mut self.ajar, at),
            (true, false) => self.ajar_links.remove(&mut self.ajar, at),
            _ => {}
        }
    }

    fn set_timer(&mut self, at: u32, time: Option<Time>) {
        let before = std::mem::replace(&mut self.gates[at].timer, time);
        if before == time {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, Sleeper::Gate(at)));
        }
        if let Some(time) = time {
            self.timers.insert((time, Sleeper::Gate(at)));
        }
    }
}

/// The gates that count: the kind's and the key's.
fn counted(passage: &Passage) -> impl Iterator<Item = u32> + use<> {
    [passage[KIND], passage[KEY]].into_iter().filter(|&at| at != NONE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::model::{World, keyed, line, name, of_kind, plain};
    use super::super::{KindRules, Target};
    use super::*;

    #[test]
    fn a_cap_counts_what_is_out_and_what_runs() {
        let mut world = World::with(KindRules { cap: Some(3), ..plain() });
        world.submit(&line("a"), 10);
        world.submit(&line("b"), 10);
        world.submit(&of_kind("other", "a"), 1);
        let tickets = world.tickets(100);
        assert_eq!(tickets.iter().filter(|ticket| &*ticket.kind == "work").count(), 3);
        assert_eq!(tickets.len(), 4);
        tickets.iter().for_each(|ticket| world.start(ticket));
        assert!(world.tickets(100).is_empty());
        assert!(world.planner.ended(line("a").id()));
        assert_eq!(world.start_all().len(), 1);
        world.planner.set_running(&name("work"), None, 1);
        assert_eq!(world.start_all().len(), 2);
        assert!(world.tickets(100).is_empty());
        world.planner.set_kind(&name("work"), plain());
        assert_eq!(world.tickets(100).len(), 14);
    }

    #[test]
    fn the_cap_of_one_key_never_hides_another() {
        let mut world = World::with(KindRules { key_cap: Some(1), ..plain() });
        world.submit(&keyed("a", "x"), 1_000);
        world.submit(&keyed("a", "y"), 2);
        world.submit(&keyed("b", "x"), 2);
        world.submit(&line("a"), 2);
        let first = world.start_all();
        assert_eq!(first.len(), 4, "one of x, one of y, two without a key");
        assert!(world.planner.ended(keyed("a", "y").id()));
        assert_eq!(world.start_all(), [keyed("a", "y").id()]);
        // Both owners wait for x: they take turns.
        let mut turns = Vec::new();
        for _ in 0..3 {
            world.planner.ended(keyed("a", "x").id());
            turns.extend(world.start_all());
        }
        assert_eq!(turns, [keyed("b", "x").id(), keyed("a", "x").id(), keyed("b", "x").id()]);
    }

    #[test]
    fn rates_hold_back_and_say_when() {
        let rules = KindRules {
            rate: Some(Rate::per_second(100)),
            key_rate: Some(Rate::per_second(10).burst(2)),
            ..plain()
        };
        let mut world = World::with(rules);
        world.submit(&keyed("a", "x"), 50);
        world.submit(&keyed("b", "y"), 50);
        assert_eq!(world.start_all().len(), 4);
        assert_eq!(world.planner.plan(world.now, 9).wake_at, Some(world.now + Duration::from_millis(100)));
        world.pass(99);
        assert_eq!(world.start_all().len(), 0);
        world.pass(1);
        assert_eq!(world.start_all().len(), 2);
        // A ticket that was handed back, or for a job that was gone, took no token.
        world.pass(100);
        let tickets = world.tickets(9);
        world.out.clear();
        world.planner.returned(tickets[0].job, tickets[0].version);
        world.planner.gone(tickets[1].job, tickets[1].version);
        assert_eq!(world.tickets(9).len(), 2);
    }

    #[test]
    fn a_cap_that_opens_on_an_empty_bucket_waits_for_the_bucket() {
        let rules = KindRules { cap: Some(1), rate: Some(Rate::per_second(1)), ..plain() };
        let mut world = World::with(rules);
        world.submit(&line("a"), 2);
        assert_eq!(world.start_all().len(), 1);
        assert_eq!(world.planner.plan(world.now, 9).wake_at, None);
        world.planner.ended(line("a").id());
        assert_eq!(world.planner.plan(world.now, 9).wake_at, Some(world.now + Duration::from_secs(1)));
        world.pass(1_000);
        assert_eq!(world.start_all().len(), 1);
    }

    #[test]
    fn pauses_hold_until_they_are_lifted() {
        let mut world = World::new();
        world.pause(&Target::Owner(name("a")), true);
        world.submit(&line("a"), 10);
        world.submit(&line("b"), 1);
        assert_eq!(world.planner.windows(), 1, "what is paused is not read");
        assert_eq!(world.start_all().len(), 1);
        world.pause(&Target::Kind(name("work")), true);
        world.pause(&Target::Owner(name("a")), false);
        assert_eq!(world.start_all().len(), 0);
        world.pause(&Target::Kind(name("work")), false);
        assert_eq!(world.start_all().len(), 10);
    }
}
