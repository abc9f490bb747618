//! `ARCHITECTURE.md` describes the tree as it is: it names every package, and what it names exists.

use super::{Finding, Rule};
use crate::source::{Tree, manifest, markdown};

pub(super) const RULE: Rule = Rule { name: "code-map", check };

pub(super) const PATH: &str = "ARCHITECTURE.md";

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(PATH) else { return Vec::new() };
    let mut named = Vec::new();
    for (line, text) in markdown::prose(&file.text) {
        named.extend(markdown::code_spans(text).into_iter().map(|span| (line, span.trim_end_matches('/'))));
    }
    let mut found = Vec::new();
    for (folder, _) in manifest::packages(tree) {
        if !named.iter().any(|(_, span)| *span == folder) {
            found.push(Finding::new(
                PATH,
                0,
                format!("the code map does not name `{folder}`: add a line for it"),
            ));
        }
    }
    for (line, span) in named {
        if is_place(span) && !tree.has(span) {
            found.push(Finding::new(PATH, line, format!("`{span}` does not exist: correct the code map")));
        }
    }
    found
}

/// A path in the tree, rather than a pattern for several.
fn is_place(span: &str) -> bool {
    let is_inside =
        ["crates/", "apps/", "docs/", "system-tests/", "xtask/"].iter().any(|top| span.starts_with(top));
    let is_plain = span.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    (is_inside && is_plain) || matches!(span, "system-tests" | "xtask")
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const PACKAGE: &str = "[package]\nname = \"x\"\n";

    #[test]
    fn a_package_that_is_not_named_is_refused() {
        let files = [
            (PATH, "- `crates/core`: rules\n"),
            ("crates/core/Cargo.toml", PACKAGE),
            ("xtask/Cargo.toml", PACKAGE),
        ];
        assert_eq!(places(&RULE, &files), ["ARCHITECTURE.md:0"]);
    }

    #[test]
    fn a_folder_that_is_gone_is_refused() {
        let map = "`crates/core/` `system-tests/`\n`crates/gone` and `crates/*/src`\n`crates/core/src/lib.rs` or `crates/core/<name>`\n";
        let files = [(PATH, map), ("crates/core/Cargo.toml", PACKAGE), ("crates/core/src/lib.rs", "")];
        assert_eq!(places(&RULE, &files), ["ARCHITECTURE.md:1", "ARCHITECTURE.md:2"]);
    }

    #[test]
    fn without_the_page_there_is_nothing_to_compare() {
        assert_eq!(places(&RULE, &[("crates/core/Cargo.toml", PACKAGE)]), [""; 0]);
    }
}
