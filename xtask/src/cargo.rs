//! Starting cargo. Every failure repeats the command, ready to be pasted.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A cargo command in the workspace's folder, with the cargo that started us.
pub(crate) fn command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root).args(args);
    command
}

/// Runs cargo and shows what it prints.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<()> {
    run_with(root, args, &[])
}

/// Runs cargo with some variables more and shows what it prints.
pub(crate) fn run_with(root: &Path, args: &[&str], variables: &[(&str, String)]) -> Result<()> {
    let variables = variables.iter().map(|(name, value)| (name, value));
    let status = command(root, args).envs(variables).status().context("cannot start cargo")?;
    ensure!(status.success(), "{}", failure(args, &status.to_string()));
    Ok(())
}

/// Runs cargo and returns what it writes to stdout.
pub(crate) fn output(root: &Path, args: &[&str]) -> Result<String> {
    let output = command(root, args).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "{}", failure(args, &output.status.to_string()));
    String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote no valid UTF-8", line(args)))
}

/// Is this cargo subcommand installed?
pub(crate) fn has(root: &Path, subcommand: &str) -> bool {
    let quiet =
        command(root, &[subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// What a failed command says.
pub(crate) fn failure(args: &[&str], how: &str) -> String {
    format!("{how}; rerun it with\n    {}", line(args))
}

fn line(args: &[&str]) -> String {
    let quoted =
        args.iter().map(|arg| if arg.contains(' ') { format!("'{arg}'") } else { (*arg).to_owned() });
    std::iter::once("cargo".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> &'static Path {
        Path::new(".")
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(here(), &["no-such-subcommand", "two words"]).unwrap_err().to_string();
        assert!(error.contains("cargo no-such-subcommand 'two words'"), "{error}");
    }

    #[test]
    fn output_is_what_was_written() {
        assert!(output(here(), &["--version"]).unwrap().starts_with("cargo "));
        assert!(!has(here(), "no-such-subcommand"));
        assert!(has(here(), "fmt"));
    }
}
