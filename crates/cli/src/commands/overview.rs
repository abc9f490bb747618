//! `lanes`, `owners`, `kinds`, `ready`: what there is besides jobs and batches.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Client, Listing as Pages, segment};
use crate::failure::usage;
use crate::show::{self, Column, field};

/// A listing.
#[derive(Debug, clap::Args)]
pub(crate) struct Listing {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = show::rows())]
    limit: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// List owners, or set one's share.
#[derive(Debug, clap::Args)]
pub(crate) struct Owners {
    #[command(flatten)]
    listing: Listing,
    /// Set something for this owner.
    #[arg(value_name = "OWNER")]
    owner: Option<String>,
    /// Its share of the turns, relative to the others': 1 to 1000.
    #[arg(long, value_name = "N", requires = "owner")]
    weight: Option<u32>,
    /// How many unfinished jobs it may have.
    #[arg(long, value_name = "N", requires = "owner")]
    quota: Option<u64>,
}

/// List kinds.
#[derive(Debug, clap::Args)]
pub(crate) struct Kinds {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn lanes(args: &Listing, data: &Path) -> anyhow::Result<()> {
    let pages = Pages { path: "/api/v1/lanes", name: "lanes" };
    let (rows, next) = Client::open(data)?.rows(&pages, Vec::new(), args.limit as usize)?;
    if args.json {
        show::json(&json!({"lanes": rows, "next": next}));
        return Ok(());
    }
    let columns = [
        Column { title: "LANE", cell: |row| field(row, "name") },
        Column { title: "HEAD", cell: |row| field(&row["head"], "id") },
        Column { title: "STATE", cell: |row| field(&row["head"], "state") },
        Column { title: "WAITING", cell: |row| field(row, "waiting") },
        Column { title: "STANDS", cell: stands },
    ];
    show::table(&columns, &rows, "No lane has jobs.");
    Ok(())
}

fn stands(row: &Value) -> String {
    match (row["halted"] == true, row["paused"] == true) {
        (true, _) => "halted after a dead letter".into(),
        (false, true) => "paused".into(),
        (false, false) => "-".into(),
    }
}

pub(crate) fn owners(args: &Owners, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    if let Some(owner) = &args.owner {
        if args.weight.is_none() && args.quota.is_none() {
            return Err(usage("say what to set for this owner: --weight, --quota or both"));
        }
        let mut change = serde_json::Map::new();
        change.extend(args.weight.map(|weight| ("weight".to_owned(), weight.into())));
        change.extend(args.quota.map(|quota| ("quota".to_owned(), quota.into())));
        client.patch(&format!("/api/v1/owners/{}", segment(owner)), &change.into())?;
    }
    let pages = Pages { path: "/api/v1/owners", name: "owners" };
    let (rows, next) = client.rows(&pages, Vec::new(), args.listing.limit as usize)?;
    if args.listing.json {
        show::json(&json!({"owners": rows, "next": next}));
        return Ok(());
    }
    let columns = [
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "WEIGHT", cell: |row| field(row, "weight") },
        Column { title: "UNFINISHED", cell: |row| field(row, "backlog") },
        Column { title: "READY", cell: |row| field(row, "ready") },
        Column { title: "RUNNING", cell: |row| field(row, "running") },
        Column { title: "WAITING", cell: |row| field(row, "waiting") },
        Column { title: "DONE", cell: |row| field(row, "done") },
        Column { title: "DEAD", cell: |row| field(row, "dead") },
        Column { title: "PAUSED", cell: |row| yes(row, "paused") },
    ];
    show::table(&columns, &rows, "No owner has submitted anything yet.");
    Ok(())
}

pub(crate) fn kinds(args: &Kinds, data: &Path) -> anyhow::Result<()> {
    let found = Client::open(data)?.get("/api/v1/kinds", &[])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    let columns = [
        Column { title: "KIND", cell: |row| field(row, "name") },
        Column { title: "POOL", cell: |row| field(row, "pool") },
        Column { title: "ATTEMPTS", cell: |row| field(&row["retry"], "attempts") },
        Column { title: "CAP", cell: |row| field(row, "cap") },
        Column { title: "PAUSED", cell: |row| yes(row, "paused") },
        Column {
            title: "WORKER",
            cell: |row| if row["alarm"] == true { "MISSING, jobs wait".into() } else { "-".into() },
        },
    ];
    let rows = found["kinds"].as_array().cloned().unwrap_or_default();
    show::table(&columns, &rows, "No kinds.");
    for off in found["off"].as_array().into_iter().flatten() {
        show::line(format!(
            "{} is off: allow it with `turnwise up {}`",
            field(off, "name"),
            field(off, "flag")
        ));
    }
    Ok(())
}

fn yes(row: &Value, name: &str) -> String {
    if row[name] == true { "yes".into() } else { "-".into() }
}

/// Says that the node can do its work. What is missing if it cannot is the error.
pub(crate) fn ready(args: &Kinds, data: &Path) -> anyhow::Result<()> {
    let answer = Client::open(data)?.get("/ready", &[])?;
    match args.json {
        true => show::json(&answer),
        false => show::line("ready"),
    }
    Ok(())
}
