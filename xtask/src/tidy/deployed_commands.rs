//! What the image, the compose file and the units start is a command that the program has, with its flags.

use super::{Finding, Rule, compose};
use crate::source::compose::{bracketed, services};
use crate::source::program::Program;
use crate::source::{File, Tree};

pub(super) const RULE: Rule = Rule { name: "deployed-commands", check };

const PROGRAM: &str = "turnwise";

fn check(tree: &Tree) -> Vec<Finding> {
    let program = Program::read(tree);
    let mut found = Vec::new();
    for file in tree.files() {
        let lines = match file.path.as_str() {
            compose::PATH => in_compose(file),
            "Dockerfile" => in_image(file),
            path if path.ends_with(".service") => in_unit(file),
            _ => continue,
        };
        for (line, words) in lines {
            found.extend(
                program
                    .refuses(&words)
                    .map(|why| Finding::new(&file.path, line, format!("{why}: correct the command line"))),
            );
        }
    }
    found
}

/// What our services run; a file that cannot be read is reported by its own rule.
fn in_compose(file: &File) -> Vec<(usize, Vec<String>)> {
    let ours = services(&file.text).unwrap_or_default().into_iter().filter(|service| service.is_ours);
    let run = ours.flat_map(|service| [service.command, behind_program(service.health)]);
    run.map(|words| (0, words)).collect()
}

/// `CMD [...]`, on its own or of a health check.
fn in_image(file: &File) -> Vec<(usize, Vec<String>)> {
    let lines = (1..).zip(file.text.lines()).filter(|(_, line)| !line.starts_with('#'));
    let commands = lines.filter_map(|(number, line)| Some((number, line, line.split_once("CMD ")?.1)));
    commands
        .map(|(number, line, list)| {
            let words = bracketed(list);
            // Alone, it is what follows the entry point.
            (number, if line.starts_with("CMD") { words } else { behind_program(words) })
        })
        .collect()
}

/// `ExecStart=/usr/local/bin/turnwise up …` and its relatives.
fn in_unit(file: &File) -> Vec<(usize, Vec<String>)> {
    let lines = (1..).zip(file.text.lines()).filter(|(_, line)| line.starts_with("Exec"));
    let commands = lines.filter_map(|(number, line)| Some((number, line.split_once('=')?.1)));
    commands
        .map(|(number, words)| {
            (number, behind_program(words.split_whitespace().map(str::to_owned).collect()))
        })
        .collect()
}

/// What follows the program's name; nothing if something else is started.
fn behind_program(words: Vec<String>) -> Vec<String> {
    let is_program = |word: &String| word.rsplit('/').next() == Some(PROGRAM);
    words.into_iter().skip_while(|word| !is_program(word)).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;
    use crate::source::program::SAMPLE;

    fn with(path: &'static str, text: &'static str) -> Vec<String> {
        places(&RULE, &[&SAMPLE[..], &[(path, text)]].concat())
    }

    #[test]
    fn compose_is_read_where_it_starts_the_program() {
        let text = "services:\n  a: { build: ., command: [up, --roles, api], healthcheck: { test: [CMD, turnwise, kinds, --json] } }\n\
                    \x20 db: { image: x, command: [down, --never] }\n";
        assert_eq!(with(compose::PATH, text), [""; 0]);
        let text = "services:\n  a: { build: ., command: [up, --rolls, api], healthcheck: { test: [CMD, turnwise, kind] } }\n";
        assert_eq!(with(compose::PATH, text), ["compose.yaml:0", "compose.yaml:0"]);
    }

    #[test]
    fn the_image_is_read() {
        let text = "# CMD [\"x\"]\nHEALTHCHECK --retries=4 CMD [\"turnwise\", \"health\"]\nENTRYPOINT [\"turnwise\"]\nCMD [\"down\"]\n";
        assert_eq!(with("Dockerfile", text), ["Dockerfile:2", "Dockerfile:4"]);
        let text = "HEALTHCHECK CMD [\"turnwise\", \"kinds\"]\nCMD [\"up\"]\n";
        assert_eq!(with("Dockerfile", text), [""; 0]);
    }

    #[test]
    fn units_are_read() {
        let text = "ExecStart=/usr/local/bin/turnwise up --roles %i\nExecStartPre=/bin/true --x\n";
        assert_eq!(with("deploy/a.service", text), [""; 0]);
        let text = "[Service]\nExecStart=/usr/local/bin/turnwise up --role %i\n";
        assert_eq!(with("deploy/a.service", text), ["deploy/a.service:2"]);
    }
}
