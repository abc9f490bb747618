//! Which lines are in memory.
//!
//! At most [`limits::LINES_IN_MEMORY`]. A line without work stays until its place is needed. When all places
//! are taken by lines with work, a line makes room for a new one if it had a start since it came, or is held
//! back, or its pool has started nothing for a while; the engine then finds it again by going through the
//! lines in the store, so more lines than fit are visited in rotation.

use crate::ids::{JobId, LineId};
use crate::limits;
use crate::line::LineKey;

use super::chain::NONE;
use super::gates::{BATCH, KEY, KIND, OWNER};
use super::lines::{Changed, FIRST_READ, Line, Place, Queue};
use super::outs::Outs;
use super::planner::Planner;

/// Lines that are looked at to find one that can leave.
const TRIES: usize = 16;

impl Planner {
    /// There may be new ready work in this line: it is read when its turn comes. False if there is no room
    /// for it in memory: announce it again later (see [`Planner::needs_scan`]).
    pub fn announce(&mut self, id: LineId, key: &LineKey) -> bool {
        let at = match self.lines.find(id) {
            Some(at) => at,
            None if self.make_room() => self.enter(id, key),
            None => {
                self.forgot = true;
                return false;
            }
        };
        let line = &mut self.lines[at];
        if line.changed == Changed::No {
            line.changed = Changed::Later;
            self.lines.appraise(at);
        }
        true
    }

    /// The same, for somebody who knows the first of the new jobs. What lies behind all that was read of the line is met
    /// on the way; only what lies before it makes a reading from the start necessary, which may be long where a store
    /// cannot remove its dead rows.
    pub fn announce_from(&mut self, id: LineId, key: &LineKey, first: JobId) -> bool {
        let known = self.lines.find(id);
        let ahead = |at: &u32| {
            let line = &self.lines[*at];
            // An answer that is under way may go beyond the new job without it.
            line.reading.is_none() && line.cursor.is_some_and(|cursor| first > cursor)
        };
        match known.filter(ahead) {
            Some(at) => {
                self.lines[at].more = true;
                self.lines.appraise(at);
                true
            }
            None => self.announce(id, key),
        }
    }

    /// Whether there is more to start in a line as far as is known: it will be read on, whoever announces it.
    pub fn goes_on(&self, line: LineId) -> bool {
        self.lines.find(line).is_some_and(|at| {
            let line = &self.lines[at];
            line.more || line.reading.is_some() || !line.window.is_empty()
        })
    }

    /// Whether the line is in memory.
    pub fn knows(&self, line: LineId) -> bool {
        self.lines.find(line).is_some()
    }

    /// Whether a line with work had no room in memory, or had to leave it, since this was last asked: then the
    /// lines in the store should be announced again.
    pub fn needs_scan(&mut self) -> bool {
        std::mem::take(&mut self.forgot)
    }

    /// New leadership: forgets lines, tickets, what runs and what is free, to be told anew from the store.
    /// Rules, weights, pauses and buckets stay. Answers to older wants are ignored.
    pub fn forget_all(&mut self) {
        self.outs = Outs::default();
        for at in self.lines.indexes() {
            let line = &mut self.lines[at];
            let (passage, out) = (line.passage, std::mem::take(&mut line.out));
            (0..out).for_each(|_| self.gates.come_back(&passage, false));
            if let Some(reading) = self.lines[at].reading.take() {
                self.lines.reserved -= reading.reserved;
            }
            self.evict(at);
        }
        for pool in 0..self.rings.pools() as u32 {
            let pool = self.rings.pool_mut(pool);
            (pool.free, pool.out) = (0, 0);
        }
        for at in self.names.keys.indexes() {
            self.gates.gate_mut(self.names.keys[at].gate).running = 0;
            self.drop_key_if_unused(at);
        }
        for at in self.names.kinds.indexes() {
            self.gates.gate_mut(self.names.kinds[at].gate).running = 0;
            self.drop_kind_if_unused(at);
        }
        self.forgot = false;
    }

