//! Unfinished work is an issue with a number, not a note that everybody reads past.

use super::{Finding, Rule};
use crate::source::{Tree, words};

pub(super) const RULE: Rule = Rule { name: "unfinished", check };

/// Notes that must name an issue, as in `#12`.
const NOTES: [&str; 2] = ["TODO", "FIXME"];

/// Macros that must not be committed, by name.
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (number, line) in (1..).zip(file.text.lines()) {
            let advice = words(line).find_map(|(at, word)| advice(word, &line[at + word.len()..]));
            found.extend(advice.map(|advice| Finding::new(&file.path, number, advice)));
        }
    }
    found
}

/// What to do about a word, given what follows it in its line.
fn advice(word: &str, behind: &str) -> Option<String> {
    if NOTES.contains(&word) && !names_issue(behind) {
        return Some(format!("`{word}` without an issue: do it, or write {word}(#number)"));
    }
    let is_call = behind.starts_with("!(");
    (MACROS.contains(&word) && is_call)
        .then(|| format!("`{word}!` must not be committed: finish it or take it out"))
}

fn names_issue(text: &str) -> bool {
    text.split('#').skip(1).any(|behind| behind.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn notes_without_an_issue_are_refused() {
        let text =
            "// TODO: later\n// TODO(#12): later\nTODOS are fine\nFIXME # no number\n// FIXME see #3\n";
        assert_eq!(places(&RULE, &[("a.rs", text), ("b.md", "TODO\n")]), ["a.rs:1", "a.rs:4", "b.md:1"]);
    }

    #[test]
    fn unfinished_macros_are_refused() {
        let text = "todo!()\nunimplemented!(\"x\")\nlet x = dbg!(y);\nmy_dbg!(y)\nlet todo = !(x);\n";
        assert_eq!(places(&RULE, &[("a.rs", text)]), ["a.rs:1", "a.rs:2", "a.rs:3"]);
    }
}
