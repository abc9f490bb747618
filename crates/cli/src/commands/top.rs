//! `top`: the whole engine on one screen, renewed every second.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Client;
use crate::show::{field, harmless};
use crate::span;

/// Time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Rows of each part.
const ROWS: usize = 12;
/// The other screen, so that what was there before comes back; without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// From the top, line by line, then nothing below.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K\n";
const REST_OF_SCREEN: &str = "\x1b[J";

/// Watch the whole engine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one screen and end, as it is elsewhere than on a terminal.
    #[arg(long)]
    once: bool,
}

/// What is shown.
struct Seen {
    at: Instant,
    overview: Value,
    owners: Vec<Value>,
    nodes: Value,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    let mut out = std::io::stdout().lock();
    let first = look(&client)?;
    if args.once || !out.is_terminal() {
        writeln!(out, "{}", screen(&first, None))?;
        return Ok(());
    }
    // Ctrl-C ends the process where it is: the terminal must be as it was.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    write!(out, "{ENTER}")?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = renew(&client, &mut out, first) => ended,
            asked = tokio::signal::ctrl_c() => asked.map_err(Into::into),
        }
    });
    write!(out, "{LEAVE}")?;
    out.flush()?;
    ended
}

async fn renew(client: &Client, out: &mut impl std::io::Write, mut seen: Seen) -> anyhow::Result<()> {
    let mut before: Option<Seen> = None;
    loop {
        let text = screen(&seen, before.as_ref()).replace('\n', REST_OF_LINE);
        write!(out, "{HOME}{text}{REST_OF_SCREEN}")?;
        out.flush()?;
        tokio::time::sleep(PAUSE).await;
        before = Some(std::mem::replace(&mut seen, look(client)?));
    }
}

fn look(client: &Client) -> anyhow::Result<Seen> {
    let overview = client.get("/api/v1/overview", &[])?;
    let owners = client.get("/api/v1/owners", &[("limit", "1000".to_owned())])?;
    let mut owners = owners["owners"].as_array().cloned().unwrap_or_default();
    // Whoever has most to do comes first.
    owners.sort_by_key(|owner| std::cmp::Reverse(owner["backlog"].as_u64()));
    let nodes = client.get("/api/v1/nodes", &[])?;
    Ok(Seen { at: Instant::now(), overview, owners, nodes })
}

fn screen(seen: &Seen, before: Option<&Seen>) -> String {
    let mut text = String::new();
    summary(seen, before, &mut text);
    kinds(&seen.overview, &mut text);
    owners(&seen.owners, &mut text);
    nodes(&seen.nodes, &mut text);
    text
}

/// Totals, rates and alarms.
fn summary(seen: &Seen, before: Option<&Seen>, text: &mut String) {
    let Seen { overview, .. } = seen;
    let totals = &overview["totals"];
    let rate = |name: &str| match before {
        Some(before) => {
            let count = |seen: &Seen| seen.overview["totals"][name].as_f64().unwrap_or(0.0);
            let seconds = (seen.at - before.at).as_secs_f64().max(0.001);
            format!("{:.0}/s", (count(seen) - count(before)).max(0.0) / seconds)
        }
        None => "-".to_owned(),
    };
    let of = |name: &str| field(totals, name);
    let about = ["version", "node", "profile"].map(|name| field(overview, name)).join(" · ");
    // Writing to a text never fails.
    let _ = writeln!(text, "Turnwise {about}");
    let waiting: Vec<String> = ["ready", "running", "waiting", "retrying", "scheduled"]
        .into_iter()
        .map(|name| format!("{name} {}", of(name)))
        .collect();
    let (done, dead) = (rate("done"), rate("dead"));
    let _ = writeln!(
        text,
        "{}  |  done {} ({done})  dead {} ({dead})\n",
        waiting.join("  "),
        of("done"),
        of("dead")
    );
    for alarm in overview["alarms"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "! {}", harmless(&field(alarm, "text")));
    }
}

/// A row of a table: a name, four numbers, and what is left.
fn row(text: &mut String, name: &str, numbers: [&str; 4], rest: &str) {
    let [one, two, three, four] = numbers;
    let _ = writeln!(text, "{:<30} {one:>9} {two:>9} {three:>9} {four:>9}  {rest}", cut(name));
}

fn kinds(overview: &Value, text: &mut String) {
    row(text, "KIND", ["READY", "RUNNING", "DONE", "DEAD"], "OLDEST READY");
    for kind in overview["kinds"].as_array().into_iter().flatten().take(ROWS) {
        let age = match (overview["time"].as_u64(), kind["oldest_ready"].as_u64()) {
            (Some(now), Some(then)) => span::rough(Duration::from_micros(now.saturating_sub(then))),
            _ => "-".into(),
        };
        let numbers = ["ready", "running", "done", "dead"].map(|name| field(&kind["totals"], name));
        row(text, &field(kind, "name"), numbers.each_ref().map(String::as_str), &age);
    }
}

fn owners(owners: &[Value], text: &mut String) {
    text.push('\n');
    row(text, "OWNER", ["BACKLOG", "RUNNING", "DONE", "DEAD"], "WEIGHT");
    for owner in owners.iter().take(ROWS) {
        let numbers = ["backlog", "running", "done", "dead"].map(|name| field(owner, name));
        row(text, &field(owner, "owner"), numbers.each_ref().map(String::as_str), &field(owner, "weight"));
    }
}

fn nodes(nodes: &Value, text: &mut String) {
    let _ = writeln!(text, "\n{:<30} {:>9}  ROLES", "NODE", "RUNNING");
    for node in nodes["nodes"].as_array().into_iter().flatten().take(ROWS) {
        let roles: Vec<&str> =
            node["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let alive = if node["alive"] == true { "" } else { " (lost)" };
        let (name, running) = (cut(&field(node, "node")), field(node, "running"));
        let _ = writeln!(text, "{name:<30} {running:>9}  {}{alive}", roles.join(", "));
    }
}

/// A name that fits its column.
fn cut(name: &str) -> String {
    let name = harmless(name);
    match name.chars().count() > 30 {
        true => name.chars().take(29).chain(['…']).collect(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_screen_has_rates_alarms_and_names_that_fit() {
        let seen = |done: u64, at: Instant| Seen {
            at,
            overview: json!({
                "version": "1", "node": "n", "profile": "embedded", "time": 120_000_000,
                "totals": {"done": done, "ready": 3}, "alarms": [{"text": "look\u{1b}[2J"}],
                "kinds": [{"name": "k".repeat(40), "totals": {"ready": 3}, "oldest_ready": 0}],
            }),
            owners: vec![json!({"owner": "acme", "backlog": 3, "weight": 2})],
            nodes: json!({"nodes": [{"node": "n", "alive": false, "roles": ["api"], "running": 0}]}),
        };
        let now = Instant::now();
        let text = screen(&seen(300, now + Duration::from_secs(2)), Some(&seen(100, now)));
        for part in ["done 300 (100/s)", "! look", "2m", "acme", "api (lost)"] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains(&"k".repeat(31)), "{text}");
    }
}
