//! Reading fields of the file: each knows its place, and a wrong one becomes a fault instead of an end.

use std::ops::RangeInclusive;

use super::decimal::Decimal;
use super::faults::Faults;
use super::key;
use super::node::{Node, shown_text};
use crate::limits::{DECIMAL, NAME_CHARS};

/// Up to here every whole number is a floating-point number of its own: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Characters that nobody sees: a name of them alone looks empty.
const ZERO_WIDTH: [char; 5] = ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];
/// Characters with which a name could rearrange the text around it.
const TURNING: [RangeInclusive<char>; 2] = ['\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Field<'n> {
    pub(super) node: &'n Node,
    pub(crate) place: String,
}

/// An object whose keys have been checked against those that are known here.
#[derive(Debug)]
pub(super) struct Object<'n> {
    entries: &'n [(String, Node)],
    pub(super) place: String,
}

impl<'n> Field<'n> {
    pub(super) fn new(node: &'n Node, place: impl Into<String>) -> Field<'n> {
        Field { node, place: place.into() }
    }

    /// An object with no other keys than these, and none of them twice.
    pub(super) fn object(&self, known: &[&str], faults: &mut Faults) -> Option<Object<'n>> {
        let entries = self.entries(faults)?;
        let mut seen = vec![false; known.len()];
        for (key, _) in entries {
            match known.iter().position(|known| known == key) {
                None => {
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    faults.add(inside(&self.place, key), format!("unknown key; known here: {known}"));
                }
                Some(index) if seen[index] => {
                    faults.add(inside(&self.place, key), "is given twice; keep one of them");
                }
                Some(index) => seen[index] = true,
            }
        }
        Some(Object { entries, place: self.place.clone() })
    }

