//! A file holds one idea, and one idea fits into a few screens.

use super::{Finding, Rule};
use crate::source::{File, Tree};

pub(super) const RULE: Rule = Rule { name: "file-length", check };

const MOST: usize = 600;
const MEDIAN: usize = 150;

/// What people write by hand and read from top to bottom.
const SOURCES: [&str; 6] = [".rs", ".sql", ".js", ".css", ".html", ".sh"];

fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.files().iter().filter(|file| SOURCES.iter().any(|suffix| file.path.ends_with(suffix)));
    let long = sources.filter(|file| length(file) > MOST);
    long.map(|file| {
        let message = format!("{} lines, at most {MOST}: split it by idea", length(file));
        Finding::new(&file.path, 0, message)
    })
    .collect()
}

/// A typical file should be far below the limit. This is a hint: one change cannot be blamed for it.
pub(super) fn median_warning(tree: &Tree) -> Option<String> {
    let mut lengths: Vec<usize> = tree.rust().map(length).collect();
    lengths.sort_unstable();
    let median = *lengths.get(lengths.len() / 2)?;
    (median > MEDIAN).then(|| format!("half of the Rust files have {median} lines or more; aim for {MEDIAN}"))
}

fn length(file: &File) -> usize {
    file.text.lines().count()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_file_too_long_is_refused() {
        let (full, over) = ("x\n".repeat(MOST), "x\n".repeat(MOST + 1));
        let files =
            [("full.rs", full.as_str()), ("over.rs", &over), ("over.sql", &over), ("Cargo.lock", &over)];
        assert_eq!(places(&RULE, &files), ["over.rs:0", "over.sql:0"]);
    }

    #[test]
    fn a_high_median_is_a_warning() {
        let long = "x\n".repeat(MEDIAN + 1);
        assert!(median_warning(&Tree::of(&[("a.rs", &long), ("b.rs", "x\n"), ("c.rs", &long)])).is_some());
        assert!(median_warning(&Tree::of(&[("a.rs", &long), ("b.rs", "x\n"), ("c.rs", "x\n")])).is_none());
        assert!(median_warning(&Tree::of(&[])).is_none());
    }
}