    fn make_room(&mut self) -> bool {
        if self.lines.len() < limits::LINES_IN_MEMORY {
            return true;
        }
        for _ in 0..TRIES {
            let Some(at) = self.lines.next_to_leave() else { return false };
            if self.may_leave(at) {
                self.forgot |= !self.lines[at].dry;
                self.evict(at);
                return true;
            }
        }
        false
    }

    fn may_leave(&self, at: u32) -> bool {
        let line = &self.lines[at];
        if line.out > 0 || line.reading.is_some() {
            return false;
        }
        let pool = self.rings.pool(self.rings.pool_of(line.group));
        let waits_for_its_turn = matches!(line.place, Place::Idle | Place::Ring) && !line.dry;
        !waits_for_its_turn || line.served || self.now.since(pool.served_at) >= limits::SESSION
    }

    fn enter(&mut self, id: LineId, key: &LineKey) -> u32 {
        let kind = self.kind_named(&key.kind);
        let owner = self.owner_named(&key.owner);
        let limit_key = key.limit_key.as_ref().map_or(NONE, |name| self.key_named(kind, name));
        let batch = key.batch.map_or(NONE, |batch| self.batch_numbered(batch));
        let mut passage = [NONE; 4];
        passage[KIND] = self.names.kinds[kind].gate;
        passage[OWNER] = self.names.owners[owner].gate;
        self.names.kinds.hold(kind);
        self.names.owners.hold(owner);
        if limit_key != NONE {
            self.names.keys.hold(limit_key);
            passage[KEY] = self.names.keys[limit_key].gate;
        }
        if batch != NONE {
            self.names.batches.hold(batch);
            passage[BATCH] = self.names.batches[batch];
        }
        let level = key.priority.level();
        let (pool, weight) = (self.names.kinds[kind].pool, self.names.owners[owner].weight);
        let group = self.rings.reserve(owner, pool, weight, level, batch);
        self.lines.insert(Line {
            id,
            kind,
            owner,
            batch,
            key: limit_key,
            level,
            passage,
            clusters: [NONE; 4],
            let_out_of: NONE,
            had_turn: false,
            group,
            place: Place::Idle,
            window: std::collections::VecDeque::new(),
            cursor: None,
            more: false,
            changed: Changed::No,
            reading: None,
            late: Vec::new(),
            allowance: FIRST_READ,
            out: 0,
            served: false,
            queue: Queue::None,
            dry: false,
        })
    }

