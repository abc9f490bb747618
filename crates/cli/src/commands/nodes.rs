//! `nodes`: the processes that share a store, and the leases that they hold.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::show::{self, Column, field};
use crate::span;

/// List nodes and leases.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let found = Client::open(data)?.get("/api/v1/nodes", &[])?;
    if args.json {
        show::json(&found);
        return Ok(());
    }
    let nodes = [
        Column { title: "NODE", cell: |row| field(row, "node") },
        Column { title: "NUMBER", cell: |row| field(row, "number") },
        Column { title: "ROLES", cell: roles },
        Column { title: "SLOTS", cell: slots },
        Column { title: "RUNNING", cell: |row| field(row, "running") },
        Column { title: "SINCE", cell: |row| apart(row, "since") },
        Column { title: "SESSION", cell: session },
    ];
    show::table(&nodes, &rows(&found, "nodes"), "No node is there.");
    show::line("");
    leases(&found);
    Ok(())
}

/// Leases and who has them.
pub(super) fn leases(found: &Value) {
    let leases = [
        Column { title: "LEASE", cell: |row| field(row, "name") },
        Column { title: "HOLDER", cell: holder },
        Column { title: "TERM", cell: |row| field(row, "term") },
        Column { title: "UNTIL", cell: |row| apart(row, "until") },
    ];
    show::table(&leases, &rows(found, "leases"), "No lease was ever taken.");
}

/// The rows of a listing, each with the time on the store's clock: a machine whose clock is wrong shows the same.
fn rows(found: &Value, name: &str) -> Vec<Value> {
    let mut rows = found[name].as_array().cloned().unwrap_or_default();
    rows.iter_mut().for_each(|row| row["time"] = found["time"].clone());
    rows
}

fn roles(row: &Value) -> String {
    let name = |role: &Value| match role.as_str() {
        Some("scheduler") if row["leads"] == true => "scheduler (leads)".to_owned(),
        name => name.unwrap_or_default().to_owned(),
    };
    let names: Vec<String> = row["roles"].as_array().into_iter().flatten().map(name).collect();
    listed(&names)
}

fn slots(row: &Value) -> String {
    let pools = row["slots"].as_object().into_iter().flatten();
    let pools: Vec<String> = pools.map(|(pool, slots)| format!("{pool} {slots}")).collect();
    listed(&pools)
}

fn listed(texts: &[String]) -> String {
    if texts.is_empty() { "-".into() } else { texts.join(", ") }
}

fn session(row: &Value) -> String {
    match row["alive"] == true {
        true if row["drained"] == true => match row["running"].as_u64() {
            Some(0) => "drained: it can be stopped".to_owned(),
            _ => "draining: what it runs ends".to_owned(),
        },
        true => format!("ends {} without a heartbeat", apart(row, "until")),
        false => format!("ended {}", apart(row, "until")),
    }
}

fn holder(row: &Value) -> String {
    if row["held"] == true { field(row, "holder") } else { format!("- (was {})", field(row, "holder")) }
}

/// How long a time is from the store's own.
fn apart(row: &Value, name: &str) -> String {
    let (Some(now), Some(then)) = (row["time"].as_i64(), row[name].as_i64()) else { return "-".into() };
    let between = span::rough(Duration::from_micros(now.abs_diff(then)));
    if then > now { format!("in {between}") } else { format!("{between} ago") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_counted_from_the_stores_clock() {
        let found = json!({"time": 20_000_000, "nodes": [
            {"until": 30_000_000, "alive": true, "roles": ["api", "scheduler"], "leads": true, "slots": {"echo": 8}},
            {"until": 15_000_000, "alive": false, "roles": [], "slots": {}},
            {"until": 30_000_000, "alive": true, "drained": true, "running": 1},
            {"until": 30_000_000, "alive": true, "drained": true, "running": 0},
        ]});
        let rows = rows(&found, "nodes");
        assert_eq!(session(&rows[0]), "ends in 10s without a heartbeat");
        assert_eq!(session(&rows[1]), "ended 5s ago");
        assert_eq!(session(&rows[2]), "draining: what it runs ends");
        assert_eq!(session(&rows[3]), "drained: it can be stopped");
        assert_eq!([roles(&rows[0]), slots(&rows[0])], ["api, scheduler (leads)", "echo 8"]);
        assert_eq!([roles(&rows[1]), slots(&rows[1])], ["-", "-"]);
    }
}
