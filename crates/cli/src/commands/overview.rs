//! `lanes`, `owners`, `kinds`, `leases`, `queue`, `settings`, `ready`: what there is besides jobs and batches.

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

/// List kinds, or set one's limits.
#[derive(Debug, clap::Args)]
pub(crate) struct Kinds {
    /// Set something for this kind. It holds until a program declares the kind again, which it does when it starts.
    #[arg(value_name = "KIND")]
    kind: Option<String>,
    /// How many run at once in all processes together, or `none`.
    #[arg(long, value_name = "N", requires = "kind", value_parser = number)]
    cap: Option<Value>,
    /// How many run at once for one limit key, or `none`.
    #[arg(long, value_name = "N", requires = "kind", value_parser = number)]
    key_cap: Option<Value>,
    /// How many start in a time, such as 10/1s, or `none`.
    #[arg(long, value_name = "N/SPAN", requires = "kind", value_parser = rate)]
    rate: Option<Value>,
    /// How many start in a time for one limit key, or `none`.
    #[arg(long, value_name = "N/SPAN", requires = "kind", value_parser = rate)]
    key_rate: Option<Value>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A number, or nothing.
fn number(text: &str) -> Result<Value, String> {
    match text {
        "none" => Ok(Value::Null),
        _ => text
            .parse::<u32>()
            .map(Value::from)
            .map_err(|_| format!("`{text}` is neither a number nor `none`")),
    }
}

/// So many in a time, or nothing.
fn rate(text: &str) -> Result<Value, String> {
    if text == "none" {
        return Ok(Value::Null);
    }
    let bad = || format!("`{text}` is no rate: write how many in how long, such as 10/1s, or `none`");
    let (count, per) = text.split_once('/').ok_or_else(bad)?;
    let count: u32 = count.parse().map_err(|_| bad())?;
    let per = crate::span::parse(per)?;
    Ok(json!({"count": count, "per_ms": u64::try_from(per.as_millis()).map_err(|_| bad())?}))
}

/// Something that is only looked at.
#[derive(Debug, clap::Args)]
pub(crate) struct Look {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The queue of a kind.
#[derive(Debug, clap::Args)]
pub(crate) struct Queue {
    /// Which kind.
    #[arg(value_name = "KIND")]
    kind: String,
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
    let client = Client::open(data)?;
    if let Some(kind) = &args.kind {
        let said = [
            ("cap", &args.cap),
            ("key_cap", &args.key_cap),
            ("rate", &args.rate),
            ("key_rate", &args.key_rate),
        ];
        let change: serde_json::Map<String, Value> =
            said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        if change.is_empty() {
            return Err(usage("say what to set for this kind: --cap, --key-cap, --rate or --key-rate"));
        }
        client.patch(&format!("/api/v1/kinds/{}", segment(kind)), &change.into())?;
    }
    let found = client.get("/api/v1/kinds", &[])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    let columns = [
        Column { title: "KIND", cell: |row| field(row, "name") },
        Column { title: "POOL", cell: |row| field(row, "pool") },
        Column { title: "ATTEMPTS", cell: |row| field(&row["retry"], "attempts") },
        Column { title: "CAP", cell: |row| field(row, "cap") },
        Column { title: "RATE", cell: |row| rate_words(&row["rate"]) },
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

fn rate_words(rate: &Value) -> String {
    match (rate["count"].as_u64(), rate["per_ms"].as_u64()) {
        (Some(count), Some(per)) => {
            format!("{count}/{}", crate::span::rough(std::time::Duration::from_millis(per)))
        }
        _ => "-".into(),
    }
}

/// Who holds which right.
pub(crate) fn leases(args: &Look, data: &Path) -> anyhow::Result<()> {
    let found = Client::open(data)?.get("/api/v1/leases", &[])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    super::nodes::leases(&found);
    Ok(())
}

/// The settings in force in the process that is asked.
pub(crate) fn settings(args: &Look, data: &Path) -> anyhow::Result<()> {
    let found = Client::open(data)?.get("/api/v1/settings", &[])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    let columns = [
        Column { title: "SETTING", cell: |row| field(row, "name") },
        Column { title: "VALUE", cell: |row| field(row, "value") },
        Column { title: "FROM", cell: |row| field(row, "from") },
    ];
    show::table(&columns, &found["settings"].as_array().cloned().unwrap_or_default(), "No settings.");
    Ok(())
}

/// One queue at a glance.
pub(crate) fn queue(args: &Queue, data: &Path) -> anyhow::Result<()> {
    let found = Client::open(data)?.get("/api/v1/queue-status", &[("kind", args.kind.clone())])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    let counts = ["waiting", "active", "delayed", "failed", "completed"];
    let counts = counts.map(|name| format!("{} {name}", field(&found["queue"], name)));
    show::line(format!("{}: {}", show::harmless(&args.kind), counts.join(", ")));
    show::line(format!("stale: {}", field(&found["staleInstances"], "count")));
    let columns = [
        Column { title: "STANDS", cell: |row| field(row, "stands") },
        Column { title: "JOB", cell: |row| field(row, "id") },
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "ATTEMPT", cell: |row| field(row, "attempt") },
    ];
    let parts = [
        ("activeJobs", "active"),
        ("waitingJobs", "waiting"),
        ("recentCompleted", "completed"),
        ("recentFailed", "failed"),
    ];
    let mut rows = Vec::new();
    for (part, stands) in parts {
        for mut row in found[part].as_array().cloned().unwrap_or_default() {
            row["stands"] = stands.into();
            rows.push(row);
        }
    }
    show::table(&columns, &rows, "Nothing runs, waits or ended lately.");
    Ok(())
}

fn yes(row: &Value, name: &str) -> String {
    if row[name] == true { "yes".into() } else { "-".into() }
}

/// Says that the node can do its work. What is missing if it cannot is the error.
pub(crate) fn ready(args: &Look, data: &Path) -> anyhow::Result<()> {
    let answer = Client::open(data)?.get("/ready", &[])?;
    match args.json {
        true => show::json(&answer),
        false => show::line("ready"),
    }
    Ok(())
}
