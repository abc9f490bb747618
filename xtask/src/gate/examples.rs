//! Example programs are tests: each one is run, must end by itself and must succeed.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;

const FOLDER: &str = "crates/engine/examples";
const LIMIT: Duration = Duration::from_secs(60);

/// Tests inside of the examples first, then every example of the engine as a program.
///
/// The whole workspace is built and the programs are started from its target folder: `cargo run` chooses the features of one
/// package alone, which would build everything below it once more.
pub(super) fn run(root: &Path) -> Result<()> {
    cargo::run(root, &["test", "--workspace", "--examples"])?;
    cargo::run(root, &["build", "--workspace", "--examples"])?;
    let names = names(&root.join(FOLDER))?;
    println!("{} example programs in {FOLDER}", names.len());
    // This program lies in the same target folder.
    let programs = std::env::current_exe()?.with_file_name("examples");
    for name in &names {
        let mut program = Command::new(programs.join(name));
        let how = match within(LIMIT, program.current_dir(root).stdin(Stdio::null()))? {
            Some(status) if status.success() => continue,
            Some(status) => status.to_string(),
            None => format!("not finished after {} s", LIMIT.as_secs()),
        };
        let again = ["run", "-p", "turnwise", "--example", name];
        bail!("example `{name}`: {}", cargo::failure(&again, &how));
    }
    Ok(())
}

/// The examples in a folder: single files, and folders with a `main.rs`.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    if !folder.exists() {
        return Ok(names);
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").exists() {
            let name =
                path.file_stem().and_then(|name| name.to_str()).context("an example needs a plain name")?;
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// How the program ended, or nothing if it had to be stopped.
fn within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let mut child = command.spawn().context("cannot start the example")?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_tells_how() {
        assert!(within(LIMIT, &mut Command::new("true")).unwrap().unwrap().success());
        assert!(!within(LIMIT, &mut Command::new("false")).unwrap().unwrap().success());
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let mut waiting = Command::new("cat");
        assert_eq!(within(Duration::ZERO, waiting.stdin(Stdio::piped())).unwrap(), None);
    }

    #[test]
    fn rust_files_are_examples() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gate");
        assert_eq!(names(&here).unwrap(), ["examples", "steps"]);
        assert_eq!(names(Path::new("no/such/folder")).unwrap(), [""; 0]);
    }
}
