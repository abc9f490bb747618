//! What never changes is asked for once: lines and the names of lanes. As many are remembered as fit.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use turnwise_core::ids::{LaneId, LineId};
use turnwise_core::limits;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_drivers::store::{Found, Read};

use crate::Error;
use crate::engine::{Engine, odd_answer};

/// What this process has met.
#[derive(Default)]
pub(crate) struct Known {
    lines: Memory<LineId, Arc<LineKey>>,
    lanes: Memory<LaneId, Name>,
}

/// Remembers as many as fit; then it begins anew.
struct Memory<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Memory(Mutex::new(HashMap::new()))
    }
}

impl<K: Copy + Ord + Hash, V: Clone> Memory<K, V> {
    /// Those that are remembered, and the others.
    fn recall(&self, keys: &[K]) -> (BTreeMap<K, V>, Vec<K>) {
        let known = self.lock();
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for key in keys {
            match known.get(key) {
                Some(value) => drop(found.insert(*key, value.clone())),
                None => missing.push(*key),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        (found, missing)
    }

    fn remember(&self, fresh: &[(K, V)]) {
        let mut known = self.lock();
        if known.len() + fresh.len() > limits::NAMES_KNOWN {
            known.clear();
        }
        known.extend(fresh.iter().cloned());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// What the jobs of lines have in common: kind, owner, batch. Unknown ones are left out. For the lines in events.
    pub async fn lines(&self, lines: &[LineId]) -> Result<BTreeMap<LineId, Arc<LineKey>>, Error> {
        let memory = &self.inner.known.lines;
        let (mut keys, missing) = memory.recall(lines);
        for part in missing.chunks(limits::PAGE_ROWS) {
            let Found::Lines(fresh) = self.inner.read(Read::Lines(part.to_vec())).await? else {
                return Err(odd_answer());
            };
            memory.remember(&fresh);
            keys.extend(fresh);
        }
        Ok(keys)
    }

    /// The names of lanes; unknown ones are left out. For the lanes in the rows of [`Engine::jobs`].
    pub async fn lane_names(&self, lanes: &[LaneId]) -> Result<BTreeMap<LaneId, Name>, Error> {
        let memory = &self.inner.known.lanes;
        let (mut names, missing) = memory.recall(lanes);
        for part in missing.chunks(limits::PAGE_ROWS) {
            let Found::LaneNames(fresh) = self.inner.read(Read::LaneNames(part.to_vec())).await? else {
                return Err(odd_answer());
            };
            memory.remember(&fresh);
            names.extend(fresh);
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let memory = Memory::<u64, u64>::default();
        for first in (0..100_000_u64).step_by(1_000) {
            let fresh: Vec<(u64, u64)> = (first..first + 1_000).map(|n| (n, n * 2)).collect();
            memory.remember(&fresh);
            assert!(memory.lock().len() <= limits::NAMES_KNOWN);
            let (found, missing) = memory.recall(&[first, first + 999, first, u64::MAX, u64::MAX]);
            assert_eq!(found, BTreeMap::from([(first, first * 2), (first + 999, (first + 999) * 2)]));
            assert_eq!(missing, [u64::MAX], "each is asked for once");
        }
    }
}
