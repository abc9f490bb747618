//! `events`: what happened, and what happens.

use std::path::Path;

use serde_json::Value;

use crate::client::Client;
use crate::show::{self, date};

/// How long the engine holds a page back for something to happen, in milliseconds.
const WAIT_MS: u32 = 20_000;
/// Events in a page.
const PAGE: u32 = 1_000;

/// Print events, oldest first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only after this cursor.
    #[arg(long, value_name = "CURSOR")]
    after: Option<u64>,
    /// Go on with what happens, until it is stopped.
    #[arg(long, short)]
    follow: bool,
    /// Only of this owner.
    #[arg(long)]
    owner: Option<String>,
    /// Only of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only of this batch.
    #[arg(long)]
    batch: Option<String>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    let mut after = args.after.unwrap_or(0);
    loop {
        let mut query = vec![("after", after.to_string()), ("limit", PAGE.to_string())];
        if args.follow {
            query.push(("wait_ms", WAIT_MS.to_string()));
        }
        for (name, value) in [("owner", &args.owner), ("kind", &args.kind), ("batch", &args.batch)] {
            query.extend(value.iter().map(|value| (name, value.clone())));
        }
        let page = client.get("/api/v1/events", &query)?;
        let events = page["events"].as_array().map_or(&[][..], Vec::as_slice);
        events.iter().for_each(|event| show::line(line(event, args.json)));
        let next = page["next"].as_u64().unwrap_or(after);
        if next == after && !args.follow {
            return Ok(());
        }
        after = next;
    }
}

/// An event in one line: when, what, and what else is known of it.
fn line(event: &Value, json: bool) -> String {
    if json {
        return event.to_string();
    }
    let mut line = format!("{} {}", date(event, "at"), event["what"].as_str().unwrap_or_default());
    for (name, value) in event.as_object().into_iter().flatten() {
        if ["at", "what", "cursor"].contains(&name.as_str()) {
            continue;
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        line.push_str(&format!(" {name}={}", show::harmless(&value)));
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_in_one_line() {
        let event =
            json!({"cursor": 7, "at": 0, "what": "job", "state": "done", "attempt": 2, "owner": "a\nb"});
        let line = line(&event, false);
        assert!(
            line.contains(" job ") && line.contains("state=done") && line.contains("attempt=2"),
            "{line}"
        );
        assert!(!line.contains('\n') && !line.contains("cursor"), "{line}");
    }
}
