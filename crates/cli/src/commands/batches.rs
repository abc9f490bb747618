//! `batches`: a list, one of them, or an end to one.

use std::path::Path;

use serde_json::{Value, json};
use turnwise::BatchId;

use crate::client::{Client, Listing};
use crate::show::{self, Column, ago, date, field};

/// The listing of batches.
pub(crate) const BATCHES: Listing = Listing { path: "/api/v1/batches", name: "batches" };

/// List batches, newest first, or show one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this batch.
    #[arg(value_name = "ID")]
    id: Option<BatchId>,
    /// End it: jobs that have not ended are cancelled.
    #[arg(long, requires = "id", conflicts_with = "release")]
    cancel: bool,
    /// Let a parked batch go on although not all its jobs were done.
    #[arg(long, requires = "id")]
    release: bool,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = show::rows())]
    limit: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    match args.id {
        Some(id) => one(args, &client, id),
        None => list(args, &client),
    }
}

fn one(args: &Args, client: &Client, id: BatchId) -> anyhow::Result<()> {
    for (wanted, verb) in [(args.cancel, "cancel"), (args.release, "release")] {
        if wanted {
            client.post(&format!("/api/v1/batches/{id}/{verb}"), &json!({}))?;
        }
    }
    let view = client.get(&format!("/api/v1/batches/{id}"), &[])?;
    if args.json {
        show::json(&view);
        return Ok(());
    }
    for name in ["id", "name", "owner", "phase", "total", "done", "dead", "cancelled", "pending", "repaired"]
    {
        show::line(format!("{name:<10} {}", show::harmless(&field(&view, name))));
    }
    show::line(format!("{:<10} {}", "opened", date(&view, "opened")));
    show::line(format!("{:<10} {}", "settled", date(&view, "settled")));
    if !view["then"].is_null() {
        show::line(format!(
            "{:<10} {} when {}",
            "then",
            field(&view["then"], "job"),
            field(&view["then"], "when")
        ));
    }
    if view["phase"] == "parked" {
        show::line("It is parked: not all jobs were done. Replay what failed, or go on with --release.");
    }
    Ok(())
}

fn list(args: &Args, client: &Client) -> anyhow::Result<()> {
    let (rows, next) = client.rows(&BATCHES, Vec::new(), args.limit as usize)?;
    if args.json {
        show::json(&json!({"batches": rows, "next": next}));
        return Ok(());
    }
    let columns = [
        Column { title: "ID", cell: |row| field(row, "id") },
        Column { title: "NAME", cell: |row| field(row, "name") },
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "PHASE", cell: |row| field(row, "phase") },
        Column { title: "ENDED", cell: ended },
        Column { title: "DEAD", cell: |row| field(row, "dead") },
        Column { title: "OPENED", cell: |row| ago(row, "opened") },
    ];
    show::table(&columns, &rows, "No batches.");
    Ok(())
}

fn ended(row: &Value) -> String {
    let total = row["total"].as_u64().unwrap_or(0);
    format!("{}/{total}", total.saturating_sub(row["pending"].as_u64().unwrap_or(0)))
}
