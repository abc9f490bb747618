//! Calling git: without the settings, hooks and variables of whoever started this process.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::fault::{Class, Fault};
use crate::lock::Lock;

/// What an error quotes of what git said.
const QUOTED: usize = 1 << 10;

/// Calls of git in one repository.
#[derive(Clone)]
pub(super) struct Git {
    repository: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Git {
    pub(super) fn new(repository: PathBuf) -> Self {
        Git { repository, variables: Vec::new() }
    }

    /// With an index of its own.
    pub(super) fn with_index(&self, index: &Path) -> Self {
        self.with("GIT_INDEX_FILE", index.display().to_string())
    }

    /// At a time, in seconds since 1970: the same commit whenever it is made.
    pub(super) fn at(&self, seconds: i64) -> Self {
        let date = format!("@{seconds} +0000");
        self.with("GIT_AUTHOR_DATE", date.clone()).with("GIT_COMMITTER_DATE", date)
    }

    fn with(&self, name: &'static str, value: String) -> Self {
        let mut git = self.clone();
        git.variables.push((name, value));
        git
    }

    /// Makes an empty repository.
    pub(super) fn init(&self, path: &Path) -> Result<(), Fault> {
        let path = path.display().to_string();
        let mut command = clean();
        command.args(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", &path]);
        command.stdin(Stdio::null());
        ended("init", command.output()).map(drop)
    }

    /// Runs a command with something to read; what it printed, without the last line break.
    pub(super) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<String, Fault> {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let name = arguments[0];
        if let Some(mut stdin) = child.stdin.take() {
            // All that is read here is read whole before anything is written; what git refuses, its error tells.
            let _ = stdin.write_all(input);
        }
        ended(name, child.wait_with_output())
    }

    /// Runs a command that reads nothing and keeps a lock for as long as it lives.
    pub(super) fn run_holding(&self, arguments: &[&str], lock: &Lock) -> Result<(), Fault> {
        let output = self.command(arguments).stdin(lock.shared()?).output();
        ended(arguments[0], output).map(drop)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = clean();
        command.arg("--git-dir").arg(&self.repository).args(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Git with nothing of its surroundings, and with everything on the disk before it answers.
fn clean() -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    // Where git itself is found is all that is taken over.
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs([
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Turnwise Forge"),
        ("GIT_AUTHOR_EMAIL", "forge@localhost"),
        ("GIT_COMMITTER_NAME", "Turnwise Forge"),
        ("GIT_COMMITTER_EMAIL", "forge@localhost"),
        ("LC_ALL", "C.UTF-8"),
    ]);
    for setting in
        ["core.hooksPath=/dev/null", "core.fsync=committed,reference", "core.quotePath=false", "gc.auto=0"]
    {
        command.args(["-c", setting]);
    }
    command
}

fn not_started(error: &std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::NotFound => Fault::new(Class::NotFound, "git is not installed on this machine"),
        _ => Fault::new(Class::Internal, format!("cannot start git: {error}")),
    }
}

fn ended(name: &str, output: std::io::Result<Output>) -> Result<String, Fault> {
    let output = output.map_err(|error| not_started(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(QUOTED).collect();
        return Err(Fault::new(Class::Git, format!("git {name} ended with {}: {said}", output.status)));
    }
    let text = String::from_utf8(output.stdout);
    let text = text.map_err(|_| Fault::new(Class::Git, format!("git {name} printed what is no text")))?;
    Ok(text.trim_end_matches('\n').to_owned())
}