    fn evict(&mut self, at: u32) {
        self.displace(at);
        let Some(line) = self.lines.remove(at) else { return };
        self.rings.vacate(line.group);
        line.clusters.iter().filter(|&&at| at != NONE).for_each(|&at| self.gates.crowds.release(at));
        if line.key != NONE {
            self.names.keys.release(line.key);
            self.drop_key_if_unused(line.key);
        }
        if line.batch != NONE {
            self.names.batches.release(line.batch);
            self.drop_batch_if_unused(line.batch);
        }
        self.names.owners.release(line.owner);
        self.drop_owner_if_unused(line.owner);
        self.names.kinds.release(line.kind);
        self.drop_kind_if_unused(line.kind);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::model::{World, keyed, line, name, of_kind, plain};
    use super::super::{KindRules, Target};
    use super::*;
    use crate::ids::BatchId;
    use crate::rate::Rate;

    #[test]
    fn a_hundred_thousand_lines_are_visited_in_rotation() {
        let mut world = World::new();
        let keys: Vec<LineKey> = (0..100_000).map(|owner| line(format!("o{owner}"))).collect();
        for key in &keys {
            world.submit_unread(key, 2);
        }
        let mut turns: BTreeSet<LineId> = BTreeSet::new();
        for _ in 0..100 {
            world.feed();
            world.planner.check();
            assert!(world.planner.windows() <= limits::WINDOW_TOTAL);
            assert!(world.planner.names.owners.len() <= limits::LINES_IN_MEMORY);
            for ticket in world.tickets(20_000) {
                turns.insert(ticket.line);
                world.start(&ticket);
            }
            // The engine goes through the lines of the store again.
            for key in &keys {
                if !world.ready[&key.id()].is_empty() {
                    world.planner.announce(key.id(), key);
                }
            }
            if turns.len() == keys.len() && world.planner.windows() == 0 {
                break;
            }
        }
        assert_eq!(turns.len(), keys.len());
        assert!(world.ready.values().all(std::collections::BTreeMap::is_empty));
    }

    #[test]
    fn lines_that_cannot_start_make_room_for_those_that_can() {
        let mut world = World::new();
        world.planner.set_kind(&name("idle"), KindRules::new(name("nobody works here")));
        for owner in 0..limits::LINES_IN_MEMORY {
            let key = of_kind("idle", &format!("o{owner}"));
            assert!(world.planner.announce(key.id(), &key));
        }
        world.feed();
        assert!(!world.planner.needs_scan());
        world.submit(&line("a"), 1);
        assert_eq!(world.serve(9).len(), 1);
        assert!(!world.planner.needs_scan(), "lines without work left first");
    }

    #[test]
    fn a_line_that_waits_for_its_turn_is_not_sent_away() {
        let mut world = World::new();
        world.submit(&line("first"), 1);
        world.serve(1);
        for owner in 0..limits::LINES_IN_MEMORY {
            world.submit_unread(&line(format!("o{owner}")), 2);
        }
        world.feed();
        assert!(!world.planner.announce(line("late").id(), &line("late")), "refused: everybody waits");
        assert_eq!(world.serve(1_000).len(), 1_000);
        assert!(world.planner.announce(line("late").id(), &line("late")), "somebody had a turn");
        assert!(world.planner.knows(line("late").id()));
        assert!(world.planner.needs_scan() && !world.planner.needs_scan());
        world.planner.check();
    }

    #[test]
    fn names_that_nobody_uses_are_forgotten() {
        let mut world =
            World::with(KindRules { key_rate: Some(Rate::per_second(1)), key_cap: Some(9), ..plain() });
        world.planner.set_weight(&name("heavy"), 3);
        world.pause(&Target::Owner(name("paused")), true);
        world.pause(&Target::Batch(BatchId::from_u64(1)), true);
        for owner in 0..10 {
            let who = format!("o{owner}");
            let key = LineKey { batch: Some(BatchId::from_u64(owner)), ..keyed(&who, &who) };
            world.submit(&key, 1);
        }
        world.submit(&of_kind("unknown", "a"), 1);
        world.serve(20);
        world.planner.forget_all();
        let names = &world.planner.names;
        assert_eq!((names.owners.len(), names.batches.len(), names.kinds.len()), (2, 1, 2));
        assert_eq!(names.keys.len(), 9, "their buckets are not full again");
        world.pass(1_000);
        for _ in 0..9 {
            world.planner.plan(world.now, 0);
        }
        assert_eq!(world.planner.names.keys.len(), 0);
        world.planner.set_weight(&name("heavy"), 1);
        world.pause(&Target::Owner(name("paused")), false);
        world.pause(&Target::Batch(BatchId::from_u64(1)), false);
        world.planner.set_running(&name("work"), Some(&name("k")), 2);
        world.planner.set_running(&name("nothing"), Some(&name("k")), 1);
        let count = |world: &World| {
            let names = &world.planner.names;
            [names.owners.len(), names.batches.len(), names.kinds.len(), names.keys.len()]
        };
        assert_eq!(count(&world), [0, 0, 3, 2]);
        world.planner.set_running(&name("work"), Some(&name("k")), 0);
        world.planner.set_running(&name("nothing"), Some(&name("k")), 0);
        assert_eq!(count(&world), [0, 0, 2, 0]);
    }
}
