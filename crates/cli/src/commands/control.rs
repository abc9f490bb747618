//! `cancel`, `retry`, `replay`, `pause`, `resume`, `drain`: telling the engine what to do with what is there.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use turnwise::{BatchId, JobId};

use crate::client::{Client, segment};
use crate::failure::refused;
use crate::show;

/// How often to look whether a node is empty.
const LOOK: Duration = Duration::from_millis(200);

/// One job.
#[derive(Debug, clap::Args)]
pub(crate) struct Job {
    /// Which job.
    #[arg(value_name = "ID")]
    pub(crate) id: JobId,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to pause or resume.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct What {
    /// All jobs of a kind.
    #[arg(long)]
    kind: Option<String>,
    /// All jobs of an owner.
    #[arg(long)]
    owner: Option<String>,
    /// All jobs of a batch.
    #[arg(long, value_name = "ID")]
    batch: Option<BatchId>,
    /// All jobs of a lane. Resuming also ends its halt after a dead letter.
    #[arg(long, value_name = "NAME")]
    lane: Option<String>,
    /// Whatever a node would begin. `drain` does the same, and can wait.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

/// A node to drain.
#[derive(Debug, clap::Args)]
pub(crate) struct Drain {
    /// Which node, as `turnwise nodes` lists it.
    #[arg(value_name = "NODE")]
    node: String,
    /// Wait until nothing runs there any more, at most so long: 90s, 10m.
    #[arg(long, value_name = "SPAN", value_parser = crate::span::parse)]
    wait: Option<Duration>,
}

/// Tells a job what to do.
pub(crate) fn job(verb: &str, job: &Job, data: &Path) -> anyhow::Result<()> {
    let answer = Client::open(data)?.post(&format!("/api/v1/jobs/{}/{verb}", job.id), &json!({}))?;
    if job.json {
        show::json(&answer);
    } else {
        show::line(format!("job {} is {} now", job.id, show::field(&answer, "state")));
    }
    Ok(())
}

/// Drains a node: nothing more begins there. Whether it is empty, if that was waited for.
pub(crate) fn drain(args: &Drain, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    let node = &args.node;
    client.post(&format!("/api/v1/nodes/{}/drain", segment(node)), &json!({}))?;
    show::line(format!("node {} begins nothing more: what runs there ends", show::harmless(node)));
    let Some(wait) = args.wait else { return Ok(()) };
    let until = Instant::now() + wait;
    loop {
        let found = client.get("/api/v1/nodes", &[])?;
        let nodes = found["nodes"].as_array().into_iter().flatten();
        let running: u64 =
            nodes.filter(|one| one["node"] == **node).filter_map(|one| one["running"].as_u64()).sum();
        if running == 0 {
            show::line("nothing runs there any more: it can be stopped");
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(refused(format!(
                "{running} still run there: wait longer, or cancel them; `turnwise jobs --state running` lists them"
            )));
        }
        std::thread::sleep(LOOK);
    }
}

/// Pauses or resumes.
pub(crate) fn pause(what: &What, pause: bool, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    let verb = if pause { "pause" } else { "resume" };
    if let Some(node) = &what.node {
        let (verb, said) = match pause {
            true => ("drain", "begins nothing more: what runs there ends"),
            false => ("resume", "goes on with its next heartbeat"),
        };
        client.post(&format!("/api/v1/nodes/{}/{verb}", segment(node)), &json!({}))?;
        show::line(format!("node {} {said}", show::harmless(node)));
        return Ok(());
    }
    let (name, all, value) = match (&what.lane, &what.kind, &what.owner, what.batch) {
        (Some(lane), ..) => ("lane", "lanes", lane.clone()),
        (_, Some(kind), ..) => ("kind", "kinds", kind.clone()),
        (_, _, Some(owner), _) => ("owner", "owners", owner.clone()),
        (.., batch) => ("batch", "batches", batch.map(|batch| batch.to_string()).unwrap_or_default()),
    };
    client.post(&format!("/api/v1/{all}/{}/{verb}", segment(&value)), &json!({}))?;
    let target = format!("{name} {value}");
    let said = if pause { "is paused: what runs, runs on" } else { "goes on" };
    show::line(format!("{} {said}", show::harmless(&target)));
    Ok(())
}
