//! `dead`: what failed for good, why, and a new life for it.

use std::path::Path;

use clap::Subcommand;
use serde_json::json;
use turnwise::JobId;

use super::{control, jobs};
use crate::client::Client;
use crate::failure::usage;
use crate::show;

/// Dead letters.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List them, newest first.
    List(List),
    /// Show one with the error of every attempt.
    Show(control::Job),
    /// Give one, or all that match, a new life with all its attempts.
    Replay(Replay),
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    which: Which,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = show::rows())]
    limit: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Only of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only of this owner.
    #[arg(long)]
    owner: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Replay {
    /// This one.
    #[arg(value_name = "ID", conflicts_with_all = ["all", "kind", "owner", "dry_run"])]
    id: Option<JobId>,
    /// All of them.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    which: Which,
    /// Only say how many there are.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    match &args.verb {
        Verb::List(list) => {
            let mut query = vec![("state", "dead".to_owned())];
            query.extend(list.which.kind.iter().map(|kind| ("kind", kind.clone())));
            query.extend(list.which.owner.iter().map(|owner| ("owner", owner.clone())));
            jobs::list(&Client::open(data)?, query, list.limit as usize, list.json)
        }
        Verb::Show(job) => jobs::one(&Client::open(data)?, job.id, job.json),
        Verb::Replay(replay) => again(replay, data),
    }
}

fn again(args: &Replay, data: &Path) -> anyhow::Result<()> {
    if let Some(id) = args.id {
        return control::job("replay", &control::Job { id, json: args.json }, data);
    }
    let Which { kind, owner } = &args.which;
    if !args.all && kind.is_none() && owner.is_none() {
        return Err(usage("say which: an ID, --kind, --owner, or --all"));
    }
    let what = json!({"kind": kind, "owner": owner, "dry_run": args.dry_run});
    let answer = Client::open(data)?.post("/api/v1/dead/replay", &what)?;
    if args.json {
        show::json(&answer);
    } else {
        let said = if args.dry_run { "would be replayed" } else { "live again" };
        show::line(format!("{} dead letters {said}", show::field(&answer, "count")));
    }
    Ok(())
}
