//! A variable that a deployment sets is one that the program reads, and one that compose asks for is in the example.

use super::{Finding, Rule, compose};
use crate::source::program::{PREFIX, Program};
use crate::source::{File, Tree, words};

pub(super) const RULE: Rule = Rule { name: "deployed-variables", check };

const EXAMPLE: &str = ".env.example";

fn check(tree: &Tree) -> Vec<Finding> {
    let program = Program::read(tree);
    let mut found = Vec::new();
    for file in tree.files().iter().filter(|file| is_deployment(&file.path)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let named = words(line).map(|(_, word)| word).filter(|word| word.starts_with(PREFIX));
            found.extend(named.filter(|name| !program.knows_variable(name)).map(|name| {
                let message = format!("the program does not read `{name}`: correct it or take it out");
                Finding::new(&file.path, number, message)
            }));
        }
    }
    if let (Some(file), Some(example)) = (tree.file(compose::PATH), tree.file(EXAMPLE)) {
        found.extend(not_in_example(file, example));
    }
    found
}

fn is_deployment(path: &str) -> bool {
    [compose::PATH, EXAMPLE, "Dockerfile"].contains(&path) || path.starts_with("deploy/")
}

/// Variables in `${…}` that the example does not mention.
fn not_in_example(file: &File, example: &File) -> Vec<Finding> {
    let offered: Vec<&str> = example.text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let lines = (1..).zip(file.text.lines());
    let asked = lines.flat_map(|(number, line)| {
        line.split("${").skip(1).filter_map(move |rest| Some((number, words(rest).next()?.1)))
    });
    asked
        .filter(|(_, name)| !offered.contains(name))
        .map(|(number, name)| {
            Finding::new(&file.path, number, format!("`{name}` is not in {EXAMPLE}: add it, with a comment"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;
    use crate::source::program::SAMPLE;

    fn with(files: &[(&'static str, &'static str)]) -> Vec<String> {
        places(&RULE, &[&SAMPLE[..], files].concat())
    }

    #[test]
    fn a_variable_that_nobody_reads_is_refused() {
        let files = [
            ("Dockerfile", "ENV TURNWISE_SLOTS=1 TURNWISE_SLOT=1\n"),
            ("deploy/a.service", "Environment=TURNWISE_TESTS=1\n"),
            ("docs/a.md", "TURNWISE_ANYTHING\n"),
        ];
        assert_eq!(with(&files), ["Dockerfile:1", "deploy/a.service:1"]);
    }

    #[test]
    fn the_example_names_what_compose_asks_for() {
        let compose = "a: \"x://${PASSWORD:?set it}@${HOST:-db}\"\nb: ${TURNWISE_SLOTS}\n";
        let files = [(compose::PATH, compose), (EXAMPLE, "PASSWORD=\n# HOST\nTURNWISE_SLOTS=8\n")];
        assert_eq!(with(&files), ["compose.yaml:1"]);
    }
}
