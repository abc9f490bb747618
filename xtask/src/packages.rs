//! Programs that the checks need and that Rust does not bring along.
//!
//! Each is a Debian package and the program that proves it. What is missing is installed where that is
//! allowed, and named with the exact command where it is not; it never passes unnoticed.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};

struct Package {
    name: &'static str,
    /// The program that is there once the package is: on the path, or at a place in which `*` is any name.
    program: &'static str,
}

const NEEDED: &[Package] = &[
    // Tidy asks git which files are committed.
    Package { name: "git", program: "git" },
    // SQLite is compiled from source.
    Package { name: "gcc", program: "cc" },
    // A test gives a process a small disk of its own.
    Package { name: "util-linux", program: "unshare" },
    // The servers of a fleet, which tests start for themselves.
    Package { name: "postgresql", program: "/usr/lib/postgresql/*/bin/postgres" },
    Package { name: "rabbitmq-server", program: "/usr/lib/rabbitmq/bin/rabbitmq-server" },
    Package { name: "redis-server", program: "/usr/bin/redis-server" },
    // Certificates for encrypted connections to them.
    Package { name: "openssl", program: "openssl" },
    // Python submits jobs inside its own transactions too.
    Package { name: "python3-psycopg2", program: "/usr/lib/python3/dist-packages/psycopg2/__init__.py" },
    // Its `promtool` judges metrics and alert rules.
    Package { name: "prometheus", program: "promtool" },
    // The forge writes a zone file, which `named-checkzone` judges, and updates a name server, which is `named`.
    Package { name: "bind9-utils", program: "/usr/bin/named-checkzone" },
    Package { name: "bind9", program: "/usr/sbin/named" },
    // A browser, and the program that tests drive it with, to look at the dashboard.
    Package { name: "chromium", program: "/usr/bin/chromium" },
    Package { name: "chromium-driver", program: "/usr/bin/chromedriver" },
];
/// Debian asks this program whether a service may be started.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// What is to be done about missing packages.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<Vec<&'static str>>),
    Ask(String),
}

/// Makes sure that every needed package is there.
pub(crate) fn ensure_installed() -> Result<()> {
    settle(NEEDED, may_install(), is_there, &mut run)
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
    ensure!(still.is_empty(), "installed {}, but the programs are still not there", names(&still).join(", "));
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

fn is_there(program: &str) -> bool {
    match program.split_once('*') {
        _ if !program.starts_with('/') => on_path(program),
        None => Path::new(program).is_file(),
        Some((folder, rest)) => fs::read_dir(folder).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.path().join(rest.trim_start_matches('/')).is_file())
        }),
    }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// As long as it lives, no service is started by an installation. What was there before comes back.
struct Quiet {
    policy: PathBuf,
    before: PathBuf,
}

impl Quiet {
    fn new(policy: &Path) -> io::Result<Self> {
        let quiet = Quiet { policy: policy.to_owned(), before: policy.with_extension("d.before-turnwise") };
        // If an earlier installation was killed, its copy is the real one.
        if policy.exists() && !quiet.before.exists() {
            fs::rename(policy, &quiet.before)?;
        }
        fs::write(policy, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(policy, PermissionsExt::from_mode(0o755))?;
        Ok(quiet)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let restored = if self.before.exists() {
            fs::rename(&self.before, &self.policy)
        } else {
            fs::remove_file(&self.policy)
        };
        if let Err(error) = restored {
            eprintln!("warning: {} was not put back: {error}", self.policy.display());
        }
    }
}

fn run(command: &[&str]) -> Result<()> {
    let line = command.join(" ");
    println!("installing what is missing: {line}");
    // Tests start servers of their own: a package that brings a service must not start it.
    let _quiet = Quiet::new(Path::new(POLICY)).with_context(|| format!("cannot change {POLICY}"))?;
    start(command)
}

fn start(command: &[&str]) -> Result<()> {
    let line = command.join(" ");
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
        assert!(start(&["true"]).is_ok());
        assert!(start(&["false"]).unwrap_err().to_string().contains("`false` ended"));
    }

    #[test]
    fn services_are_kept_quiet_and_the_policy_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        drop(Quiet::new(&policy).unwrap());
        assert!(!policy.exists());
        fs::write(&policy, "mine").unwrap();
        let quiet = Quiet::new(&policy).unwrap();
        assert!(fs::read_to_string(&policy).unwrap().contains("exit 101"));
        drop(quiet);
        assert_eq!(fs::read_to_string(&policy).unwrap(), "mine");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(is_there("sh") && !is_there("no-such-program"));
        assert!(is_there("/bin/sh") && !is_there("/bin/no-such-program"));
        assert!(is_there("/usr/*/sh") && !is_there("/usr/*/no-such-program"));
    }
}