    /// The entries of an object, whatever their keys are.
    pub(super) fn entries(&self, faults: &mut Faults) -> Option<&'n [(String, Node)]> {
        match self.node {
            Node::Object(entries) => Some(entries),
            other => wrong(faults, &self.place, other, "an object"),
        }
    }

    /// A list with so many items.
    pub(super) fn items(&self, sizes: RangeInclusive<usize>, faults: &mut Faults) -> Option<Vec<Field<'n>>> {
        let Node::List(items) = self.node else { return wrong(faults, &self.place, self.node, "a list") };
        if !sizes.contains(&items.len()) {
            let (least, most, there) = (sizes.start(), sizes.end(), items.len());
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            faults.add(&self.place, format!("has {there} items, must have {wanted}"));
            return None;
        }
        let place = |index| format!("{}[{index}]", self.place);
        Some(items.iter().enumerate().map(|(index, item)| Field::new(item, place(index))).collect())
    }

    /// A whole number in this range.
    pub(super) fn whole(&self, range: RangeInclusive<u64>, faults: &mut Faults) -> Option<u64> {
        let value = match self.node {
            Node::Whole(value) => *value,
            // Other programs write whole numbers so.
            Node::Real(value) if value.fract() == 0.0 && value.abs() <= EXACT => *value as i128,
            other => return wrong(faults, &self.place, other, "a whole number"),
        };
        let within = u64::try_from(value).ok().filter(|value| range.contains(value));
        if within.is_none() {
            faults.add(&self.place, format!("{value} is not within {} to {}", range.start(), range.end()));
        }
        within
    }

    /// A decimal number above zero, or from zero if that is allowed.
    pub(super) fn decimal(&self, least: Decimal, faults: &mut Faults) -> Option<Decimal> {
        let text = match self.node {
            Node::Whole(value) => value.to_string(),
            Node::Real(value) => value.to_string(),
            Node::Text(text) => text.clone(),
            other => return wrong(faults, &self.place, other, "a decimal number"),
        };
        let Some(value) = Decimal::parse(&text) else {
            let shown = self.node.shown();
            let advice = "is not a decimal number from 0 with at most six places, such as \"0.85\"";
            faults.add(&self.place, format!("{shown} {advice}"));
            return None;
        };
        if value < least || value > Decimal(DECIMAL * super::decimal::MILLION) {
            faults.add(&self.place, format!("{value} is not within {least} to {DECIMAL}"));
            return None;
        }
        Some(value)
    }

    pub(super) fn text(&self, faults: &mut Faults) -> Option<&'n str> {
        match self.node {
            Node::Text(text) => Some(text),
            other => wrong(faults, &self.place, other, "a text"),
        }
    }

    pub(super) fn bool(&self, faults: &mut Faults) -> Option<bool> {
        match self.node {
            Node::Bool(value) => Some(*value),
            other => wrong(faults, &self.place, other, "true or false"),
        }
    }

    /// One of these words, by its place among them.
    pub(super) fn word(&self, words: &[&str], faults: &mut Faults) -> Option<usize> {
        let text = self.text(faults)?;
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            faults.add(&self.place, format!("{} is not one of {}", shown_text(text), words.join(", ")));
        }
        found
    }

    /// A name for people: any script, but one line, not empty, not long, and no path.
    pub(super) fn name(&self, faults: &mut Faults) -> Option<String> {
        let text = self.text(faults)?;
        let problem = if text.chars().all(|letter| letter.is_whitespace() || ZERO_WIDTH.contains(&letter)) {
            Some("is empty".to_owned())
        } else if text.chars().count() > NAME_CHARS {
            Some(format!("has more than {NAME_CHARS} characters"))
        } else if text.chars().any(char::is_control) {
            Some("has a control character".to_owned())
        } else if text.chars().any(|letter| TURNING.iter().any(|turning| turning.contains(&letter))) {
            Some("has a character that turns the direction of what follows: leave it out".to_owned())
        } else if text.split(['/', '\\']).any(|part| part == "..") {
            Some(format!("{} is a path: use a name", shown_text(text)))
        } else {
            None
        };
        if let Some(problem) = problem {
            faults.add(&self.place, problem);
            return None;
        }
        Some(text.to_owned())
    }

    /// A key: an ASCII identifier that is not reserved.
    pub(super) fn key(&self, faults: &mut Faults) -> Option<String> {
        let text = self.text(faults)?;
        match key::check(text) {
            Ok(()) => Some(text.to_owned()),
            Err(wrong) => {
                faults.add(&self.place, format!("{} {wrong}", shown_text(text)));
                None
            }
        }
    }

    /// A list of different keys.
    pub(super) fn keys(&self, sizes: RangeInclusive<usize>, faults: &mut Faults) -> Option<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        let mut whole = true;
        for item in self.items(sizes, faults)? {
            match item.key(faults) {
                Some(key) if keys.contains(&key) => {
                    faults.add(item.place, format!("`{key}` is given twice; keep one of them"));
                    whole = false;
                }
                Some(key) => keys.push(key),
                None => whole = false,
            }
        }
        whole.then_some(keys)
    }
}

impl<'n> Object<'n> {
    /// The value of a key, if it is given.
    pub(super) fn get(&self, key: &str) -> Option<Field<'n>> {
        let (_, node) = self.entries.iter().find(|(given, _)| given == key)?;
        Some(Field::new(node, inside(&self.place, key)))
    }

    /// The value of a key that must be given.
    pub(super) fn need(&self, key: &str, faults: &mut Faults) -> Option<Field<'n>> {
        let field = self.get(key);
        if field.is_none() {
            faults.add(inside(&self.place, key), "is missing");
        }
        field
    }
}

/// The place of a key inside an object. Keys come from the file, so they are cut and made harmless.
pub(super) fn inside(place: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.len() <= 64 && key.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
    let key = if plain { key.to_owned() } else { shown_text(key) };
    if place.is_empty() { key } else { format!("{place}.{key}") }
}

fn wrong<T>(faults: &mut Faults, place: &str, node: &Node, wanted: &str) -> Option<T> {
    faults.add(place, format!("{} is not {wanted}", node.shown()));
    None
}
