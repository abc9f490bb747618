//! Looking at batches: what there is, what one came to, one of its runs, two of them, all of its runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnwise::BatchId;
use turnwise_bingo::Format;

use super::output::Output;
use super::talk::Talk;
use super::{running, told};
use crate::failure::refused;
use crate::show::{self, Column, ago, field};
use crate::{Home, span};

/// Batches that a listing shows at least, if there are so many.
const ENOUGH: usize = 100;
/// Pages after which it gives up looking for them: they have passed over a hundred thousand batches of others.
const PAGES: usize = 100;

/// Tell one run of a batch again.
#[derive(Debug, clap::Args)]
pub(super) struct Rerun {
    /// The batch.
    id: BatchId,
    /// Which run, from 0.
    #[arg(long, value_name = "N")]
    run: u64,
    /// Only this team, by its key.
    #[arg(long)]
    team: Option<String>,
    /// Attempts and drops too, not only sessions, tiles and rows.
    #[arg(long)]
    all: bool,
    /// Print JSON, with everything.
    #[arg(long)]
    json: bool,
}

/// Compare two batches.
#[derive(Debug, clap::Args)]
pub(super) struct Compare {
    /// The first batch.
    first: BatchId,
    /// The second batch.
    second: BatchId,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Write every single run of a batch.
#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// The batch.
    id: BatchId,
    /// CSV, or JSON with one run in a line.
    #[arg(long, value_enum, default_value_t = Written::Csv)]
    format: Written,
    /// Where to; standard output unless said.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Written {
    Csv,
    Json,
}

pub(super) fn list(home: &Home, as_json: bool) -> anyhow::Result<()> {
    let talk = Talk::open(home, None)?;
    let (mut rows, mut next) = (Vec::new(), None::<String>);
    // A page passes over a bounded number of other batches: a short or empty one is not the end.
    for _ in 0..PAGES {
        let mut page = talk.list(next.as_deref())?;
        next = page["next"].as_str().map(str::to_owned);
        rows.extend(page["batches"].as_array_mut().into_iter().flat_map(std::mem::take));
        if rows.len() >= ENOUGH || next.is_none() {
            break;
        }
    }
    if as_json {
        show::json(&json!({"batches": rows, "next": next}));
        return Ok(());
    }
    let columns = [
        Column { title: "ID", cell: |row| field(row, "id") },
        Column { title: "NAME", cell: |row| field(row, "name") },
        Column { title: "STATUS", cell: |row| field(row, "status") },
        Column { title: "RUNS", cell: |row| format!("{}/{}", field(row, "ended_runs"), field(row, "runs")) },
        Column { title: "FAILED", cell: |row| field(row, "failed_runs") },
        Column { title: "RUNS/S", cell: |row| format!("{:.0}", row["runs_per_s"].as_f64().unwrap_or(0.0)) },
        Column { title: "SEED", cell: |row| field(row, "seed") },
        Column { title: "STARTED", cell: |row| ago(row, "started") },
    ];
    show::table(&columns, &rows, "No batches. `turnwise bingo run FILE --runs 100000` makes one.");
    Ok(())
}

pub(super) fn results(home: &Home, id: BatchId, json: bool) -> anyhow::Result<()> {
    let talk = Talk::open(home, None)?;
    let status = talk.status(&id.to_string())?;
    let told = match talk.results(&id.to_string()) {
        Ok(results) => running::report(&status, &results),
        Err(error) => {
            let (word, ended, runs) =
                (field(&status, "status"), field(&status, "ended_runs"), field(&status, "runs"));
            let why = status["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
            return Err(refused(format!("{why}. It is {word}: {ended} of {runs} runs have ended")));
        }
    };
    if json {
        show::json(&told);
    } else {
        told::results(&told);
    }
    Ok(())
}

pub(super) fn cancel(home: &Home, id: BatchId, json: bool) -> anyhow::Result<()> {
    let status = Talk::open(home, None)?.cancel(&id.to_string())?;
    match json {
        true => show::json(&status),
        false => show::line(format!("batch {id} ends; what was simulated is merged")),
    }
    Ok(())
}

pub(super) fn rerun(home: &Home, args: &Rerun) -> anyhow::Result<()> {
    let timeline = Talk::open(home, None)?.timeline(&args.id.to_string(), args.run)?;
    if args.json {
        show::json(&timeline);
        return Ok(());
    }
    let teams = timeline["teams"].as_array().cloned().unwrap_or_default();
    if let Some(wanted) = &args.team
        && teams.iter().all(|team| team["key"] != **wanted)
    {
        let keys: Vec<String> = teams.iter().map(|team| field(team, "key")).collect();
        return Err(refused(format!("there is no team `{wanted}`: there are {}", keys.join(", "))));
    }
    for (number, team) in teams.iter().enumerate() {
        if args.team.as_ref().is_some_and(|wanted| team["key"] != **wanted) {
            continue;
        }
        let run = &timeline["run"]["teams"][number];
        let (points, tiles) = (field(run, "points"), field(run, "tiles"));
        show::line(format!("{}: {points} points, {tiles} tiles", show::harmless(&field(team, "name"))));
        for moment in team["moments"].as_array().into_iter().flatten() {
            if args.all || !matches!(moment["what"].as_str(), Some("begun" | "ended" | "drop")) {
                show::line(format!("  {}", told::moment(moment)));
            }
        }
        if let Some(more) = team["left_out"].as_u64().filter(|more| *more > 0) {
            show::line(format!("  and {more} moments more"));
        }
    }
    Ok(())
}

pub(super) fn compare(home: &Home, args: &Compare) -> anyhow::Result<()> {
    let compared = Talk::open(home, None)?.compare(&args.first.to_string(), &args.second.to_string())?;
    if args.json {
        show::json(&compared);
        return Ok(());
    }
    told::comparison(&compared);
    Ok(())
}

pub(super) fn export(home: &Home, args: &Export) -> anyhow::Result<()> {
    let format = match args.format {
        Written::Csv => Format::Csv,
        Written::Json => Format::Json,
    };
    let talk = Talk::open(home, None)?;
    let id = args.id.to_string();
    match &args.output {
        None => {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            talk.export(&id, format, &mut out)?;
            out.flush()?;
        }
        Some(path) => {
            let mut out = Output::open(path).map_err(|error| cannot_write(path, &error))?;
            talk.export(&id, format, &mut out.to)?;
            out.keep().map_err(|error| cannot_write(path, &error))?;
        }
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    refused(format!("cannot write {}: {error}", path.display()))
}

/// A time of the event, as people say it.
pub(super) fn clock(second: &Value) -> String {
    match second.as_u64() {
        Some(second) => {
            let (days, rest) = (second / 86_400, second % 86_400);
            format!("{days}d {:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
        }
        None => "-".into(),
    }
}

/// A span in seconds, roughly.
pub(super) fn rough(seconds: f64) -> String {
    span::rough(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
