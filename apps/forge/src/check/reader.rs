//! Reading JSON with the place of everything at hand, so that what is wrong is said together with where.

use serde_json::{Map, Value};

/// What is wrong with a request, and where: `entities[1].fields[0].type: …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Wrong {
    /// Where.
    pub place: String,
    /// What, and what to do about it.
    pub what: String,
}

/// A value and its place.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pub(super) place: String,
}

/// An object of which every key is asked for; one that nobody asks for is refused.
pub(super) struct Fields<'a> {
    fields: &'a Map<String, Value>,
    place: String,
    asked: Vec<&'static str>,
}

impl<'a> At<'a> {
    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { place: self.place.clone(), what: what.into() })
    }

    fn found(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, Wrong> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => self.wrong(format!("must be a text, and is {}", self.found())),
        }
    }

    pub(super) fn switch(&self) -> Result<bool, Wrong> {
        match self.value {
            Value::Bool(switch) => Ok(*switch),
            _ => self.wrong(format!("must be true or false, and is {}", self.found())),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(&self, least: i64, most: i64) -> Result<i64, Wrong> {
        let Value::Number(number) = self.value else {
            return self.wrong(format!("must be a whole number, and is {}", self.found()));
        };
        match number.as_i64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(number),
            None => self.wrong(format!("is {number}: use a whole number from {least} to {most}")),
        }
    }

    pub(super) fn list(&self, most: usize) -> Result<Vec<At<'a>>, Wrong> {
        let Value::Array(list) = self.value else {
            return self.wrong(format!("must be a list, and is {}", self.found()));
        };
        if list.len() > most {
            return self.wrong(format!("has {} entries: at most {most} are allowed", list.len()));
        }
        let place = |at| format!("{}[{at}]", self.place);
        Ok(list.iter().enumerate().map(|(at, value)| At { value, place: place(at) }).collect())
    }

    pub(super) fn object(&self) -> Result<&'a Map<String, Value>, Wrong> {
        match self.value {
            Value::Object(fields) => Ok(fields),
            _ => self.wrong(format!("must be an object, and is {}", self.found())),
        }
    }

    pub(super) fn fields(&self) -> Result<Fields<'a>, Wrong> {
        Ok(Fields { fields: self.object()?, place: self.place.clone(), asked: Vec::new() })
    }
}

impl<'a> Fields<'a> {
    /// A field that may be missing; `null` counts as missing.
    pub(super) fn maybe(&mut self, name: &'static str) -> Option<At<'a>> {
        self.asked.push(name);
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        Some(At { value, place: below(&self.place, name) })
    }

    /// A field that must be there.
    pub(super) fn must(&mut self, name: &'static str) -> Result<At<'a>, Wrong> {
        let missing =
            Wrong { place: below(&self.place, name), what: "is missing: every request has it".into() };
        self.maybe(name).ok_or(missing)
    }

    /// Refuses a key that nobody asked for.
    pub(super) fn end(self) -> Result<(), Wrong> {
        match self.fields.keys().find(|key| !self.asked.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let known = self.asked.join(", ");
                Err(Wrong {
                    place: below(&self.place, &shown(key)),
                    what: format!("is not known: use {known}"),
                })
            }
        }
    }
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// A text of somebody else as it may stand in an error: short, and without what a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
