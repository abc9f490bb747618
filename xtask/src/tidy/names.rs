//! No drawers: a name says what is inside.

use super::{Finding, Rule};
use crate::source::{Tree, items, line_at};

pub(super) const RULE: Rule = Rule { name: "names", check };

const DRAWERS: [&str; 6] = ["utils", "util", "common", "helpers", "impls", "misc"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files() {
        let mut parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
        if let Some(part) = parts.find(|part| DRAWERS.contains(part)) {
            found.push(Finding::new(&file.path, 0, advice(part)));
        }
        for module in items::items(&file.code, "mod").iter().filter(|module| DRAWERS.contains(&module.name)) {
            // A module in its own file is reported there.
            if module.body.is_some() {
                let line = line_at(&file.code, module.range.start);
                found.push(Finding::new(&file.path, line, advice(module.name)));
            }
        }
    }
    found
}

fn advice(name: &str) -> String {
    format!("`{name}` says nothing about what is inside: name the idea")
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn drawers_are_refused_as_files_folders_and_modules() {
        let files = [
            ("src/utils.rs", ""),
            ("tests/common/mod.rs", ""),
            ("src/a.rs", "//! Doc.\nmod helpers { }\nmod misc;\nmod good { }\n"),
            ("src/uncommon.rs", "fn common() {}\n"),
        ];
        assert_eq!(places(&RULE, &files), ["src/utils.rs:0", "tests/common/mod.rs:0", "src/a.rs:2"]);
    }
}
