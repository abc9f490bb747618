//! `tokens`: who may ask the engine for what.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::client::{Client, segment};
use crate::show::{self, Column, date, field};
use crate::span;

/// Tokens for the API.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List them, without the tokens themselves.
    List(Json),
    /// Make one. It is printed once, and kept nowhere.
    Create(Create),
    /// Take one back: it is refused from now on.
    Revoke(Revoke),
    /// Print the link that logs a browser in with the first token, which may do everything.
    Link,
}

#[derive(Debug, clap::Args)]
struct Json {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What it is called.
    name: String,
    /// What it may do: read, submit, work, admin. Several with commas, or said again.
    #[arg(long, value_delimiter = ',', required = true, value_parser = ["read", "submit", "work", "admin"])]
    scope: Vec<String>,
    /// Only for this owner. Several with commas, or said again.
    #[arg(long, value_delimiter = ',')]
    owner: Vec<String>,
    /// For how long: 12h, 30d. For ever unless said.
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    ttl: Option<std::time::Duration>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// What it is called.
    name: String,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    match &args.verb {
        Verb::List(Json { json }) => list(&client, *json),
        Verb::Create(new) => create(&client, new),
        Verb::Revoke(Revoke { name }) => {
            client.delete(&format!("/api/v1/tokens/{}", segment(name)))?;
            show::line(format!("token {} is revoked", show::harmless(name)));
            Ok(())
        }
        Verb::Link => {
            show::line(client.link());
            Ok(())
        }
    }
}

fn list(client: &Client, json: bool) -> anyhow::Result<()> {
    let found = client.get("/api/v1/tokens", &[])?;
    if json {
        show::json(&found);
        return Ok(());
    }
    let columns = [
        Column { title: "NAME", cell: |row| field(row, "name") },
        Column { title: "SCOPES", cell: |row| words(&row["scopes"]) },
        Column { title: "OWNERS", cell: |row| words(&row["owners"]) },
        Column { title: "MADE", cell: |row| date(row, "made") },
        Column { title: "UNTIL", cell: |row| date(row, "until") },
    ];
    let rows = found["tokens"].as_array().cloned().unwrap_or_default();
    show::table(&columns, &rows, "No token but the first, which is in the data directory.");
    Ok(())
}

fn words(list: &Value) -> String {
    let words: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn create(client: &Client, new: &Create) -> anyhow::Result<()> {
    let mut body = Map::new();
    body.insert("name".into(), json!(new.name));
    body.insert("scopes".into(), json!(new.scope));
    if !new.owner.is_empty() {
        body.insert("owners".into(), json!(new.owner));
    }
    if let Some(ttl) = new.ttl {
        body.insert("ttl_ms".into(), json!(u64::try_from(ttl.as_millis())?));
    }
    let made = client.post("/api/v1/tokens", &Value::Object(body))?;
    if new.json {
        show::json(&made);
    } else {
        show::line(field(&made, "token"));
        eprintln!("This is the only time that it is shown. Send it as `Authorization: Bearer …`.");
    }
    Ok(())
}
