//! Records in memory, and a file that only grows: every change is a line in it, on the disk before it is answered.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

use crate::json::{self, Value};
use crate::schema::{Entity, Kind, ENTITIES};

/// Why a change was refused.
pub enum Refused {
    /// What was given does not fit.
    Bad(String),
    /// There is no such record.
    Missing,
    /// It does not go together with another record.
    Conflict(String),
    /// The file could not be written.
    Broken(String),
}

/// The records of one entity.
#[derive(Default)]
struct Table {
    rows: BTreeMap<u64, Value>,
    last: u64,
}

/// All records.
pub struct Store {
    tables: BTreeMap<&'static str, Table>,
    log: Option<File>,
}

impl Store {
    /// Opens the file and reads it again. A line that was cut by a crash is dropped: nobody was told that it is there.
    pub fn open(path: Option<&str>) -> std::io::Result<Store> {
        let mut store =
            Store { tables: ENTITIES.iter().map(|entity| (entity.name, Table::default())).collect(), log: None };
        let Some(path) = path else { return Ok(store) };
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let value = std::str::from_utf8(line).ok().and_then(json::parse);
            let known = value.as_ref().and_then(|value| store.replay(value));
            if known.is_none() {
                return Err(std::io::Error::other(format!("{path} has a line that cannot be read")));
            }
        }
        file.set_len(whole as u64)?;
        store.log = Some(file);
        Ok(store)
    }

    fn replay(&mut self, line: &Value) -> Option<()> {
        let Value::Text(name) = line.get("entity")? else { return None };
        let id = u64::try_from(line.get("id")?.whole()?).ok()?;
        // What is left of an entity that the service does not have any more is passed over.
        let Some(table) = self.tables.get_mut(name.as_str()) else { return Some(()) };
        table.last = table.last.max(id);
        match line.get("record")? {
            Value::Null => drop(table.rows.remove(&id)),
            record => drop(table.rows.insert(id, record.clone())),
        }
        Some(())
    }

    /// One record, with its id.
    pub fn get(&self, entity: &Entity, id: u64) -> Result<Value, Refused> {
        let record = self.tables.get(entity.name).and_then(|table| table.rows.get(&id));
        record.map(|record| shown(id, record)).ok_or(Refused::Missing)
    }

    /// Records after an id that have these values, and where to go on.
    pub fn list(
        &self,
        entity: &Entity,
        after: u64,
        limit: usize,
        values: &[(String, Value)],
    ) -> (Vec<Value>, Option<u64>) {
        let fits = |record: &Value| values.iter().all(|(name, value)| record.get(name) == Some(value));
        let mut found = Vec::new();
        let mut last = 0;
        let rows = self.tables.get(entity.name).map(|table| table.rows.range(after.saturating_add(1)..));
        for (id, record) in rows.into_iter().flatten().filter(|(_, record)| fits(record)) {
            if found.len() == limit {
                return (found, Some(last));
            }
            found.push(shown(*id, record));
            last = *id;
        }
        (found, None)
    }

    /// A new record; its id.
    pub fn create(&mut self, entity: &Entity, given: &Value) -> Result<u64, Refused> {
        let record = self.checked(entity, given, None)?;
        let id = self.tables.get(entity.name).map_or(0, |table| table.last) + 1;
        self.put(entity, id, record)?;
        Ok(id)
    }

    /// Another content for a record.
    pub fn replace(&mut self, entity: &Entity, id: u64, given: &Value) -> Result<(), Refused> {
        self.get(entity, id)?;
        let record = self.checked(entity, given, Some(id))?;
        self.put(entity, id, record)
    }

    /// Other values for some fields of a record.
    pub fn set(&mut self, entity: &Entity, id: u64, values: &[(String, Value)]) -> Result<(), Refused> {
        let Value::Object(mut fields) = self.get(entity, id)? else { return Err(Refused::Missing) };
        fields.retain(|(name, _)| name != "id" && values.iter().all(|(other, _)| other != name));
        fields.extend(values.iter().cloned());
        self.replace(entity, id, &Value::Object(fields))
    }

    /// A record goes, unless another refers to it.
    pub fn remove(&mut self, entity: &Entity, id: u64) -> Result<(), Refused> {
        self.get(entity, id)?;
        for other in ENTITIES {
            for field in other.fields.iter().filter(|field| field.to == entity.name) {
                let refers = |record: &Value| record.get(field.name) == Some(&Value::of(id));
                if self.tables.get(other.name).is_some_and(|table| table.rows.values().any(refers)) {
                    let name = other.name;
                    return Err(Refused::Conflict(format!("a record of {name} refers to it: remove that first")));
                }
            }
        }
        self.put(entity, id, Value::Null)
    }

    /// Writes a line, and then changes what is in memory.
    fn put(&mut self, entity: &Entity, id: u64, record: Value) -> Result<(), Refused> {
        let line = Value::Object(vec![
            ("entity".into(), Value::Text(entity.name.into())),
            ("id".into(), Value::of(id)),
            ("record".into(), record),
        ]);
        if let Some(log) = &mut self.log {
            let begin = log.metadata().map_err(|error| Refused::Broken(error.to_string()))?.len();
            let written = log.write_all(format!("{line}\n").as_bytes()).and_then(|()| log.sync_data());
            if let Err(error) = written {
                // Half a line would make the next one unreadable.
                let _ = log.set_len(begin);
                return Err(Refused::Broken(error.to_string()));
            }
        }
        self.replay(&line);
        Ok(())
    }

    /// A record as it is kept, if what was given fits.
    fn checked(&self, entity: &Entity, given: &Value, own: Option<u64>) -> Result<Value, Refused> {
        let Value::Object(fields) = given else { return Err(Refused::Bad("the body must be an object".into())) };
        if let Some((name, _)) = fields.iter().find(|(name, _)| entity.fields.iter().all(|known| known.name != name)) {
            return Err(Refused::Bad(format!("{name}: there is no such field")));
        }
        let mut record = Vec::new();
        for field in entity.fields {
            let value = given.get(field.name).filter(|value| **value != Value::Null);
            let Some(value) = value else {
                if field.required {
                    return Err(Refused::Bad(format!("{}: is missing", field.name)));
                }
                continue;
            };
            let fits = match (field.kind, value) {
                (Kind::Text, Value::Text(text)) => text.chars().count() <= field.max_length,
                (Kind::Integer, value) => value.whole().is_some(),
                (Kind::Number, Value::Number(_)) | (Kind::Boolean, Value::Bool(_)) => true,
                (Kind::Reference, value) => self.is_there(field.to, value),
                _ => false,
            };
            if !fits {
                return Err(Refused::Bad(format!("{}: must be {}", field.name, field.kind.word())));
            }
            if field.unique && self.is_taken(entity, field.name, value, own) {
                return Err(Refused::Conflict(format!("{}: another record has this value", field.name)));
            }
            record.push((field.name.to_owned(), value.clone()));
        }
        Ok(Value::Object(record))
    }

    fn is_there(&self, entity: &str, id: &Value) -> bool {
        let id = id.whole().and_then(|id| u64::try_from(id).ok());
        id.is_some_and(|id| self.tables.get(entity).is_some_and(|table| table.rows.contains_key(&id)))
    }

    fn is_taken(&self, entity: &Entity, field: &str, value: &Value, own: Option<u64>) -> bool {
        let rows = self.tables.get(entity.name).map(|table| table.rows.iter());
        rows.into_iter().flatten().any(|(id, record)| Some(*id) != own && record.get(field) == Some(value))
    }
}

fn shown(id: u64, record: &Value) -> Value {
    let mut fields = vec![("id".to_owned(), Value::of(id))];
    if let Value::Object(known) = record {
        fields.extend(known.iter().cloned());
    }
    Value::Object(fields)
}
