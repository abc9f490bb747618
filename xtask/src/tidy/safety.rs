//! `unsafe` states why it is sound, right where it is used.

use super::{Finding, Rule};
use crate::source::{File, Tree, line_at, words};

pub(super) const RULE: Rule = Rule { name: "safety", check };

/// The lines above that may hold the comment.
const ABOVE: usize = 3;

fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let uses = words(&file.code).filter(|(_, word)| *word == "unsafe").map(|(at, _)| line_at(&file.code, at));
    let bare = uses.filter(|line| {
        let above = &lines[line.saturating_sub(1 + ABOVE)..line - 1];
        !above.iter().any(|text| text.trim_start().starts_with("// SAFETY:"))
    });
    bare.map(|line| {
        let message = format!("`unsafe` without a reason: say `// SAFETY: …` in the {ABOVE} lines above");
        Finding::new(&file.path, line, message)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn unsafe_without_a_reason_is_refused() {
        let bad = "fn f() {\n    unsafe { g() }\n}\n";
        let far = "// SAFETY: x\n\n\n\nunsafe { g() }\n";
        let good = "// SAFETY: g has no\n// preconditions.\n\nunsafe { g() }\n";
        let files = [("bad.rs", bad), ("far.rs", far), ("good.rs", good), ("first.rs", "unsafe impl X {}\n")];
        assert_eq!(places(&RULE, &files), ["bad.rs:2", "far.rs:5", "first.rs:1"]);
    }

    #[test]
    fn only_the_keyword_counts() {
        assert_eq!(
            places(&RULE, &[("a.rs", "#![deny(unsafe_code)]\n// unsafe\nlet x = \"unsafe\";\n")]),
            [""; 0]
        );
    }
}
