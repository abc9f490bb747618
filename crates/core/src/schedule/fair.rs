//! Whose turn it is: weighted round robin between owners, then inside an owner.
//!
//! A pool has a ring of *seats*, one for each owner that has a line with a known job in the pool which is not
//! held back. The owner at the head starts at most `weight` jobs, one at a time, and goes to the end. It
//! leaves the ring when it has no such line any more, and comes back at the end of the ring with nothing in
//! hand: its next visit is an ordinary one, or the rest of one if it was held back in the middle. So nobody
//! banks turns, and nobody gains a place by going away.
//!
//! Inside a seat: the highest priority that has a line; in it the batches in turn ("no batch" is one batch);
//! in a batch its lines (kinds and limit keys) in turn; in a line submit order.
//!
//! # The bound
//!
//! Take an owner X of weight w that sits in the ring of a pool, and let W be the sum of the weights of the
//! other owners that sit there at that moment.
//!
//! 1. **Wait.** At most W starts of others come before X's next start: each of the others has at most one
//!    visit before X's, because who finishes a visit, comes or comes back is placed behind X.
//! 2. **Rounds.** While X stays seated its visits come in full: n jobs of X are started after at most
//!    ⌈n / w⌉ rounds (one more if X was held back in the middle of a visit before), a round being one visit of X and at most one of every other owner; that is at most
//!    ⌈n / w⌉ · W starts of others while the others stay the same. Nothing in it depends on a backlog.
//! 3. **Shares.** Two owners a and b that stay seated have starts with |aₛ/wₐ − bₛ/w_b| ≤ 1 at any time
//!    since both sat down: at most one visit apart.
//!
//! A turn whose ticket a worker hands back was no start: it is *owed*, and given again before the ring moves
//! on. In starts the bound stays the same; in tickets it grows by those that were handed back.
//!
//! The bound starts when the owner sits: an owner whose line is held back (paused, cap, rate) or not yet read
//! from the store does not wait for a turn. If more than [`AT_ONCE`](super::gates::AT_ONCE) owners wait behind
//! one gate, they sit down in order of arrival, one with each ticket.

use std::collections::BTreeMap;

use crate::name::Name;
use crate::time::Time;

use super::chain::{Chain, Chains, Levels};
use super::intern::Intern;

/// The pool of kinds whose rules are not known: it never has a free slot.
pub(super) const NO_POOL: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct Pool {
    /// How many more tickets may go out.
    pub(super) free: u32,
    /// Tickets that are out.
    pub(super) out: u32,
    /// When it last handed out a ticket.
    pub(super) served_at: Time,
    ring: Chain,
    owed: Chain,
}

/// Why a line leaves its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nothing is known to start.
    NoJob,
    /// A gate is closed, or the store refused.
    HeldBack,
}

/// An owner in a pool.
#[derive(Debug)]
struct Seat {
    pool: u32,
    weight: u32,
    /// Starts left in this visit; zero before a visit. An owner that is held back during a visit has only
    /// the rest of it when it comes back: a cap that closes and opens all the time must not give it a whole
    /// visit each time.
    left: u32,
    /// Turns whose tickets were handed back.
    owed: u32,
    /// The groups with lines.
    groups: Levels,
}

/// A batch (or none) of a seat at one priority.
#[derive(Debug)]
struct Group {
    seat: u32,
    level: u8,
    lines: Chain,
}

/// All pools and who sits in them.
#[derive(Debug)]
pub(super) struct Rings {
    pools: Vec<Pool>,
    by_name: BTreeMap<Name, u32>,
    /// The pool that is asked next.
    turn: u32,
    /// By owner and pool; held by its groups.
    seats: Intern<(u32, u32), Seat>,
    /// By seat, level and batch; held by its lines.
    groups: Intern<(u32, u8, u32), Group>,
    seat_links: Chains,
    owed_links: Chains,
    group_links: Chains,
    line_links: Chains,
}

