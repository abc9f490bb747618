//! What the engine tells the planner: the rules of kinds, weights, pauses, what runs, how much room there is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::BatchId;
use crate::limits;
use crate::name::Name;
use crate::rate::Rate;

use super::fair::{NO_POOL, Why};
use super::gates::Gate;
use super::intern::Intern;
use super::lines::Place;
use super::planner::Planner;

/// How the jobs of a kind may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindRules {
    /// The pool of slots that the kind shares with others.
    pub pool: Name,
    /// Most that run at once.
    pub cap: Option<u32>,
    /// Most that run at once for each limit key.
    pub key_cap: Option<u32>,
    /// How fast they may start.
    pub rate: Option<Rate>,
    /// How fast they may start for each limit key.
    pub key_rate: Option<Rate>,
}

impl KindRules {
    /// Only a pool: no caps, no rates.
    pub fn new(pool: Name) -> Self {
        KindRules { pool, cap: None, key_cap: None, rate: None, key_rate: None }
    }
}

/// What can be paused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// All jobs of a kind.
    Kind(Name),
    /// All jobs of an owner.
    Owner(Name),
    /// All jobs of a batch.
    Batch(BatchId),
    /// Whatever a node would begin: it is drained.
    Node(Name),
}

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) gate: u32,
    pub(super) pool: u32,
    rules: Option<KindRules>,
    /// Paused by somebody; a kind without rules is closed as well.
    paused: bool,
}

#[derive(Debug)]
pub(super) struct Owner {
    pub(super) gate: u32,
    pub(super) weight: u32,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) gate: u32,
    /// Kept only until its bucket is full.
    cooling: bool,
}

/// Everything that has a name, with its number, and what is set for it.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Held by lines and by keys.
    pub(super) kinds: Intern<Name, Kind>,
    pub(super) owners: Intern<Name, Owner>,
    /// The limit keys of each kind.
    pub(super) keys: Intern<(u32, Name), Key>,
    /// The gates of batches.
    pub(super) batches: Intern<BatchId, u32>,
}

impl Planner {
    /// Sets or changes the rules of a kind. Before this, none of its jobs is started. When it gets a cap,
    /// [`Planner::set_running`] should tell what runs already.
    pub fn set_kind(&mut self, kind: &Name, rules: KindRules) {
        let at = self.kind_named(kind);
        if self.names.kinds[at].rules.as_ref() == Some(&rules) {
            return;
        }
        let pool = self.rings.pool_named(&rules.pool);
        let moved = self.names.kinds[at].pool != pool;
        let entry = &mut self.names.kinds[at];
        entry.pool = pool;
        let gate_at = entry.gate;
        let gate = self.gates.gate_mut(gate_at);
        gate.paused = entry.paused;
        gate.cap = rules.cap;
        gate.set_rate(rules.rate, self.now);
        entry.rules = Some(rules);
        if moved {
            self.move_lines(at, pool);
        }
        let keys: Vec<u32> =
            self.names.keys.indexes().filter(|&key| self.names.keys.key(key).0 == at).collect();
        for key in keys {
            self.set_key_rules(key);
            self.disperse(self.names.keys[key].gate);
        }
        self.disperse(gate_at);
    }

    /// How many turns an owner has when others have one: 1 unless set, at most [`limits::WEIGHT`].
    pub fn set_weight(&mut self, owner: &Name, weight: u32) {
        let at = self.owner_named(owner);
        let weight = weight.clamp(1, limits::WEIGHT);
        self.names.owners[at].weight = weight;
        self.rings.set_weight(at, weight);
        self.drop_owner_if_unused(at);
    }

    /// Pauses or resumes a kind, an owner or a batch. What has a ticket out already is not called back. A node that is
    /// drained says itself that it has no free slot.
    pub fn set_paused(&mut self, target: &Target, paused: bool) {
        match target {
            Target::Kind(name) => {
                let at = self.kind_named(name);
                let kind = &mut self.names.kinds[at];
                kind.paused = paused;
                let closed = paused || kind.rules.is_none();
                self.close_or_open(self.names.kinds[at].gate, closed);
                self.drop_kind_if_unused(at);
            }
            Target::Owner(name) => {
                let at = self.owner_named(name);
                self.close_or_open(self.names.owners[at].gate, paused);
                self.drop_owner_if_unused(at);
            }
            Target::Batch(id) => {
                let at = self.batch_numbered(*id);
                self.close_or_open(self.names.batches[at], paused);
                self.drop_batch_if_unused(at);
            }
            Target::Node(_) => {}
        }
    }

    fn close_or_open(&mut self, gate: u32, paused: bool) {
        self.gates.gate_mut(gate).paused = paused;
        if !paused {
            self.disperse(gate);
        }
    }

    /// How many more tickets may be out for this pool now; planning counts it down.
    pub fn set_free(&mut self, pool: &Name, free: u32) {
        let pool = self.rings.pool_named(pool);
        self.rings.pool_mut(pool).free = free;
    }

    /// How many jobs of a kind, or of one limit key of it, run according to the store.
    pub fn set_running(&mut self, kind: &Name, limit_key: Option<&Name>, running: u32) {
        let kind = self.kind_named(kind);
        let key = limit_key.map(|key| self.key_named(kind, key));
        let gate = key.map_or(self.names.kinds[kind].gate, |key| self.names.keys[key].gate);
        self.gates.gate_mut(gate).running = running;
        self.reopen(gate);
        key.into_iter().for_each(|key| self.drop_key_if_unused(key));
        self.drop_kind_if_unused(kind);
    }

