//! `submit`: one job, the same one many times, or one per line of standard input; alone or as a batch.

pub(crate) mod payloads;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, with_data};
use crate::failure::{refused, usage};
use crate::{show, span};
use payloads::Payloads;

/// Jobs in one request.
const PART_JOBS: usize = 1_000;
/// Bytes of payload in one request; far below what the server takes, because JSON is longer than it was.
const PART_BYTES: usize = 4 << 20;
/// How long one look at a job that is waited for takes at most.
const LOOK_MS: u64 = 25_000;
/// Ids are listed up to so many jobs; beyond that a number says more.
const LISTED: usize = 20;

/// Submit a job, or many.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The kind of job: `turnwise kinds` lists what there is.
    kind: String,
    /// Its payload as JSON; `-` reads it from standard input.
    #[arg(default_value = "{}", value_name = "JSON|-", allow_hyphen_values = true)]
    payload: String,
    /// Read one JSON payload per line from standard input.
    #[arg(long, conflicts_with_all = ["payload", "count"])]
    lines: bool,
    /// Submit it so many times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// Whose turn it takes [default: default].
    #[arg(long)]
    owner: Option<String>,
    /// The lane that it joins: one at a time, in submit order.
    #[arg(long)]
    lane: Option<String>,
    /// The lane stands still after a dead letter until it is resumed.
    #[arg(long, requires = "lane")]
    strict: bool,
    /// How urgent it is inside its owner: 0 to 9 [default: 5].
    #[arg(long, value_name = "0-9")]
    priority: Option<u8>,
    /// Not before this much time has passed, such as 10s or 2h.
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    delay: Option<Duration>,
    /// The same key answers with the same job, until that has ended.
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// Keep the key for so long from now, whenever the job ends.
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "unique")]
    unique_for: Option<Duration>,
    /// How many attempts it may have [default: the kind's].
    #[arg(long, value_name = "N")]
    attempts: Option<u16>,
    /// What per-key caps and rates of the kind are counted by.
    #[arg(long, value_name = "KEY")]
    limit_key: Option<String>,
    /// Submit the jobs as a batch of this name.
    #[arg(long, value_name = "NAME")]
    batch: Option<String>,
    /// A job of this kind follows when the last job of the batch has ended.
    #[arg(long, value_name = "KIND", requires = "batch")]
    then: Option<String>,
    /// The payload of the job that follows.
    #[arg(long, value_name = "JSON", requires = "then")]
    then_payload: Option<String>,
    /// It follows only if every job was done; otherwise the batch is parked until somebody decides.
    #[arg(long, requires = "then")]
    if_all_done: bool,
    /// Wait for the end, and print the result.
    #[arg(long)]
    wait: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  turnwise submit echo '{\"hello\":\"world\"}' --wait
  turnwise submit sleep '{\"ms\":2000}' --count 100 --batch naps --then echo && turnwise watch
  jq -c '.[]' orders.json | turnwise submit bill --lines --owner acme";

