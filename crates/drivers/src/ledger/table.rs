//! A table of the working set: rows as they will be, with what is needed to undo one unit.

use std::hash::Hash;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as MapEntry;

use crate::store::StoreError;

/// A family of rows.
pub(crate) trait Space {
    /// What they are found by.
    type Key: Clone + Eq + Hash;
    /// What they hold.
    type Value: Clone;
}

/// Finds a row that the working set does not have yet.
pub(crate) trait Load<S: Space> {
    fn load(&mut self, key: &S::Key) -> Result<Option<S::Value>, StoreError>;
}

struct Entry<V> {
    value: Option<V>,
    /// Differs from what the backend has.
    dirty: bool,
    /// The backend has a row, whatever it says.
    stored: bool,
}

/// A row to be written.
pub(crate) enum Change<'a, S: Space> {
    /// It is new.
    Insert(&'a S::Key, &'a S::Value),
    /// It was there and says something else now.
    Update(&'a S::Key, &'a S::Value),
    /// It is gone.
    Delete(&'a S::Key),
}

/// Rows of one family.
pub(crate) struct Table<S: Space> {
    rows: HashMap<S::Key, Entry<S::Value>>,
    /// Keys that were looked at or changed since the last write, for tidying up.
    touched: Vec<S::Key>,
    /// Keys to be written, in the order of their first change.
    dirty: Vec<S::Key>,
    /// What the current unit replaced.
    undo: Vec<(S::Key, Option<S::Value>)>,
}

impl<S: Space> Default for Table<S> {
    fn default() -> Self {
        Table { rows: HashMap::new(), touched: Vec::new(), dirty: Vec::new(), undo: Vec::new() }
    }
}

impl<S: Space> Table<S> {
    /// The row with this key, from here or from the backend.
    pub(crate) fn get(
        &mut self,
        backend: &mut impl Load<S>,
        key: &S::Key,
    ) -> Result<Option<&S::Value>, StoreError> {
        match self.rows.entry(key.clone()) {
            MapEntry::Occupied(entry) => Ok(entry.into_mut().value.as_ref()),
            MapEntry::Vacant(vacant) => {
                let value = backend.load(key)?;
                self.touched.push(key.clone());
                let stored = value.is_some();
                Ok(vacant.insert(Entry { value, dirty: false, stored }).value.as_ref())
            }
        }
    }

    /// Takes over a row that was found, or that is not there, without being asked for. What is known stays.
    #[cfg(feature = "fleet")]
    pub(crate) fn found(&mut self, key: S::Key, value: Option<S::Value>) {
        if let MapEntry::Vacant(vacant) = self.rows.entry(key) {
            self.touched.push(vacant.key().clone());
            let stored = value.is_some();
            vacant.insert(Entry { value, dirty: false, stored });
        }
    }

    /// Sets or removes a row. One that was never looked at is taken as new.
    pub(crate) fn put(&mut self, key: S::Key, value: Option<S::Value>) {
        match self.rows.entry(key.clone()) {
            MapEntry::Occupied(mut entry) => {
                let entry = entry.get_mut();
                let before = std::mem::replace(&mut entry.value, value);
                if !entry.dirty {
                    entry.dirty = true;
                    self.dirty.push(key.clone());
                }
                self.undo.push((key, before));
            }
            MapEntry::Vacant(vacant) => {
                vacant.insert(Entry { value, dirty: true, stored: false });
                self.touched.push(key.clone());
                self.dirty.push(key.clone());
                self.undo.push((key, None));
            }
        }
    }

    /// A unit begins.
    pub(crate) fn begin_unit(&mut self) {
        self.undo.clear();
    }

