//! `cancel`, `retry`, `replay`, `pause`, `resume`: telling the engine what to do with what is there.

use std::path::Path;

use serde_json::json;
use turnwise::{BatchId, JobId};

use crate::client::{Client, segment};
use crate::show;

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

/// Pauses or resumes.
pub(crate) fn pause(what: &What, pause: bool, data: &Path) -> anyhow::Result<()> {
    let client = Client::open(data)?;
    let verb = if pause { "pause" } else { "resume" };
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