/// What was accepted.
struct Accepted {
    jobs: Vec<Value>,
    batch: Option<Value>,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<ExitCode> {
    let payloads = match args.lines {
        true => Payloads::lines(std::io::stdin().lock()),
        false => Payloads::repeated(payloads::one(&args.payload)?, args.count),
    };
    let client = Client::open(data)?;
    let accepted = match &args.batch {
        Some(name) => batch(args, name, &client, payloads)?,
        None => Accepted { jobs: send(args, None, &client, payloads)?, batch: None },
    };
    if args.wait {
        return wait(args, &client, &accepted);
    }
    tell(args, &accepted, data);
    Ok(ExitCode::SUCCESS)
}

/// Opens a batch, fills it and seals it. What is abandoned halfway is cancelled.
fn batch(args: &Args, name: &str, client: &Client, payloads: Payloads<'_>) -> anyhow::Result<Accepted> {
    let mut new = json!({"name": name, "owner": args.owner, "open": true});
    if let Some(kind) = &args.then {
        let payload = payloads::one(args.then_payload.as_deref().unwrap_or("{}"))?;
        let when = if args.if_all_done { "then_if_all_done" } else { "then" };
        new[when] = json!({"kind": kind, "payload": payload});
    }
    let opened = client.post("/api/v1/batches", &new)?;
    let id = opened["batch"].as_str().unwrap_or_default().to_owned();
    let filled = send(args, Some(&id), client, payloads)
        .and_then(|jobs| client.post(&format!("/api/v1/batches/{id}/seal"), &json!({})).map(|_| jobs));
    if filled.is_err() {
        // The first error is what the caller must know.
        let _ = client.post(&format!("/api/v1/batches/{id}/cancel"), &json!({}));
    }
    Ok(Accepted { jobs: filled?, batch: Some(opened) })
}

/// Sends the jobs in parts. If it fails halfway, the error says how many were accepted.
fn send(
    args: &Args,
    batch: Option<&str>,
    client: &Client,
    payloads: Payloads<'_>,
) -> anyhow::Result<Vec<Value>> {
    let mut accepted = Vec::new();
    let mut part = Vec::new();
    let mut bytes = 0;
    let flush = |part: &mut Vec<Value>, accepted: &mut Vec<Value>| -> anyhow::Result<()> {
        let mut answer = client.post("/api/v1/jobs/bulk", &Value::Array(std::mem::take(part)))?;
        if let Value::Array(jobs) = answer["jobs"].take() {
            accepted.extend(jobs);
        }
        Ok(())
    };
    let all = || -> anyhow::Result<()> {
        for payload in payloads {
            let (payload, size) = payload?;
            part.push(job(args, batch, &payload));
            bytes += size;
            if part.len() == PART_JOBS || bytes > PART_BYTES {
                flush(&mut part, &mut accepted)?;
                bytes = 0;
            }
        }
        if part.is_empty() { Ok(()) } else { flush(&mut part, &mut accepted) }
    };
    match all() {
        Err(error) if !accepted.is_empty() => {
            Err(error.context(format!("{} jobs were accepted before this", accepted.len())))
        }
        Err(error) => Err(error),
        Ok(()) if accepted.is_empty() => Err(usage("nothing to submit: standard input was empty")),
        Ok(()) => Ok(accepted),
    }
}

fn job(args: &Args, batch: Option<&str>, payload: &Value) -> Value {
    let millis =
        |span: Option<Duration>| span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    let mut job = json!({
        "kind": args.kind,
        "payload": payload,
        "owner": args.owner,
        "lane": args.lane,
        "strict": args.strict,
        "priority": args.priority,
        "delay_ms": millis(args.delay),
        "unique_key": args.unique,
        "unique_ms": millis(args.unique_for),
        "attempts": args.attempts,
        "limit_key": args.limit_key,
        "batch": batch,
    });
    if let Some(fields) = job.as_object_mut() {
        fields.retain(|name, value| !value.is_null() || name == "payload");
    }
    job
}

fn tell(args: &Args, accepted: &Accepted, data: &Path) {
    if args.json {
        let batch = accepted.batch.as_ref();
        let of = |name: &str| batch.map_or(Value::Null, |batch| batch[name].clone());
        return show::json(&json!({"jobs": accepted.jobs, "batch": of("batch"), "then": of("then")}));
    }
    if let Some(batch) = &accepted.batch {
        let id = show::field(batch, "batch");
        show::line(format!("batch {id}: {} jobs", accepted.jobs.len()));
        return show::line(format!("watch it with: {}", with_data(&format!("turnwise watch {id}"), data)));
    }
    if accepted.jobs.len() > LISTED {
        return show::line(format!("{} jobs were accepted", accepted.jobs.len()));
    }
    for job in &accepted.jobs {
        let note = if job["existing"] == true { "  (was there already)" } else { "" };
        show::line(format!("{}{note}", show::field(job, "id")));
    }
}

/// Waits for the end of everything, and tells how it went.
fn wait(args: &Args, client: &Client, accepted: &Accepted) -> anyhow::Result<ExitCode> {
    let mut views = Vec::new();
    for job in &accepted.jobs {
        views.push(end_of(client, &show::field(job, "id"))?);
    }
    let bad: Vec<&Value> = views.iter().filter(|view| view["state"] != "done").collect();
    if args.json {
        show::json(&json!({"jobs": views, "batch": accepted.batch}));
    } else if views.len() <= LISTED {
        views.iter().filter(|view| view["state"] == "done").for_each(|view| show::json(&view["result"]));
    } else {
        show::line(format!("{} of {} jobs are done", views.len() - bad.len(), views.len()));
    }
    match bad.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(_) if args.json => Ok(ExitCode::FAILURE),
        Some(first) => {
            let last = first["errors"].as_array().and_then(|errors| errors.last());
            let why = last.map(|error| format!(": {}", show::field(error, "error"))).unwrap_or_default();
            let others = if bad.len() > 1 {
                format!(" ({} more did not end well)", bad.len() - 1)
            } else {
                String::new()
            };
            Err(refused(format!(
                "job {} is {}{why}{others}",
                show::field(first, "id"),
                show::field(first, "state")
            )))
        }
    }
}

fn end_of(client: &Client, id: &str) -> anyhow::Result<Value> {
    loop {
        let view = client.get(&format!("/api/v1/jobs/{id}"), &[("wait_ms", LOOK_MS.to_string())])?;
        if matches!(view["state"].as_str(), Some("done" | "dead" | "cancelled")) {
            return Ok(view);
        }
    }
}
