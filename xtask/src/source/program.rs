//! What the program `turnwise` can be told, read from its source: commands, their flags, and variables.
//!
//! Read rather than asked, because tidy comes before anything is built.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, Tree, items};

const MAIN: &str = "crates/cli/src/main.rs";
const COMMANDS: &str = "crates/cli/src/commands";
/// Where variables are read: all of the program, and one file of the engine.
const READERS: [&str; 2] = ["crates/cli/src/", "crates/engine/src/config.rs"];
/// How every variable begins.
pub(crate) const PREFIX: &str = "TURNWISE_";

/// The program as its source describes it.
pub(crate) struct Program {
    /// Commands, each with the flags of its file and those that all commands have.
    commands: BTreeMap<String, BTreeSet<String>>,
    variables: BTreeSet<String>,
}

impl Program {
    pub(crate) fn read(tree: &Tree) -> Program {
        let readers = tree.rust().filter(|file| READERS.iter().any(|reader| file.path.starts_with(reader)));
        Program { commands: commands(tree), variables: readers.flat_map(variables).collect() }
    }

    pub(crate) fn knows_variable(&self, name: &str) -> bool {
        self.variables.contains(name)
    }

    /// What is wrong with a command line: the command and what follows it, without the program's name.
    pub(crate) fn refuses(&self, line: &[String]) -> Option<String> {
        let (command, rest) = line.split_first()?;
        let Some(flags) = self.commands.get(command) else {
            return Some(format!("the program has no command `{command}`"));
        };
        let names = rest.iter().filter_map(|word| word.strip_prefix("--"));
        let mut names = names.map(|flag| flag.split('=').next().unwrap_or_default());
        let unknown = names.find(|flag| !flags.contains(*flag))?;
        Some(format!("`turnwise {command}` has no flag `--{unknown}`"))
    }
}

/// The variants of `enum Command`: `Up(up::Args)` has its flags in the file `up.rs`.
fn commands(tree: &Tree) -> BTreeMap<String, BTreeSet<String>> {
    let Some(main) = tree.file(MAIN) else { return BTreeMap::new() };
    let list = items::items(&main.code, "enum").into_iter().find(|item| item.name == "Command");
    let body = list.and_then(|list| list.body).map_or("", |body| &main.code[body]);
    let variants = body.lines().map(str::trim).filter(|line| line.starts_with(char::is_uppercase));
    variants
        .map(|variant| {
            let (name, rest) = variant.split_once(['(', ' ', ',']).unwrap_or((variant, ""));
            let module = rest.split_once("::").map_or("", |(module, _)| module);
            let file = tree.file(&format!("{COMMANDS}/{module}.rs"));
            let flags = file.into_iter().chain([main]).flat_map(flags).collect();
            (name.to_lowercase(), flags)
        })
        .collect()
}

/// The fields that are marked `#[arg(long…)]`.
fn flags(file: &File) -> Vec<String> {
    let code = &file.code;
    let long = items::attributes(code).into_iter().filter(|attribute| {
        let mut words = super::words(&code[attribute.clone()]).map(|(_, word)| word);
        words.next() == Some("arg") && words.any(|word| word == "long")
    });
    long.filter_map(|attribute| {
        let field = code[attribute.end..].split(':').next()?;
        Some(super::words(field).last()?.1.replace('_', "-"))
    })
    .collect()
}

/// Names in quotes, outside of tests.
fn variables(file: &File) -> Vec<String> {
    let tests = items::test_regions(&file.code);
    let quoted = format!("\"{PREFIX}");
    let starts = file.text.match_indices(&quoted).map(|(at, _)| at + 1);
    let real = starts.filter(|at| !tests.iter().any(|region| region.contains(at)));
    real.filter_map(|at| file.text[at..].split('"').next()).map(str::to_owned).collect()
}

/// A tree with a small program in it, for the tests of those who ask about it.
#[cfg(test)]
pub(crate) const SAMPLE: [(&str, &str); 4] = [
    (
        "crates/cli/src/main.rs",
        "struct Home {\n    /// Doc.\n    #[arg(long, global = true, value_name = \"DIR\")]\n    data: Option<String>,\n}\n\
         enum Command {\n    /// Run.\n    Up(up::Args),\n    /// List.\n    Kinds(overview::Kinds),\n    Completions {\n        shell: Shell,\n    },\n}\n",
    ),
    (
        "crates/cli/src/commands/up.rs",
        "struct Args {\n    #[arg(long)]\n    allow_shell: bool,\n    #[arg(long)]\n    roles: Option<String>,\n    #[arg(short)]\n    quiet: bool,\n}\n",
    ),
    (
        "crates/cli/src/commands/overview.rs",
        "struct Kinds {\n    #[arg(long)]\n    pub(crate) json: bool,\n}\n",
    ),
    (
        "crates/cli/src/settings/layers.rs",
        "const A: &str = \"TURNWISE_SLOTS\"; // TURNWISE_COMMENT\n\
         #[cfg(test)]\nmod tests {\n    const B: &str = \"TURNWISE_TESTS\";\n}\n",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> Option<String> {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        Program::read(&Tree::of(&SAMPLE)).refuses(&words)
    }

    #[test]
    fn flags_belong_to_their_command() {
        for good in ["up --roles api --allow-shell", "kinds --json --data=x", "completions bash"] {
            assert_eq!(refused(good), None, "{good}");
        }
        for bad in ["up --json", "up --quiet", "kinds --roles api", "down", "up --rolls=api"] {
            assert!(refused(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn variables_are_those_that_are_read() {
        let program = Program::read(&Tree::of(&SAMPLE));
        assert!(program.knows_variable("TURNWISE_SLOTS"));
        assert!(!program.knows_variable("TURNWISE_TESTS") && !program.knows_variable("TURNWISE_COMMENT"));
    }

    #[test]
    fn the_real_program_is_understood() {
        let program = Program::read(&Tree::load(&crate::root().unwrap()).unwrap());
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(program.refuses(&words("up --profile fleet --roles api --listen 0.0.0.0:7700")), None);
        assert!(program.refuses(&words("up --no-such-flag")).is_some());
        for name in ["TURNWISE_POSTGRES", "TURNWISE_VAULT_KEY", "TURNWISE_CONFIG", "TURNWISE_LOG_LEVEL"] {
            assert!(program.knows_variable(name), "{name}");
        }
    }
}
