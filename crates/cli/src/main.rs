//! The one program of Turnwise: it runs an engine, and talks to one that runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to people")]

mod apps;
mod bench;
mod builtin;
mod client;
mod commands;
mod failure;
mod log;
mod place;
mod private;
mod settings;
mod show;
mod span;
mod token;
mod traces;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use commands::{
    backup, batches, bingo, control, dead, doctor, events, forge, jobs, nodes, overview, schedules, submit,
    tokens, top, up, watch,
};
use settings::{Flags, Layers};

/// A durable work engine: every job gets its turn, once.
///
/// `turnwise up` runs an engine on a data directory. The other commands talk to it, on the same machine:
/// `turnwise submit echo '{"hello":"world"}' --wait`, `turnwise jobs`, `turnwise watch`.
#[derive(Debug, Parser)]
#[command(name = "turnwise", version, propagate_version = true, after_help = AFTER)]
struct Cli {
    #[command(flatten)]
    home: Home,
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "Exit codes: 0 done, 1 refused or failed, 2 called wrongly, 3 no engine to talk to.";

/// Where the engine and its settings are.
#[derive(Debug, clap::Args)]
struct Home {
    /// The data directory [default: ./turnwise-data, or TURNWISE_DATA].
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// A configuration file [default: none, or TURNWISE_CONFIG].
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Home {
    fn flags(&self) -> Flags {
        self.data.iter().map(|data| ("data", data.clone())).collect()
    }

    /// The data directory. Other settings are not looked at: a mistake in one must not keep an operator out.
    fn data(&self) -> anyhow::Result<PathBuf> {
        Layers::read(self.config.as_deref(), self.flags())?.parsed("data", |text| Ok(text.into()))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an engine here, with its dashboard and its API.
    Up(up::Args),
    /// Submit a job, or many.
    Submit(submit::Args),
    /// List jobs, or show one.
    Jobs(jobs::Args),
    /// End a job. One that runs is told to stop.
    Cancel(control::Job),
    /// Start a job that is due later now.
    Retry(control::Job),
    /// Give a dead or cancelled job a new life with all its attempts.
    Replay(control::Job),
    /// List batches, or show, cancel or release one.
    Batches(batches::Args),
    /// List the lanes that have jobs.
    Lanes(overview::Listing),
    /// List owners with their counts, or set one's share.
    Owners(overview::Owners),
    /// List the kinds of job that the engine knows, or set one's limits.
    Kinds(overview::Kinds),
    /// List the nodes with what they do, and the leases with their holders.
    Nodes(nodes::Args),
    /// List the leases with their holders and terms.
    Leases(overview::Look),
    /// Show the queue of a kind at a glance.
    Queue(overview::Queue),
    /// Print the settings in force in the process that runs.
    Settings(overview::Look),
    /// Say whether the node can reach all that it needs; exit code 1 if not.
    Ready(overview::Look),
    /// Let nothing of a kind, an owner, a batch or a lane start, or nothing on a node. What runs, runs on.
    Pause(control::What),
    /// End a pause.
    Resume(control::What),
    /// Let a node begin nothing more, so that it can be stopped without anybody noticing.
    Drain(control::Drain),
    /// Dead letters: jobs that failed for good.
    Dead(dead::Args),
    /// Jobs that come again by the clock.
    Schedules(schedules::Args),
    /// Print what happened, and with --follow what happens.
    Events(events::Args),
    /// Who may ask the engine for what.
    Tokens(tokens::Args),
    /// Watch unfinished batches; with a batch, until it has settled.
    Watch(watch::Args),
    /// Watch the whole engine on one screen.
    Top(top::Args),
    /// Generate, commit and publish services, strictly in order.
    Forge(forge::Args),
    /// Look for what is wrong, and print the settings in force.
    Doctor(doctor::Args),
    /// Copy the database to a file, also while an engine runs on it.
    Backup(backup::Args),
    /// Simulate bingo events: check a scenario, run it many times, look at results, compare.
    Bingo(bingo::Args),
    /// Measure the engine on this machine.
    Bench(bench::Args),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("turnwise: {}", show::harmless_lines(&format!("{error:#}")));
            ExitCode::from(failure::Failure::exit_code(&error))
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let home = cli.home;
    let data = || home.data();
    match cli.command {
        Command::Up(args) => up::run(&args, &home)?,
        Command::Submit(args) => return submit::run(&args, &data()?),
        Command::Jobs(args) => jobs::run(&args, &data()?)?,
        Command::Cancel(job) => control::job("cancel", &job, &data()?)?,
        Command::Retry(job) => control::job("retry", &job, &data()?)?,
        Command::Replay(job) => control::job("replay", &job, &data()?)?,
        Command::Batches(args) => batches::run(&args, &data()?)?,
        Command::Lanes(args) => overview::lanes(&args, &data()?)?,
        Command::Owners(args) => overview::owners(&args, &data()?)?,
        Command::Kinds(args) => overview::kinds(&args, &data()?)?,
        Command::Nodes(args) => nodes::run(&args, &data()?)?,
        Command::Leases(args) => overview::leases(&args, &data()?)?,
        Command::Queue(args) => overview::queue(&args, &data()?)?,
        Command::Settings(args) => overview::settings(&args, &data()?)?,
        Command::Ready(args) => overview::ready(&args, &data()?)?,
        Command::Pause(what) => control::pause(&what, true, &data()?)?,
        Command::Resume(what) => control::pause(&what, false, &data()?)?,
        Command::Drain(args) => control::drain(&args, &data()?)?,
        Command::Dead(args) => dead::run(&args, &data()?)?,
        Command::Schedules(args) => schedules::run(&args, &data()?)?,
        Command::Events(args) => events::run(&args, &data()?)?,
        Command::Tokens(args) => tokens::run(&args, &data()?)?,
        Command::Watch(args) => return watch::run(&args, &data()?),
        Command::Top(args) => top::run(&args, &data()?)?,
        Command::Forge(args) => return forge::run(&args, &home),
        Command::Doctor(args) => return doctor::run(&args, &home),
        Command::Backup(args) => backup::run(&args, &data()?)?,
        Command::Bingo(args) => return bingo::run(&args, &home),
        Command::Bench(args) => bench::run(args)?,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "turnwise", &mut std::io::stdout());
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_make_sense() {
        Cli::command().debug_assert();
    }
}
