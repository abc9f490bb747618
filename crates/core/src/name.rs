//! Names that users give: kinds, owners, lanes, keys. Short, printable, shared cheaply.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits;

/// A checked name: at least one character, at most [`limits::NAME_BYTES`] bytes, no control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Nothing in it.
    #[error("a name must not be empty: give it at least one character")]
    Empty,
    /// Longer than allowed.
    #[error("a name of {0} bytes is too long: use at most {max} bytes", max = limits::NAME_BYTES)]
    TooLong(usize),
    /// A control character inside.
    #[error("a name must not contain control characters such as line breaks or tabs")]
    Control,
}

impl Name {
    /// Checks a text and makes it a name.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BadName> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if text.len() > limits::NAME_BYTES {
            return Err(BadName::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(BadName::Control);
        }
        Ok(Name(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        Name::new(text)
    }
}

impl TryFrom<&str> for Name {
    type Error = BadName;

    fn try_from(text: &str) -> Result<Self, BadName> {
        Name::new(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused() {
        assert_eq!(Name::new(""), Err(BadName::Empty));
        assert_eq!(Name::new("a\nb"), Err(BadName::Control));
        assert_eq!(Name::new("x".repeat(10_000)), Err(BadName::TooLong(10_000)));
        assert_eq!(Name::new("Zürich 42").unwrap().as_str(), "Zürich 42");
    }
}
