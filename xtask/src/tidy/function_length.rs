//! A function fits on a screen.

use super::{Finding, Rule};
use crate::source::{Tree, items, line_at};

pub(super) const RULE: Rule = Rule { name: "function-length", check };

/// Lines from the one with `fn` to the closing brace.
const MOST: usize = 70;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for function in items::items(&file.code, "fn") {
            let first = line_at(&file.code, function.range.start);
            let length = line_at(&file.code, function.range.end) - first + 1;
            if length > MOST {
                let name = function.name;
                let message =
                    format!("`{name}` has {length} lines, at most {MOST}: name its parts as functions");
                found.push(Finding::new(&file.path, first, message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    fn function(lines: usize) -> String {
        format!("\n/// Doc.\npub fn f() {{\n{}}}\n", "    g(\"}\"); // }\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_too_long_is_refused() {
        let (full, over) = (function(MOST), function(MOST + 1));
        assert_eq!(places(&RULE, &[("full.rs", &full), ("over.rs", &over)]), ["over.rs:3"]);
    }

    #[test]
    fn methods_count_for_themselves() {
        let method = function(MOST);
        let text = format!("impl X {{ {method} {method} }}\n");
        assert_eq!(places(&RULE, &[("a.rs", &text)]), [""; 0]);
    }
}
