//! Habits as a failing check. One rule is one file in `tidy/`, with a sample that it refuses.
//!
//! A rule looks at the whole [`Tree`] and returns what it found. Where a rule is wrong for one file, a line
//! in `xtask/tidy-exceptions.txt` says so and why; a line that nobody needs any more is refused as well.

mod allow_reason;
mod code_map;
mod compose;
mod core_dependencies;
mod crate_docs;
mod deployed_commands;
mod deployed_variables;
mod exceptions;
mod file_length;
mod function_length;
mod layers;
mod links;
mod machine_paths;
mod names;
mod promises;
mod safety;
mod sleeps;
mod trait_size;
mod unfinished;
mod whitespace;

use std::path::Path;

use anyhow::{Result, bail};

use crate::source::Tree;

/// One habit.
struct Rule {
    /// How the report and the exceptions call it.
    name: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// Counted from 1; 0 means the whole file.
    line: usize,
    /// What is wrong and what to do.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

const RULES: &[Rule] = &[
    allow_reason::RULE,
    code_map::RULE,
    compose::RULE,
    core_dependencies::RULE,
    crate_docs::RULE,
    deployed_commands::RULE,
    deployed_variables::RULE,
    file_length::RULE,
    function_length::RULE,
    layers::RULE,
    links::RULE,
    machine_paths::RULE,
    names::RULE,
    promises::RULE,
    safety::RULE,
    sleeps::RULE,
    trait_size::RULE,
    unfinished::RULE,
    whitespace::RULE,
];

/// Checks every rule and reports all findings at once.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let lines = report(&tree, RULES);
    for line in &lines {
        println!("{line}");
    }
    file_length::median_warning(&tree).into_iter().for_each(|warning| println!("warning: {warning}"));
    if !lines.is_empty() {
        bail!("{} to put right; check again with\n    cargo xtask tidy", count(lines.len(), "place"));
    }
    println!("tidy: {} and {} agree", count(tree.files().len(), "file"), count(RULES.len(), "rule"));
    Ok(())
}

/// One line for each finding that no exception covers.
fn report(tree: &Tree, rules: &[Rule]) -> Vec<String> {
    let found: Vec<_> = rules
        .iter()
        .flat_map(|rule| (rule.check)(tree).into_iter().map(|finding| (rule.name, finding)))
        .collect();
    let text = tree.file(exceptions::PATH).map_or("", |file| &file.text);
    let names: Vec<_> = rules.iter().map(|rule| rule.name).collect();
    exceptions::apply(text, &names, found).iter().map(|(rule, finding)| shown(rule, finding)).collect()
}

fn shown(rule: &str, finding: &Finding) -> String {
    let Finding { path, line, message } = finding;
    let place = if *line == 0 { path.clone() } else { format!("{path}:{line}") };
    format!("{place}: {message} [{rule}]")
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The findings of one rule over a few files, as `path:line`.
#[cfg(test)]
fn places(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
    let found = (rule.check)(&Tree::of(files));
    found.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_names_that_fit_the_exceptions() {
        let names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    #[test]
    fn a_finding_is_one_line_that_an_editor_can_open() {
        let lines = report(&Tree::of(&[("a.md", "x \n"), ("src/utils.rs", "")]), RULES);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("src/utils.rs: ") && lines[0].ends_with("[names]"), "{lines:?}");
        assert!(lines[1].starts_with("a.md:1: ") && lines[1].ends_with("[whitespace]"), "{lines:?}");
    }

    #[test]
    fn an_exception_silences_its_rule_in_its_file_only() {
        let files =
            [("a.md", "x \n"), ("b.md", "x \n"), (exceptions::PATH, "whitespace a.md kept as received\n")];
        let lines = report(&Tree::of(&files), RULES);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("b.md:1: "), "{lines:?}");
    }
}