impl Rings {
    pub(super) fn new() -> Self {
        Rings {
            pools: vec![Pool::default()],
            by_name: BTreeMap::new(),
            turn: NO_POOL,
            seats: Intern::default(),
            groups: Intern::default(),
            seat_links: Chains::default(),
            owed_links: Chains::default(),
            group_links: Chains::default(),
            line_links: Chains::default(),
        }
    }

    pub(super) fn find_pool(&self, name: &Name) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub(super) fn pool_named(&mut self, name: &Name) -> u32 {
        if let Some(pool) = self.find_pool(name) {
            return pool;
        }
        let pool = self.pools.len() as u32;
        self.pools.push(Pool::default());
        self.by_name.insert(name.clone(), pool);
        pool
    }

    pub(super) fn pool(&self, pool: u32) -> &Pool {
        &self.pools[pool as usize]
    }

    pub(super) fn pool_mut(&mut self, pool: u32) -> &mut Pool {
        &mut self.pools[pool as usize]
    }

    /// Tickets that may go out of all pools together.
    pub(super) fn free(&self) -> usize {
        self.pools.iter().map(|pool| pool.free as usize).sum()
    }

    pub(super) fn pools(&self) -> usize {
        self.pools.len()
    }

    /// The pools take turns too, ticket by ticket.
    pub(super) fn next_pool(&mut self) -> u32 {
        self.turn = if self.turn as usize + 1 < self.pools.len() { self.turn + 1 } else { 0 };
        self.turn
    }

    /// A place for a line, which it holds until it vacates it.
    pub(super) fn reserve(&mut self, owner: u32, pool: u32, weight: u32, level: u8, batch: u32) -> u32 {
        let make = || Seat { pool, weight, left: 0, owed: 0, groups: Levels::default() };
        let seat = self.seats.find_or(&(owner, pool), make);
        let key = (seat, level, batch);
        let known = self.groups.find(&key);
        let group = known.unwrap_or_else(|| {
            self.seats.hold(seat);
            self.groups.find_or(&key, || Group { seat, level, lines: Chain::default() })
        });
        self.groups.hold(group);
        group
    }

    /// The line must have left the ring.
    pub(super) fn vacate(&mut self, group: u32) {
        self.groups.release(group);
        if !self.groups.is_unused(group) {
            return;
        }
        let seat = self.groups[group].seat;
        self.groups.remove(group);
        self.seats.release(seat);
        if self.seats.is_unused(seat) {
            self.seats.remove(seat);
        }
    }

    pub(super) fn set_weight(&mut self, owner: u32, weight: u32) {
        for pool in 0..self.pools.len() as u32 {
            if let Some(seat) = self.seats.find(&(owner, pool)) {
                self.seats[seat].weight = weight;
            }
        }
    }

    /// The pool in which a group sits.
    pub(super) fn pool_of(&self, group: u32) -> u32 {
        self.seats[self.groups[group].seat].pool
    }

    /// A line with a job joins the end of its group; its owner sits down at the end of the ring.
    pub(super) fn join(&mut self, group_at: u32, line: u32) {
        let group = &mut self.groups[group_at];
        let newcomer = group.lines.is_empty();
        self.line_links.push_back(&mut group.lines, line);
        if !newcomer {
            return;
        }
        let seat = &mut self.seats[group.seat];
        if seat.groups.is_empty() {
            self.seat_links.push_back(&mut self.pools[seat.pool as usize].ring, group.seat);
        }
        seat.groups.push_back(&mut self.group_links, group.level, group_at);
    }

    /// A line leaves; when it was its owner's last one, so does the owner.
    pub(super) fn leave(&mut self, group_at: u32, line: u32, why: Why) {
        let group = &mut self.groups[group_at];
        self.line_links.remove(&mut group.lines, line);
        if !group.lines.is_empty() {
            return;
        }
        let seat = &mut self.seats[group.seat];
        seat.groups.remove(&mut self.group_links, group.level, group_at);
        if seat.groups.is_empty() {
            let pool = &mut self.pools[seat.pool as usize];
            self.seat_links.remove(&mut pool.ring, group.seat);
            if why == Why::NoJob {
                seat.left = 0;
            }
            if std::mem::take(&mut seat.owed) > 0 {
                self.owed_links.remove(&mut pool.owed, group.seat);
            }
        }
    }

