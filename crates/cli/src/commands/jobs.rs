//! `jobs`: a list, or everything about one.

use std::path::Path;

use serde_json::{Value, json};
use turnwise::{BatchId, JobId, State};

use crate::client::{Client, Listing};
use crate::show::{self, Column, ago, date, field};

/// The listing of jobs.
pub(crate) const JOBS: Listing = Listing { path: "/api/v1/jobs", name: "jobs" };

/// List jobs, newest first, or show one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this job.
    #[arg(value_name = "ID", conflicts_with_all = ["state", "kind", "owner", "batch", "before"])]
    id: Option<JobId>,
    /// Only in this state: waiting, scheduled, ready, running, retrying, done, dead, cancelled.
    #[arg(long)]
    state: Option<State>,
    /// Only of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only of this owner.
    #[arg(long)]
    owner: Option<String>,
    /// Only of this batch.
    #[arg(long, value_name = "ID")]
    batch: Option<BatchId>,
    /// Only older than this job.
    #[arg(long, value_name = "ID")]
    before: Option<JobId>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = show::rows())]
    limit: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    if let Some(id) = args.id {
        return one(&client, id, args.json);
    }
    let query = [
        ("state", args.state.map(|state| state.to_string())),
        ("kind", args.kind.clone()),
        ("owner", args.owner.clone()),
        ("batch", args.batch.map(|batch| batch.to_string())),
        ("before", args.before.map(|before| before.to_string())),
    ];
    let query = query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    list(&client, query, args.limit as usize, args.json)
}

/// Prints a list of jobs.
pub(crate) fn list(
    client: &Client,
    query: Vec<(&str, String)>,
    limit: usize,
    json: bool,
) -> anyhow::Result<()> {
    let (rows, next) = client.rows(&JOBS, query, limit)?;
    if json {
        show::json(&json!({"jobs": rows, "next": next}));
        return Ok(());
    }
    let columns = [
        Column { title: "ID", cell: |row| field(row, "id") },
        Column { title: "KIND", cell: |row| field(row, "kind") },
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "STATE", cell: |row| field(row, "state") },
        Column { title: "TRY", cell: |row| format!("{}/{}", field(row, "attempt"), field(row, "attempts")) },
        Column { title: "SINCE", cell: |row| ago(row, "at") },
        Column { title: "BATCH", cell: |row| field(row, "batch") },
    ];
    show::table(&columns, &rows, "No jobs match.");
    if let Some(next) = next.as_str() {
        show::line(format!("There are more: --before {next}"));
    }
    Ok(())
}

/// Prints everything about a job.
pub(crate) fn one(client: &Client, id: JobId, json: bool) -> anyhow::Result<()> {
    let view = client.get(&format!("/api/v1/jobs/{id}"), &[])?;
    if json {
        show::json(&view);
        return Ok(());
    }
    for name in ["id", "kind", "owner", "state", "batch", "lane", "priority"] {
        say(name, &field(&view, name));
    }
    say("attempt", &format!("{} of {}", field(&view, "attempt"), field(&view, "attempts")));
    say("submitted", &date(&view, "submitted"));
    say("since", &date(&view, "at"));
    if view["cancel_asked"] == true {
        say("cancel", "asked for; it ends when its handler does");
    }
    if let Some(fraction) = view["progress"]["fraction"].as_f64() {
        say("progress", &format!("{:.0} % {}", fraction * 100.0, field(&view["progress"], "note")));
    }
    if view["steps"].as_array().is_some_and(|steps| !steps.is_empty()) {
        say("steps", &view["steps"].to_string());
    }
    say("payload", &view["payload"].to_string());
    if !view["result"].is_null() {
        say("result", &view["result"].to_string());
    }
    for error in view["errors"].as_array().into_iter().flatten() {
        say("error", &told(error));
    }
    Ok(())
}

fn told(error: &Value) -> String {
    let head =
        format!("attempt {}, {}, {}", field(error, "attempt"), date(error, "ended"), field(error, "failure"));
    format!("{head}: {}", field(error, "error"))
}

fn say(name: &str, text: &str) {
    show::line(format!("{name:<10} {}", show::harmless_lines(text)));
}
