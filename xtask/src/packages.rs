//! Programs that the checks need and that Rust does not bring along.
//!
//! Each is a Debian package and the program that proves it. What is missing is installed where that is
//! allowed, and named with the exact command where it is not; it never passes unnoticed.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

struct Package {
    name: &'static str,
    /// The program that is there once the package is.
    program: &'static str,
}

const NEEDED: &[Package] = &[
    // Tidy asks git which files are committed.
    Package { name: "git", program: "git" },
    // SQLite is compiled from source.
    Package { name: "gcc", program: "cc" },
    // A test gives a process a small disk of its own.
    Package { name: "util-linux", program: "unshare" },
];

/// What is to be done about missing packages.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<Vec<&'static str>>),
    Ask(String),
}

/// Makes sure that every needed package is there.
pub(crate) fn ensure_installed() -> Result<()> {
    settle(NEEDED, may_install(), on_path, &mut run)
}

/// The whole decision, with the machine passed in.
fn settle(
    needed: &'static [Package],
    may_install: bool,
    is_there: impl Fn(&str) -> bool,
    run: &mut dyn FnMut(&[&str]) -> Result<()>,
) -> Result<()> {
    match plan(&missing(needed, &is_there), may_install) {
        Plan::Nothing => return Ok(()),
        Plan::Ask(command) => bail!("some programs are missing; install them with\n    {command}"),
        Plan::Install(commands) => commands.iter().try_for_each(|command| run(command))?,
    }
    let still = missing(needed, &is_there);
    ensure!(
        still.is_empty(),
        "installed {}, but the programs are still not on the PATH",
        names(&still).join(", ")
    );
    Ok(())
}

fn missing(needed: &'static [Package], is_there: impl Fn(&str) -> bool) -> Vec<&'static Package> {
    needed.iter().filter(|package| !is_there(package.program)).collect()
}

fn plan(missing: &[&'static Package], may_install: bool) -> Plan {
    if missing.is_empty() {
        return Plan::Nothing;
    }
    let install: Vec<_> = ["apt-get", "install", "-y"].into_iter().chain(names(missing)).collect();
    if may_install {
        Plan::Install(vec![vec!["apt-get", "update"], install])
    } else {
        Plan::Ask(format!("sudo apt-get update && sudo {}", install.join(" ")))
    }
}

fn names(packages: &[&'static Package]) -> Vec<&'static str> {
    packages.iter().map(|package| package.name).collect()
}

/// Only root on a machine with apt-get. Linux shows the effective user as the owner of `/proc/self`.
fn may_install() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) && on_path("apt-get")
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn run(command: &[&str]) -> Result<()> {
    let line = command.join(" ");
    println!("installing what is missing: {line}");
    let status =
        Command::new(command[0]).args(&command[1..]).env("DEBIAN_FRONTEND", "noninteractive").status();
    let status = status.with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}` ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const SAMPLE: &[Package] =
        &[Package { name: "gcc", program: "cc" }, Package { name: "strace", program: "strace" }];

    /// Settles on a machine that has these programs; an installation adds what it is told to, unless broken.
    fn on_machine(programs: &[&str], root: bool, broken: bool) -> (Result<()>, Vec<String>) {
        let there = RefCell::new(programs.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let mut ran = Vec::new();
        let result = settle(
            SAMPLE,
            root,
            |program| there.borrow().iter().any(|name| name == program),
            &mut |command| {
                ran.push(command.join(" "));
                let added = SAMPLE
                    .iter()
                    .filter(|package| command[1] == "install" && command.contains(&package.name));
                if !broken {
                    there.borrow_mut().extend(added.map(|package| package.program.to_owned()));
                }
                Ok(())
            },
        );
        (result, ran)
    }

    #[test]
    fn nothing_is_done_when_everything_is_there() {
        let (result, ran) = on_machine(&["cc", "strace"], true, false);
        assert!(result.is_ok() && ran.is_empty());
    }

    #[test]
    fn root_installs_only_what_is_missing() {
        let (result, ran) = on_machine(&["cc"], true, false);
        assert!(result.is_ok());
        assert_eq!(ran, ["apt-get update", "apt-get install -y strace"]);
    }

    #[test]
    fn others_are_told_the_command() {
        let (result, ran) = on_machine(&[], false, false);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("sudo apt-get update && sudo apt-get install -y gcc strace"), "{error}");
        assert!(ran.is_empty());
    }

    #[test]
    fn an_installation_that_did_not_help_is_an_error() {
        let error = on_machine(&["cc"], true, true).0.unwrap_err().to_string();
        assert!(error.contains("strace"), "{error}");
    }

    #[test]
    fn a_command_that_fails_is_named() {
        assert!(run(&["true"]).is_ok());
        assert!(run(&["false"]).unwrap_err().to_string().contains("`false` ended"));
    }

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(on_path("sh") && !on_path("no-such-program"));
    }
}
