//! A lint that is switched off says why, beside it.

use super::{Finding, Rule};
use crate::source::{File, Tree, items, line_at, words};

pub(super) const RULE: Rule = Rule { name: "allow-reason", check };

fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for attribute in items::attributes(&file.code) {
        let text = &file.code[attribute.clone()];
        let line = line_at(&file.code, attribute.start);
        let explained = words(text).any(|(_, word)| word == "reason") || has_comment_above(&lines, line);
        if switches_off(text) && !explained {
            let message = "a lint is switched off without a reason: add `reason = \"…\"` or a comment above";
            found.push(Finding::new(&file.path, line, message));
        }
    }
    found
}

/// `allow(…)` or `expect(…)`, on its own or under a condition.
fn switches_off(attribute: &str) -> bool {
    let called = |at: usize, word: &str| attribute[at + word.len()..].starts_with('(');
    let outermost = words(attribute).next().map(|(_, word)| word);
    matches!(outermost, Some("allow" | "expect" | "cfg_attr"))
        && words(attribute).any(|(at, word)| matches!(word, "allow" | "expect") && called(at, word))
}

/// A plain comment; documentation speaks about the item, not about the lint.
fn has_comment_above(lines: &[&str], line: usize) -> bool {
    let above = line.checked_sub(2).and_then(|index| lines.get(index)).map_or("", |text| text.trim_start());
    above.starts_with("//") && !above.starts_with("///") && !above.starts_with("//!")
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_lint_switched_off_silently_is_refused() {
        let text = "#![allow(a)]\n\n/// Doc.\n#[allow(\n    b,\n)]\nfn f() {}\n#[cfg_attr(x, expect(c))]\nfn g() {}\n";
        assert_eq!(places(&RULE, &[("a.rs", text)]), ["a.rs:1", "a.rs:4", "a.rs:8"]);
    }

    #[test]
    fn a_reason_or_a_comment_is_enough() {
        let text = "// Generated names.\n#![allow(a)]\n#[allow(b, reason = \"a table\")]\nfn f() {}\n";
        let other = "#[should_panic(expected = \"x\")]\n#[cfg(x)]\nfn f() { allow(1); }\n";
        assert_eq!(places(&RULE, &[("a.rs", text), ("b.rs", other)]), [""; 0]);
    }
}
