//! The lines behind a gate, so that owners take turns there too.
//!
//! A crowd is a queue of *clusters*, one for each owner: an owner with a thousand lines behind a gate hides
//! nobody. Inside a cluster the highest priority comes first, then the order of arrival. When a gate closes
//! again, those who were let out come back in the order of their ring: the owners that had no turn in front
//! of all, the others at the end. So a gate that opens for one start at a time goes round like the ring.

use super::chain::{Chain, Chains, Levels};
use super::intern::Intern;

/// The clusters behind one gate.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// Those of owners that were let out and had no turn.
    early: Chain,
    late: Chain,
}

impl Crowd {
    pub(super) fn is_empty(&self) -> bool {
        self.owners() == 0
    }

    pub(super) fn owners(&self) -> usize {
        self.early.len() + self.late.len()
    }
}

/// Where in a crowd a line stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) cluster: u32,
    pub(super) level: u8,
}

/// How a line comes to a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coming {
    /// For the first time.
    New,
    /// It was let out, and the gate closed before its turn.
    NoTurn,
    /// After a turn.
    HadTurn,
}

#[derive(Debug, Default)]
struct Cluster {
    lines: Levels,
    /// Which of the crowd's two queues it is in, if it has lines.
    early: bool,
    /// Whether one of its lines had a turn since it was last let out.
    had_turn: bool,
}

/// All crowds.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    /// By gate and owner; held by the lines that were in it.
    clusters: Intern<(u32, u32), Cluster>,
    cluster_links: Chains,
    line_links: Chains,
}

impl Crowds {
    /// An owner's cluster behind a gate, for a line to hold.
    pub(super) fn cluster(&mut self, gate: u32, owner: u32) -> u32 {
        let at = self.clusters.find_or(&(gate, owner), Cluster::default);
        self.clusters.hold(at);
        at
    }

    pub(super) fn release(&mut self, cluster: u32) {
        self.clusters.release(cluster);
        if self.clusters.is_unused(cluster) {
            self.clusters.remove(cluster);
        }
    }

    /// A line that was in this cluster has a turn.
    pub(super) fn served(&mut self, cluster: u32) {
        self.clusters[cluster].had_turn = true;
    }

    pub(super) fn join(&mut self, crowd: &mut Crowd, spot: Spot, line: u32, coming: Coming) {
        let cluster = &mut self.clusters[spot.cluster];
        let was_empty = cluster.lines.is_empty();
        if coming == Coming::NoTurn {
            cluster.lines.push_front(&mut self.line_links, spot.level, line);
        } else {
            cluster.lines.push_back(&mut self.line_links, spot.level, line);
        }
        let early = coming == Coming::NoTurn && !cluster.had_turn;
        if !was_empty {
            if coming == Coming::New || cluster.early {
                return;
            }
            self.cluster_links.remove(&mut crowd.late, spot.cluster);
        }
        cluster.early = early;
        let queue = if early { &mut crowd.early } else { &mut crowd.late };
        self.cluster_links.push_back(queue, spot.cluster);
    }

    pub(super) fn leave(&mut self, crowd: &mut Crowd, spot: Spot, line: u32) {
        let cluster = &mut self.clusters[spot.cluster];
        cluster.lines.remove(&mut self.line_links, spot.level, line);
        if cluster.lines.is_empty() {
            let queue = if cluster.early { &mut crowd.early } else { &mut crowd.late };
            self.cluster_links.remove(queue, spot.cluster);
        }
    }

    /// The line that may go first; its owner's others wait until all owners had a turn.
    pub(super) fn pop(&mut self, crowd: &mut Crowd) -> Option<u32> {
        let cluster = crowd.early.first().or(crowd.late.first())?;
        self.clusters[cluster].had_turn = false;
        self.pop_of(crowd, cluster)
    }

