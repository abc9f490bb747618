//! What is wrong with a scenario: every fault with its place, up to a limit.

use std::fmt;

use serde::Serialize;

use crate::limits::FAULTS;

/// One fault: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The field, as in `rows[2].tiles[0].points`; empty for the file as a whole.
    pub place: String,
    /// What is wrong, with the value and what would be right.
    pub wrong: String,
}

/// All faults of a scenario file, in the order of the file. Shown, it is one line for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    list: Vec<Fault>,
    more: usize,
}

impl Faults {
    /// The faults that are told in full.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// How many there are beyond those.
    pub fn more(&self) -> usize {
        self.more
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn add(&mut self, place: impl Into<String>, wrong: impl Into<String>) {
        if self.list.len() < FAULTS {
            self.list.push(Fault { place: place.into(), wrong: wrong.into() });
        } else {
            self.more += 1;
        }
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Faults {
        Faults { list: vec![fault], more: 0 }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.wrong)
        } else {
            write!(f, "{}: {}", self.place, self.wrong)
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.list.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{fault}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_faults_are_counted() {
        let mut faults = Faults::default();
        for index in 0..FAULTS + 3 {
            faults.add(format!("rows[{index}]"), "is wrong");
        }
        assert_eq!((faults.list().len(), faults.more()), (FAULTS, 3));
        let shown = faults.to_string();
        assert!(shown.starts_with("rows[0]: is wrong\nrows[1]: is wrong\n"), "{shown}");
        assert!(shown.ends_with("\nand 3 more"), "{shown}");
    }
}
