//! `cargo xtask`: the commands of a developer's day. `cargo xtask test` is the one gate.
// A command line speaks on stdout; the lint is meant for libraries.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cargo;
mod dist;
mod docs;
mod gate;
mod packages;
mod screenshots;
mod servers;
mod source;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Developer commands of Turnwise.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The gate: every check that a change must pass, in order, up to the first failure.
    Test(gate::Options),
    /// Checks the habits of this code base: sizes, names, layers, links, unfinished work.
    Tidy,
    /// Writes the generated parts of the documents again.
    Docs {
        /// Write nothing; fail if a document is not in step with the code.
        #[arg(long)]
        check: bool,
    },
    /// Builds the program for others: one archive with everything that belongs to it.
    Dist(dist::Options),
    /// Takes the pictures of the dashboard in the documents anew.
    Screenshots,
    /// The servers of a fleet on this machine: PostgreSQL, RabbitMQ and Redis.
    #[command(subcommand)]
    Servers(servers::Action),
    /// Runs the simulation, optimised: `--seeds N`, `--from N`, `--seed N`, `--trace`.
    #[command(disable_help_flag = true)]
    Sim(PassedOn),
    /// Runs `turnwise bench`, optimised.
    #[command(disable_help_flag = true)]
    Bench(PassedOn),
}

/// Arguments that belong to the program which is started, `--help` included.
#[derive(clap::Args)]
struct PassedOn {
    /// Passed on as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

fn main() -> ExitCode {
    // Printed by hand: a backtrace of this program would bury the command to rerun.
    match obey(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> Result<()> {
    let root = root()?;
    match command {
        Command::Test(options) => gate::run(&root, &options),
        Command::Tidy => tidy::run(&root),
        Command::Docs { check } => docs::run(&root, check),
        Command::Dist(options) => dist::run(&root, &target(&root), &options),
        Command::Screenshots => screenshots::run(&root),
        Command::Servers(action) => servers::run(&target(&root), &action),
        Command::Sim(passed) => cargo::run(&root, &passed.after(&SIM)),
        Command::Bench(passed) => cargo::run(&root, &passed.after(&BENCH)),
    }
}

const SIM: [&str; 5] = ["run", "--release", "-p", "turnwise-sim", "--"];
const BENCH: [&str; 6] = ["run", "--release", "-p", "turnwise-cli", "--", "bench"];

impl PassedOn {
    fn after<'a>(&'a self, start: &[&'a str]) -> Vec<&'a str> {
        start.iter().copied().chain(self.args.iter().map(String::as_str)).collect()
    }
}

/// The workspace's folder. Cargo says at run time where this package lives, so a moved checkout is no trouble.
fn root() -> Result<PathBuf> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`, not directly")?;
    let root = Path::new(&package).parent().context("the xtask folder must be inside the workspace")?;
    Ok(root.to_owned())
}

/// The folder of what is built.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn flags_of_the_simulation_are_passed_on_untouched() {
        let cli = Cli::try_parse_from(["xtask", "sim", "--seed", "7", "--trace", "--help"]).unwrap();
        let Command::Sim(passed) = cli.command else { panic!("not the simulation") };
        assert_eq!(passed.after(&SIM)[5..], ["--seed", "7", "--trace", "--help"]);
    }

    #[test]
    fn an_unknown_step_is_refused() {
        assert!(Cli::try_parse_from(["xtask", "test", "--only", "nonsense"]).is_err());
        assert!(Cli::try_parse_from(["xtask", "test", "--only", "fmt", "--only", "tidy"]).is_ok());
    }
}
