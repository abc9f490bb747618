//! `schedules`: jobs that come again by the clock.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::submit::payloads;
use crate::client::{Client, segment};
use crate::show::{self, Column, date, field};

/// Schedules.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List them with their next ticks.
    List(Json),
    /// Save one: each tick of its cron line submits a job. One of the same name is replaced.
    Save(Save),
    /// Remove one.
    Remove(Remove),
}

#[derive(Debug, clap::Args)]
struct Json {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Save {
    /// What it is called.
    name: String,
    /// A cron line of five fields, or six with seconds: '0 3 * * *'.
    line: String,
    /// The kind of its jobs.
    kind: String,
    /// Their arguments, as JSON; `@FILE` reads a file.
    #[arg(default_value = "{}")]
    payload: String,
    /// The time zone that the line is read in, such as Europe/Berlin [default: UTC].
    #[arg(long)]
    zone: Option<String>,
    /// Whose turns its jobs take.
    #[arg(long)]
    owner: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Remove {
    /// What it is called.
    name: String,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    match &args.verb {
        Verb::List(Json { json }) => list(&client, *json),
        Verb::Save(new) => save(&client, new),
        Verb::Remove(Remove { name }) => {
            client.delete(&format!("/api/v1/schedules/{}", segment(name)))?;
            show::line(format!("schedule {} is removed", show::harmless(name)));
            Ok(())
        }
    }
}

fn list(client: &Client, json: bool) -> anyhow::Result<()> {
    let found = client.get("/api/v1/schedules", &[])?;
    if json {
        show::json(&found);
        return Ok(());
    }
    let columns = [
        Column { title: "NAME", cell: |row| field(row, "name") },
        Column { title: "LINE", cell: |row| field(row, "line") },
        Column { title: "ZONE", cell: |row| field(row, "zone") },
        Column { title: "KIND", cell: |row| field(row, "kind") },
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "NEXT", cell: |row| date(row, "next") },
    ];
    let rows = found["schedules"].as_array().cloned().unwrap_or_default();
    show::table(&columns, &rows, "No schedule. Save one with `turnwise schedules save`.");
    Ok(())
}

fn save(client: &Client, new: &Save) -> anyhow::Result<()> {
    let mut body = Map::new();
    body.insert("line".into(), json!(new.line));
    body.insert("kind".into(), json!(new.kind));
    body.insert("payload".into(), payloads::one(&new.payload)?);
    for (name, value) in [("zone", &new.zone), ("owner", &new.owner)] {
        body.extend(value.iter().map(|value| (name.to_owned(), json!(value))));
    }
    let saved = client.put(&format!("/api/v1/schedules/{}", segment(&new.name)), &Value::Object(body))?;
    match new.json {
        true => show::json(&saved),
        false => show::line(format!("schedule {}: next {}", show::harmless(&new.name), date(&saved, "next"))),
    }
    Ok(())
}