    /// The line of this cluster that may go first.
    pub(super) fn pop_of(&mut self, crowd: &mut Crowd, at: u32) -> Option<u32> {
        let cluster = &mut self.clusters[at];
        let line = cluster.lines.pop(&mut self.line_links)?;
        let queue = if cluster.early { &mut crowd.early } else { &mut crowd.late };
        self.cluster_links.remove(queue, at);
        if !cluster.lines.is_empty() {
            cluster.early = false;
            self.cluster_links.push_back(&mut crowd.late, at);
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::KindRules;
    use super::super::model::{World, in_batch, line, name, plain, urgent};
    use super::*;
    use crate::line::LineKey;

    #[test]
    fn owners_take_turns_and_who_had_none_comes_first() {
        let (mut crowds, mut crowd) = (Crowds::default(), Crowd::default());
        let [a, b] = [0, 1].map(|owner| crowds.cluster(7, owner));
        for (cluster, level, line) in [(a, 5, 10), (a, 5, 11), (a, 9, 12), (b, 0, 20)] {
            crowds.join(&mut crowd, Spot { cluster, level }, line, Coming::New);
        }
        assert_eq!(crowd.owners(), 2);
        assert_eq!([crowds.pop(&mut crowd), crowds.pop(&mut crowd)], [Some(12), Some(20)]);
        crowds.served(a);
        crowds.join(&mut crowd, Spot { cluster: a, level: 9 }, 12, Coming::NoTurn);
        crowds.join(&mut crowd, Spot { cluster: b, level: 0 }, 20, Coming::NoTurn);
        crowds.leave(&mut crowd, Spot { cluster: a, level: 5 }, 11);
        assert_eq!(std::iter::from_fn(|| crowds.pop(&mut crowd)).collect::<Vec<_>>(), [20, 12, 10]);
        assert!(crowd.is_empty());
        crowds.release(a);
        assert_eq!(crowds.clusters.len(), 1);
    }

    #[test]
    fn who_has_something_better_to_do_does_not_stand_in_the_way() {
        let mut world = World::with(KindRules { cap: Some(1), ..plain() });
        world.submit(&line("first"), 1);
        assert_eq!(world.start_all().len(), 1);
        let owners: Vec<String> = (0..40).map(|owner| format!("o{owner}")).collect();
        owners.iter().for_each(|owner| drop(world.submit(&urgent(owner, 0), 1)));
        world.submit(&line("last"), 1);
        assert!(world.start_all().is_empty());
        for owner in &owners {
            world.submit(&LineKey { kind: name("other"), ..urgent(owner, 9) }, 100);
        }
        world.planner.ended(line("first").id());
        assert!(world.owners(200).contains(&"last".to_string()));
    }

    #[test]
    fn a_crowd_behind_a_small_cap_takes_turns() {
        let mut world = World::with(KindRules { cap: Some(2), ..plain() });
        for owner in 0..500 {
            world.submit(&line(format!("o{owner}")), 3);
        }
        let mut running = std::collections::VecDeque::new();
        let mut turns = Vec::new();
        while turns.len() < 1_500 {
            let started = world.start_all();
            assert!(!started.is_empty() && running.len() + started.len() == 2, "room is used at once");
            turns.extend(started.iter().copied());
            running.extend(started);
            world.planner.ended(running.pop_front().unwrap());
        }
        for round in turns.chunks(500) {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 500, "everybody once in a round");
        }
    }

    #[test]
    fn an_owner_with_many_lines_behind_a_cap_hides_nobody() {
        let mut world = World::with(KindRules { cap: Some(3), ..plain() });
        world.planner.set_weight(&name("two"), 2);
        for batch in 0..1_000 {
            world.submit(&in_batch("many", batch), 1);
        }
        world.submit(&line("one"), 1_000);
        for batch in 0..1_000 {
            world.submit(&in_batch("two", batch), 1);
        }
        let mut turns = Vec::new();
        for _ in 0..200 {
            let started = world.start_all();
            assert_eq!(started.len(), 3);
            turns.extend(started.iter().map(|line| world.keys[line].owner.to_string()));
            started.iter().for_each(|&line| assert!(world.planner.ended(line)));
        }
        let share = ["many", "one", "two"].map(|owner| turns.iter().filter(|turn| **turn == owner).count());
        assert_eq!(share.iter().sum::<usize>(), 600);
        assert!(share[0].abs_diff(150) <= 2 && share[1].abs_diff(150) <= 2, "{share:?}");
    }
}
