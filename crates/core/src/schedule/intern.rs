//! Names become small numbers when they are first seen, and are forgotten when nothing uses them any more.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

/// Things with small numbers that are used again after a thing has left.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = Some(item);
            return at;
        }
        self.items.push(Some(item));
        self.items.len() as u32 - 1
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<T> {
        let item = self.items[at as usize].take();
        if item.is_some() {
            self.free.push(at);
        }
        item
    }

    pub(super) fn get(&self, at: u32) -> Option<&T> {
        self.items.get(at as usize)?.as_ref()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// The numbers in use.
    pub(super) fn indexes(&self) -> impl Iterator<Item = u32> + use<T> {
        let used: Vec<u32> =
            (0_u32..).zip(&self.items).filter(|(_, item)| item.is_some()).map(|(at, _)| at).collect();
        used.into_iter()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        self.items[at as usize].as_ref().expect("a number that is in use")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.items[at as usize].as_mut().expect("a number that is in use")
    }
}

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    uses: u32,
    value: V,
}

/// Keys with numbers, a value for each, and how many use it.
#[derive(Debug)]
pub(super) struct Intern<K, V> {
    by_key: BTreeMap<K, u32>,
    entries: Slab<Entry<K, V>>,
}

impl<K, V> Default for Intern<K, V> {
    fn default() -> Self {
        Intern { by_key: BTreeMap::new(), entries: Slab::default() }
    }
}

impl<K: Ord + Clone, V> Intern<K, V> {
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// The key's number; a new key starts unused.
    pub(super) fn find_or(&mut self, key: &K, make: impl FnOnce() -> V) -> u32 {
        if let Some(at) = self.find(key) {
            return at;
        }
        let at = self.entries.insert(Entry { key: key.clone(), uses: 0, value: make() });
        self.by_key.insert(key.clone(), at);
        at
    }

    pub(super) fn key(&self, at: u32) -> &K {
        &self.entries[at].key
    }

    pub(super) fn hold(&mut self, at: u32) {
        self.entries[at].uses += 1;
    }

    pub(super) fn release(&mut self, at: u32) {
        self.entries[at].uses -= 1;
    }

    /// Whether the number is in use by nobody (a number that was never given out counts as used).
    pub(super) fn is_unused(&self, at: u32) -> bool {
        self.entries.get(at).is_some_and(|entry| entry.uses == 0)
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<V> {
        let entry = self.entries.remove(at)?;
        self.by_key.remove(&entry.key);
        Some(entry.value)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The numbers in use.
    pub(super) fn indexes(&self) -> impl Iterator<Item = u32> + use<K, V> {
        self.entries.indexes()
    }
}

impl<K, V> Index<u32> for Intern<K, V> {
    type Output = V;

    fn index(&self, at: u32) -> &V {
        &self.entries[at].value
    }
}

impl<K, V> IndexMut<u32> for Intern<K, V> {
    fn index_mut(&mut self, at: u32) -> &mut V {
        &mut self.entries[at].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_when_nobody_uses_the_key() {
        let mut names: Intern<&str, u8> = Intern::default();
        let a = names.find_or(&"a", || 1);
        let b = names.find_or(&"b", || 2);
        assert_eq!(names.find_or(&"a", || 9), a);
        names.hold(a);
        assert!(!names.is_unused(a) && names.is_unused(b) && !names.is_unused(77));
        assert_eq!(names.remove(b), Some(2));
        assert_eq!(names.remove(b), None);
        assert_eq!(names.find(&"b"), None);
        assert_eq!(names.find_or(&"c", || 3), b);
        assert_eq!((names.key(b), names[b], names.len()), (&"c", 3, 2));
        names.release(a);
        assert!(names.is_unused(a));
        assert_eq!(names.indexes().collect::<Vec<_>>(), [a, b]);
    }
}
