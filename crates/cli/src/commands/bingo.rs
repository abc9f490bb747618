//! `bingo`: events that are simulated many times, on a server or right here.

mod bar;
mod looking;
mod output;
mod running;
mod talk;
mod told;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args as ClapArgs, Subcommand};
use turnwise::BatchId;
use turnwise_bingo::shipped;

use crate::failure::{refused, usage};
use crate::{Home, show};

/// More than any scenario may have.
const FILE_BYTES: u64 = 8 << 20;

/// Simulate bingo events.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "Examples:
  turnwise bingo samples performance > event.json
  turnwise bingo check event.json
  turnwise bingo run event.json --runs 1000000 --seed spring
  turnwise bingo results ID && turnwise bingo rerun ID --run 4711

Without a running server, `run` does it in this process: on the data directory that is named (--data, TURNWISE_DATA), or on
one that is thrown away afterwards.";

#[derive(Debug, Subcommand)]
enum What {
    /// Look for what is wrong with a scenario file; nothing is queued.
    Check(Check),
    /// Simulate a scenario many times, and print what it came to.
    Run(running::Args),
    /// List batches, newest first.
    List(Listing),
    /// Print what a batch came to.
    Results(One),
    /// Tell one run of a batch again, event by event.
    Rerun(looking::Rerun),
    /// Compare two batches, team by team.
    Compare(looking::Compare),
    /// Write every single run of a batch.
    Export(looking::Export),
    /// End a batch early. What was simulated by then is merged all the same.
    Cancel(One),
    /// List the scenarios that ship with the program, or print one.
    Samples {
        /// Which one.
        name: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
struct Check {
    /// The scenario file; `-` reads standard input.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
struct One {
    /// The batch.
    id: BatchId,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
struct Listing {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, home: &Home) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Check(args) => check(args)?,
        What::Run(args) => return running::run(args, home),
        What::List(args) => looking::list(home, args.json)?,
        What::Results(One { id, json }) => looking::results(home, *id, *json)?,
        What::Rerun(args) => looking::rerun(home, args)?,
        What::Compare(args) => looking::compare(home, args)?,
        What::Export(args) => looking::export(home, args)?,
        What::Cancel(One { id, json }) => looking::cancel(home, *id, *json)?,
        What::Samples { name } => samples(name.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of a scenario file, if it is not absurdly large.
fn text_of(file: &std::path::Path) -> anyhow::Result<String> {
    use std::io::Read as _;
    let source: Box<dyn std::io::Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin().lock()),
        _ => {
            let opened = std::fs::File::open(file);
            Box::new(opened.map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?)
        }
    };
    let mut bytes = Vec::new();
    source
        .take(FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(usage(format!("{} has more than {FILE_BYTES} bytes: it is no scenario", file.display())));
    }
    String::from_utf8(bytes).map_err(|_| usage(format!("{} is not UTF-8: it is no scenario", file.display())))
}

fn check(args: &Check) -> anyhow::Result<()> {
    let text = text_of(&args.file)?;
    match turnwise_bingo::check(&text) {
        Ok(scenario) => {
            let plan = turnwise_bingo::Plan::new(&scenario);
            if args.json {
                show::json(&serde_json::json!({
                    "ok": true, "name": scenario.name(), "teams": plan.teams(), "rows": plan.rows(),
                    "tiles": plan.tiles().len(), "faults": [],
                }));
                return Ok(());
            }
            let (name, rows) = (show::harmless(scenario.name()), plan.rows());
            let hours = f64::from(plan.duration_seconds()) / 3_600.0;
            show::line(format!(
                "{name}: {} teams, {rows} rows, {hours} hours. All is well.",
                plan.teams().len()
            ));
            Ok(())
        }
        Err(faults) => {
            if args.json {
                show::json(&serde_json::json!({"ok": false, "faults": faults.list(), "more": faults.more()}));
            }
            let count = faults.list().len() + faults.more();
            let word = if count == 1 { "fault" } else { "faults" };
            Err(refused(format!("{} has {count} {word}:\n{faults}", args.file.display())))
        }
    }
}

fn samples(name: Option<&str>) -> anyhow::Result<()> {
    match name {
        None => shipped().iter().for_each(|one| show::line(one.name)),
        Some(name) => match shipped().iter().find(|one| one.name == name) {
            Some(found) => show::line(found.text.trim_end()),
            None => {
                let names: Vec<&str> = shipped().iter().map(|one| one.name).collect();
                return Err(usage(format!("there is no sample `{name}`: there are {}", names.join(", "))));
            }
        },
    }
    Ok(())
}