    /// All that runs according to the store: what is not named does not run. This mends what the planner
    /// missed when it was not told that a run ended.
    pub fn set_all_running<'a>(
        &mut self,
        running: impl IntoIterator<Item = (&'a Name, Option<&'a Name>, u32)>,
    ) {
        let mut named = BTreeSet::new();
        for (kind, key, count) in running {
            let Some(at) = self.names.kinds.find(kind) else { continue };
            let rules = self.names.kinds[at].rules.as_ref();
            // Only what has a cap is counted.
            if rules.is_some_and(|rules| key.map_or(rules.cap, |_| rules.key_cap).is_some()) {
                self.set_running(kind, key, count);
                named.insert((at, key.cloned()));
            }
        }
        let runs = |gate: u32| self.gates.gate(gate).running > 0;
        let kinds = self.names.kinds.indexes().filter(|&at| runs(self.names.kinds[at].gate));
        let keys = self.names.keys.indexes().filter(|&at| runs(self.names.keys[at].gate));
        let key = |at: u32| {
            let (kind, key) = self.names.keys.key(at);
            (*kind, Some(key.clone()))
        };
        let all = kinds.map(|at| (at, None)).chain(keys.map(key));
        let idle: Vec<(u32, Option<Name>)> = all.filter(|gate| !named.contains(gate)).collect();
        for (kind, key) in idle {
            let kind = self.names.kinds.key(kind).clone();
            self.set_running(&kind, key.as_ref(), 0);
        }
    }

    pub(super) fn kind_named(&mut self, name: &Name) -> u32 {
        let make =
            || Kind { gate: self.gates.add(Gate::closed_kind()), pool: NO_POOL, rules: None, paused: false };
        self.names.kinds.find_or(name, make)
    }

    pub(super) fn owner_named(&mut self, name: &Name) -> u32 {
        self.names.owners.find_or(name, || Owner { gate: self.gates.add(Gate::default()), weight: 1 })
    }

    pub(super) fn batch_numbered(&mut self, id: BatchId) -> u32 {
        self.names.batches.find_or(&id, || self.gates.add(Gate::default()))
    }

    pub(super) fn key_named(&mut self, kind: u32, name: &Name) -> u32 {
        let key = (kind, name.clone());
        if let Some(at) = self.names.keys.find(&key) {
            return at;
        }
        self.names.kinds.hold(kind);
        let at =
            self.names.keys.find_or(&key, || Key { gate: self.gates.add(Gate::default()), cooling: false });
        self.set_key_rules(at);
        at
    }

    fn set_key_rules(&mut self, key: u32) {
        let rules = self.names.kinds[self.names.keys.key(key).0].rules.as_ref();
        let gate = self.gates.gate_mut(self.names.keys[key].gate);
        gate.cap = rules.and_then(|rules| rules.key_cap);
        gate.set_rate(rules.and_then(|rules| rules.key_rate), self.now);
    }

    /// The lines of a kind change over to another pool.
    fn move_lines(&mut self, kind: u32, pool: u32) {
        for at in self.lines.indexes() {
            let line = &mut self.lines[at];
            if line.kind != kind {
                continue;
            }
            let (owner, old) = (line.owner, line.group);
            let weight = self.names.owners[owner].weight;
            let group = self.rings.reserve(owner, pool, weight, line.level, line.batch);
            line.group = group;
            if line.place == Place::Ring {
                self.rings.leave(old, at, Why::NoJob);
                self.rings.join(group, at);
            }
            self.rings.vacate(old);
        }
    }

    pub(super) fn drop_kind_if_unused(&mut self, at: u32) {
        if !self.names.kinds.is_unused(at) {
            return;
        }
        let kind = &self.names.kinds[at];
        if kind.rules.is_none() && !kind.paused && self.gates.gate(kind.gate).running == 0 {
            self.gates.remove(kind.gate);
            self.names.kinds.remove(at);
        }
    }

    pub(super) fn drop_owner_if_unused(&mut self, at: u32) {
        if !self.names.owners.is_unused(at) {
            return;
        }
        let owner = &self.names.owners[at];
        if owner.weight == 1 && !self.gates.gate(owner.gate).paused {
            self.gates.remove(owner.gate);
            self.names.owners.remove(at);
        }
    }

    pub(super) fn drop_batch_if_unused(&mut self, at: u32) {
        if self.names.batches.is_unused(at) && !self.gates.gate(self.names.batches[at]).paused {
            self.gates.remove(self.names.batches[at]);
            self.names.batches.remove(at);
        }
    }

    /// A key whose bucket is not full again is kept for a while, so that its rate is not forgotten.
    pub(super) fn drop_key_if_unused(&mut self, at: u32) {
        if !self.names.keys.is_unused(at) {
            return;
        }
        let key = &mut self.names.keys[at];
        let gate = self.gates.gate(key.gate);
        if gate.is_fresh(self.now) {
            return self.drop_key(at);
        }
        if gate.running == 0 && !std::mem::replace(&mut key.cooling, true) {
            self.cooling.push_back(at);
        }
        if self.cooling.len() > limits::LINES_IN_MEMORY
            && let Some(oldest) = self.cooling.pop_front()
        {
            self.drop_key(oldest);
        }
    }

    /// Looks at one of the keys that are kept for their buckets.
    pub(super) fn cool(&mut self) {
        if let Some(at) = self.cooling.pop_front() {
            self.names.keys[at].cooling = false;
            self.drop_key_if_unused(at);
        }
    }

    fn drop_key(&mut self, at: u32) {
        if !self.names.keys.is_unused(at) {
            return;
        }
        let (kind, _) = *self.names.keys.key(at);
        if let Some(key) = self.names.keys.remove(at) {
            if key.cooling {
                self.cooling.retain(|&other| other != at);
            }
            self.gates.remove(key.gate);
            self.names.kinds.release(kind);
            self.drop_kind_if_unused(kind);
        }
    }
}
