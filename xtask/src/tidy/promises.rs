//! Every promise in `ARCHITECTURE.md` names the tests that prove it, and those tests exist.

use std::collections::BTreeSet;

use super::code_map::PATH;
use super::{Finding, Rule};
use crate::source::markdown::{self, Row};
use crate::source::{Tree, items};

pub(super) const RULE: Rule = Rule { name: "promises", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(PATH) else { return Vec::new() };
    let functions: BTreeSet<&str> =
        tree.rust().flat_map(|file| items::items(&file.code, "fn")).map(|function| function.name).collect();
    let rows: Vec<_> = markdown::rows(&file.text).into_iter().filter(is_promise).collect();
    if rows.is_empty() {
        return vec![Finding::new(PATH, 0, "no table with the columns `promise` and `test`: add it")];
    }
    rows.iter().flat_map(|row| in_row(row, &functions)).collect()
}

/// A row of a table that has a column for promises and one for tests.
fn is_promise(row: &Row<'_>) -> bool {
    ["promise", "test"].iter().all(|word| row.cells.iter().any(|(heading, _)| is_about(heading, word)))
}

fn is_about(heading: &str, word: &str) -> bool {
    heading.to_lowercase().contains(word)
}

fn in_row(row: &Row<'_>, functions: &BTreeSet<&str>) -> Vec<Finding> {
    let cells = row.cells.iter().filter(|(heading, _)| is_about(heading, "test"));
    let names: Vec<&str> = cells.flat_map(|(_, cell)| markdown::code_spans(cell)).collect();
    if names.is_empty() {
        return vec![Finding::new(PATH, row.line, "this promise names no test: name one in backticks")];
    }
    let gone = names.into_iter().filter(|name| !functions.contains(function_name(name)));
    gone.map(|name| {
        let message = format!("there is no function `{}`: name a test that exists", function_name(name));
        Finding::new(PATH, row.line, message)
    })
    .collect()
}

/// The last part of `package::module::name`.
fn function_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path).trim_end_matches("()")
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const HEAD: &str = "| # | promise | tests |\n|---|---|---|\n";

    #[test]
    fn a_test_that_does_not_exist_is_refused() {
        let page = format!(
            "{HEAD}| 1 | kept `once` | `core::batch::settles_once`, `kept` |\n| 2 | x | `core::gone` |\n"
        );
        let code = "#[test]\nfn settles_once() {}\nfn kept() {}\n// fn gone() {}\n";
        assert_eq!(places(&RULE, &[(PATH, &page), ("a.rs", code)]), ["ARCHITECTURE.md:4"]);
    }

    #[test]
    fn a_promise_without_a_test_is_refused() {
        assert_eq!(places(&RULE, &[(PATH, &format!("{HEAD}| 1 | x | soon |\n"))]), ["ARCHITECTURE.md:3"]);
    }

    #[test]
    fn a_page_without_promises_is_refused() {
        assert_eq!(
            places(&RULE, &[(PATH, "# Architecture\n\n| a |\n|---|\n| b |\n")]),
            ["ARCHITECTURE.md:0"]
        );
        assert_eq!(places(&RULE, &[("README.md", "# Hello\n")]), [""; 0]);
    }
}
