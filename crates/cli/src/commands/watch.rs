//! `watch`: how far batches are, live on a terminal, line by line elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use turnwise::BatchId;

use super::batches::BATCHES;
use crate::client::Client;
use crate::show::{self, field};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// Batches that are looked at for unfinished ones, newest first.
const LOOKED_AT: usize = 200;
/// Bars that fit on a screen.
const BARS: usize = 20;

/// Watch batches.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this batch, until it has settled (or is parked, which is exit code 1).
    #[arg(value_name = "BATCH")]
    batch: Option<BatchId>,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<ExitCode> {
    let client = Client::open(data)?;
    let mut screen: Box<dyn Screen> = match std::io::stdout().is_terminal() {
        true => Box::new(Bars::new()),
        false => Box::new(Lines::default()),
    };
    loop {
        let batches = look(&client, args.batch)?;
        screen.show(&batches);
        if args.batch.is_some()
            && let Some(code) = batches.first().and_then(ended)
        {
            return Ok(code);
        }
        std::thread::sleep(PAUSE);
    }
}

fn look(client: &Client, batch: Option<BatchId>) -> anyhow::Result<Vec<Value>> {
    if let Some(id) = batch {
        return Ok(vec![client.get(&format!("/api/v1/batches/{id}"), &[])?]);
    }
    let (mut batches, _) = client.rows(&BATCHES, Vec::new(), LOOKED_AT)?;
    batches.retain(|batch| matches!(batch["phase"].as_str(), Some("open" | "sealed")));
    batches.truncate(BARS);
    Ok(batches)
}

/// The exit code, if the batch has come to its end.
fn ended(batch: &Value) -> Option<ExitCode> {
    match batch["phase"].as_str() {
        Some("settled") => Some(ExitCode::SUCCESS),
        Some("parked") => Some(ExitCode::FAILURE),
        _ => None,
    }
}

/// What a batch comes to, in one line.
fn told(batch: &Value) -> String {
    let text = |name| field(batch, name);
    let mut told = format!("{} {} of {} done", text("phase"), text("done"), text("total"));
    for name in ["dead", "cancelled"] {
        if batch[name].as_u64().is_some_and(|count| count > 0) {
            told.push_str(&format!(", {} {name}", text(name)));
        }
    }
    told
}

trait Screen {
    fn show(&mut self, batches: &[Value]);
}

/// A line for each change.
#[derive(Default)]
struct Lines(BTreeMap<String, String>);

impl Screen for Lines {
    fn show(&mut self, batches: &[Value]) {
        let known: Vec<String> = batches.iter().map(|batch| field(batch, "id")).collect();
        self.0.retain(|id, _| known.contains(id));
        for batch in batches {
            let told = told(batch);
            if self.0.get(&field(batch, "id")) != Some(&told) {
                show::line(format!(
                    "{} {}: {told}",
                    field(batch, "id"),
                    show::harmless(&field(batch, "name"))
                ));
                self.0.insert(field(batch, "id"), told);
            }
        }
    }
}

/// A bar for each batch.
struct Bars {
    all: MultiProgress,
    bars: BTreeMap<String, ProgressBar>,
}

impl Bars {
    fn new() -> Bars {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stdout());
        Bars { all, bars: BTreeMap::new() }
    }
}

impl Screen for Bars {
    fn show(&mut self, batches: &[Value]) {
        let known: Vec<String> = batches.iter().map(|batch| field(batch, "id")).collect();
        let left: Vec<String> = self.bars.keys().filter(|id| !known.contains(id)).cloned().collect();
        for id in left {
            if let Some(bar) = self.bars.remove(&id) {
                bar.finish_and_clear();
                self.all.remove(&bar);
                show::line(format!("{id} has ended"));
            }
        }
        for batch in batches {
            let bar = self.bars.entry(field(batch, "id")).or_insert_with(|| {
                let style =
                    ProgressStyle::with_template("{prefix:30!} {bar:40} {percent:>3} %  {msg}  {elapsed}");
                let bar = self.all.add(ProgressBar::new(0));
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar.set_prefix(show::harmless(&field(batch, "name")));
                bar
            });
            let total = batch["total"].as_u64().unwrap_or(0);
            bar.set_length(total);
            bar.set_position(total.saturating_sub(batch["pending"].as_u64().unwrap_or(0)));
            bar.set_message(told(batch));
            if ended(batch).is_some() {
                bar.abandon();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_of_a_batch() {
        let batch = |phase: &str| json!({"phase": phase, "total": 3, "done": 2, "dead": 1, "cancelled": 0});
        assert_eq!(ended(&batch("sealed")), None);
        assert_eq!(ended(&batch("settled")), Some(ExitCode::SUCCESS));
        assert_eq!(ended(&batch("parked")), Some(ExitCode::FAILURE));
        assert_eq!(told(&batch("sealed")), "sealed 2 of 3 done, 1 dead");
    }
}