    /// The unit did not happen. Rows that were already written keep their mark, so the old row is written back.
    pub(crate) fn undo_unit(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            if let Some(entry) = self.rows.get_mut(&key) {
                entry.value = before;
                if !entry.dirty {
                    entry.dirty = true;
                    self.dirty.push(key);
                }
            }
        }
    }

    /// Hands every changed row to `write`, once.
    pub(crate) fn flush(
        &mut self,
        mut write: impl FnMut(Change<'_, S>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for key in self.dirty.drain(..) {
            let Some(entry) = self.rows.get_mut(&key) else { continue };
            match (&entry.value, entry.stored) {
                (Some(value), false) => write(Change::Insert(&key, value))?,
                (Some(value), true) => write(Change::Update(&key, value))?,
                (None, true) => write(Change::Delete(&key))?,
                (None, false) => {}
            }
            entry.stored = entry.value.is_some();
            entry.dirty = false;
        }
        Ok(())
    }

    /// After a commit: forgets the rows touched since the last one that `keep` does not want, and all of
    /// them if there are more than `most`.
    pub(crate) fn tidy(&mut self, most: usize, keep: impl Fn(&S::Value) -> bool) {
        for key in self.touched.drain(..) {
            if let MapEntry::Occupied(entry) = self.rows.entry(key)
                && !entry.get().value.as_ref().is_some_and(&keep)
            {
                entry.remove();
            }
        }
        if self.rows.len() > most {
            self.rows.clear();
        }
    }

    /// Whether a row is known here, there or not, without asking the backend.
    pub(crate) fn knows(&self, key: &S::Key) -> bool {
        self.rows.contains_key(key)
    }

    /// Forgets a row that the backend removed by itself; every change was written before.
    pub(crate) fn drop_row(&mut self, key: &S::Key) {
        self.rows.remove(key);
    }

    /// The same for every row with such a key.
    pub(crate) fn drop_rows(&mut self, which: impl Fn(&S::Key) -> bool) {
        self.rows.retain(|key, _| !which(key));
    }

    /// A row as it is here, without asking the backend.
    pub(crate) fn fresh(&self, key: &S::Key) -> Option<&S::Value> {
        self.rows.get(key).and_then(|entry| entry.value.as_ref())
    }

    /// Forgets everything: what was not written is lost.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.touched.clear();
        self.dirty.clear();
        self.undo.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl Space for Numbers {
        type Key = u8;
        type Value = u32;
    }

    struct Ten;

    impl Load<Numbers> for Ten {
        fn load(&mut self, key: &u8) -> Result<Option<u32>, StoreError> {
            Ok((*key == 10).then_some(10))
        }
    }

    fn written(table: &mut Table<Numbers>) -> Vec<String> {
        let mut log = Vec::new();
        table
            .flush(|change| {
                log.push(match change {
                    Change::Insert(key, value) => format!("+{key}={value}"),
                    Change::Update(key, value) => format!("{key}={value}"),
                    Change::Delete(key) => format!("-{key}"),
                });
                Ok(())
            })
            .unwrap();
        log
    }

    #[test]
    fn each_changed_row_is_written_once() {
        let mut table = Table::<Numbers>::default();
        assert_eq!(table.get(&mut Ten, &10).unwrap(), Some(&10));
        table.put(10, Some(11));
        table.put(10, Some(12));
        table.put(3, Some(1));
        table.put(4, Some(1));
        table.put(4, None);
        assert_eq!(written(&mut table), ["10=12", "+3=1"]);
        assert_eq!(written(&mut table), [] as [&str; 0]);
    }

    #[test]
    fn undo_restores_even_what_was_written_already() {
        let mut table = Table::<Numbers>::default();
        table.get(&mut Ten, &10).unwrap();
        table.begin_unit();
        table.put(10, Some(11));
        table.put(5, Some(5));
        assert_eq!(written(&mut table), ["10=11", "+5=5"]);
        table.undo_unit();
        assert_eq!(written(&mut table), ["-5", "10=10"]);
    }

    #[test]
    fn only_the_last_unit_is_undone() {
        let mut table = Table::<Numbers>::default();
        table.begin_unit();
        table.put(1, Some(1));
        table.begin_unit();
        table.put(1, Some(2));
        table.undo_unit();
        assert_eq!(written(&mut table), ["+1=1"]);
    }
}