    /// The line whose turn it is, if its gates are open.
    pub(super) fn candidate(&self, pool: u32) -> Option<u32> {
        let pool = &self.pools[pool as usize];
        let seat = &self.seats[pool.owed.first().or(pool.ring.first())?];
        self.groups[seat.groups.first()?].lines.first()
    }

    /// The candidate of this group was started: everybody in whose name it was moves on.
    pub(super) fn served(&mut self, group: u32) {
        let group = &mut self.groups[group];
        let seat = &mut self.seats[group.seat];
        let pool = &mut self.pools[seat.pool as usize];
        self.line_links.rotate(&mut group.lines);
        seat.groups.rotate(&mut self.group_links, group.level);
        pool.free -= 1;
        if pool.owed.first() == Some(group.seat) {
            seat.owed -= 1;
            match seat.owed {
                0 => self.owed_links.remove(&mut pool.owed, group.seat),
                _ => self.owed_links.rotate(&mut pool.owed),
            }
            return;
        }
        if seat.left == 0 {
            seat.left = seat.weight;
        }
        seat.left -= 1;
        if seat.left == 0 {
            self.seat_links.rotate(&mut pool.ring);
        }
    }

    /// A ticket of a line that sits in the ring was handed back: its owner has that turn again.
    pub(super) fn owe(&mut self, group: u32) {
        let at = self.groups[group].seat;
        let seat = &mut self.seats[at];
        if seat.owed == 0 {
            self.owed_links.push_back(&mut self.pools[seat.pool as usize].owed, at);
        }
        seat.owed += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Target;
    use super::super::model::{World, line, name};
    use super::*;

    fn count(owners: &[String], owner: &str) -> usize {
        owners.iter().filter(|other| *other == owner).count()
    }

    /// 1 when all have the same, 1/n when one has everything.
    fn jain(shares: &[f64]) -> f64 {
        let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
        sum * sum / (shares.len() as f64 * squares)
    }

    #[test]
    fn a_hundred_owners_with_very_different_backlogs_share_alike() {
        let mut world = World::new();
        for owner in 0..100 {
            world.submit(&line(format!("o{owner}")), 20 + owner * owner);
        }
        let served = world.owners(100 * 20);
        let shares: Vec<f64> = (0..100).map(|owner| count(&served, &format!("o{owner}")) as f64).collect();
        assert!(jain(&shares) >= 0.99, "{shares:?}");
        assert!(shares.iter().all(|&share| share == 20.0));
    }

    #[test]
    fn a_hundred_thousand_jobs_of_one_owner_delay_nobody() {
        let mut world = World::new();
        world.submit(&line("big"), 100_000);
        for owner in 0..99 {
            world.submit(&line(format!("small{owner}")), 10);
        }
        let served = world.owners(10 * 100);
        assert_eq!(count(&served, "big"), 10);
        assert!((0..99).all(|owner| count(&served, &format!("small{owner}")) == 10));
        let rest = world.owners(usize::MAX);
        assert_eq!(count(&rest, "big"), 99_990);
    }

    #[test]
    fn weights_are_kept_in_every_round() {
        let mut world = World::new();
        for (owner, weight) in [("one", 1), ("two", 2), ("five", 5)] {
            world.planner.set_weight(&name(owner), weight);
            world.submit(&line(owner), 1_000);
        }
        let (mut starts, mut visits) = ([0; 3], [0.0; 3]);
        for (step, owner) in world.owners(400).iter().enumerate() {
            let at = ["one", "two", "five"].iter().position(|other| other == owner).unwrap();
            starts[at] += 1;
            visits[at] += 1.0 / [1.0, 2.0, 5.0][at];
            let apart = |a: usize, b: usize| f64::abs(visits[a] - visits[b]) < 1.000_1;
            assert!(apart(0, 1) && apart(0, 2) && apart(1, 2), "after {step}: {starts:?}");
        }
        assert_eq!(starts, [50, 100, 250]);
    }

    #[test]
    fn a_late_owner_waits_for_turns_and_not_for_backlogs() {
        let mut world = World::new();
        for owner in ["a", "b", "c"] {
            world.submit(&line(owner), 5_000);
        }
        world.owners(1_000);
        world.submit(&line("late"), 3);
        let served = world.owners(12);
        assert_eq!(count(&served, "late"), 3);
        assert!(served[..4].contains(&"late".to_string()));
    }

    #[test]
    fn going_away_and_coming_back_gains_nothing() {
        let mut world = World::new();
        for owner in ["a", "b", "c"] {
            world.submit(&line(owner), 2_000);
        }
        world.planner.set_weight(&name("sly"), 3);
        let mut served = Vec::new();
        for step in 0..2_000 {
            // One job at a time, at every moment that could be a good one.
            if !world.waiting_owners().contains(&name("sly")) {
                world.submit(&line("sly"), 1);
            }
            served.extend(world.owners(1 + step % 2));
        }
        let share = count(&served, "sly");
        assert!(
            ["a", "b", "c"].iter().all(|owner| share <= count(&served, owner) + 1),
            "{share} of {}",
            served.len()
        );
    }

    #[test]
    fn who_was_held_back_banks_nothing() {
        let mut world = World::new();
        for owner in ["a", "b", "c"] {
            world.submit(&line(owner), 1_000);
        }
        let paused = Target::Owner(name("a"));
        world.pause(&paused, true);
        assert_eq!(count(&world.owners(100), "a"), 0);
        world.pause(&paused, false);
        let served = world.owners(30);
        assert!(["a", "b", "c"].iter().all(|owner| count(&served, owner) == 10), "{served:?}");
    }

    proptest! {
        /// The bound: between the moment an owner may have a turn (or had one) and its next start, others
        /// have at most the sum of the weights of those who were there, whatever comes, goes or is paused.
        #[test]
        fn nobody_waits_longer_than_one_visit_of_each_other(
            weights in prop::collection::vec(1_u32..6, 2..8),
            steps in prop::collection::vec((0_usize..8, 0_usize..12, 0_u8..10), 1..150),
        ) {
            let mut world = World::new();
            let owners: Vec<Name> = (0..weights.len()).map(|at| name(format!("o{at}"))).collect();
            for (owner, &weight) in owners.iter().zip(&weights) {
                world.planner.set_weight(owner, weight);
            }
            let mut paused = vec![false; owners.len()];
            // For each owner that waits: starts of others so far, and how many are allowed.
            let mut waits: Vec<Option<(u32, u32)>> = vec![None; owners.len()];
            for (at, jobs, what) in steps {
                let at = at % owners.len();
                if what < 2 {
                    paused[at] = what == 0;
                    world.pause(&Target::Owner(owners[at].clone()), paused[at]);
                } else if jobs > 0 {
                    world.submit(&line(&*owners[at]), jobs);
                }
                for _ in 0..5 {
                    let there = world.waiting_owners();
                    let others = |at: usize| -> u32 {
                        let sits = |other: &usize| *other != at && there.contains(&owners[*other]);
                        (0..owners.len()).filter(sits).map(|other| weights[other]).sum()
                    };
                    for (at, wait) in waits.iter_mut().enumerate() {
                        let may = there.contains(&owners[at]) && !paused[at];
                        *wait = if may { wait.or(Some((0, others(at)))) } else { None };
                    }
                    let Some(served) = world.owners(1).pop() else {
                        prop_assert!(waits.iter().all(Option::is_none), "a free slot while somebody waits");
                        break;
                    };
                    for (at, wait) in waits.iter_mut().enumerate() {
                        match wait {
                            _ if served == *owners[at] => *wait = None,
                            Some((starts, most)) => {
                                *starts += 1;
                                prop_assert!(starts <= most, "{} waited {starts} of {most}", owners[at]);
                            }
                            None => {}
                        }
                    }
                }
            }
        }
    }
}
