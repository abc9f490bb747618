//! Work comes in, singly, in bulk or as a batch.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use turnwise::{BatchId, Error, Raw, RawBatch, Refusal, Submit, When, limits};

use super::input::Said;
use super::problem::Problem;
use super::{Answer, Door};
use crate::builtin;

/// A job as a request writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJob {
    kind: String,
    #[serde(default)]
    payload: Value,
    owner: Option<String>,
    lane: Option<String>,
    /// The lane stands still after a dead letter.
    #[serde(default)]
    strict: bool,
    priority: Option<u8>,
    delay_ms: Option<u64>,
    unique_key: Option<String>,
    /// Without it the key stands until its job has ended.
    unique_ms: Option<u64>,
    attempts: Option<u16>,
    limit_key: Option<String>,
    /// An open batch.
    batch: Option<BatchId>,
}

/// A batch as a request writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBatch {
    name: String,
    owner: Option<String>,
    #[serde(default)]
    jobs: Vec<NewJob>,
    then: Option<NewJob>,
    then_if_all_done: Option<NewJob>,
    /// More jobs follow with `/v1/submit`; `/v1/batches/{id}/seal` ends it.
    #[serde(default)]
    open: bool,
}

pub(crate) async fn jobs(State(door): State<Arc<Door>>, Said(jobs): Said<Vec<NewJob>>) -> Answer {
    let jobs = jobs.into_iter().map(|job| ready(&door, job)).collect::<Result<Vec<_>, Problem>>()?;
    let accepted = match door.engine.submit_raw(jobs).await {
        Ok(accepted) => accepted,
        Err(error) => return Err(explained(&door, error).await),
    };
    let jobs: Vec<Value> =
        accepted.iter().map(|job| json!({"id": job.id, "existing": job.existing})).collect();
    Ok(Json(json!({"jobs": jobs})))
}

pub(crate) async fn batch(State(door): State<Arc<Door>>, Said(batch): Said<NewBatch>) -> Answer {
    let then = match (batch.then, batch.then_if_all_done) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad(
                "invalid",
                "a batch has one continuation: `then` or `then_if_all_done`",
            ));
        }
        (Some(job), None) => Some((ready(&door, job)?, When::Settled)),
        (None, Some(job)) => Some((ready(&door, job)?, When::AllDone)),
        (None, None) => None,
    };
    if batch.jobs.iter().any(|job| job.batch.is_some()) {
        return Err(Problem::bad("invalid", "a job of a new batch cannot name another batch"));
    }
    let jobs = batch.jobs.into_iter().map(|job| ready(&door, job)).collect::<Result<Vec<_>, Problem>>()?;
    let raw = RawBatch { name: batch.name, owner: batch.owner, jobs, then, open: batch.open };
    match door.engine.submit_raw_batch(raw).await {
        Ok(handle) => Ok(Json(json!({"batch": handle.id, "then": handle.then}))),
        Err(error) => Err(explained(&door, error).await),
    }
}

/// A job as the engine takes it, if its kind may run here and its payload fits.
fn ready(door: &Door, job: NewJob) -> Result<Submit<Raw>, Problem> {
    if let Some(flag) = door.allowed.missing_flag(&job.kind) {
        let message =
            format!("kind `{}` is off: stop the engine and start it with `turnwise up {flag}`", job.kind);
        return Err(Problem::bad("kind_off", message));
    }
    builtin::check(&job.kind, &job.payload).map_err(|why| Problem::bad("bad_payload", why))?;
    let mut submit = Raw::job(job.kind, job.payload);
    if let Some(owner) = job.owner {
        submit = submit.owner(owner);
    }
    if let Some(lane) = job.lane {
        submit = if job.strict { submit.strict_lane(lane) } else { submit.lane(lane) };
    }
    if let Some(priority) = job.priority {
        submit = submit.priority(priority);
    }
    if let Some(millis) = job.delay_ms {
        submit = submit.delay(Duration::from_millis(millis));
    }
    match (job.unique_key, job.unique_ms) {
        (Some(key), Some(millis)) => submit = submit.unique_for(key, Duration::from_millis(millis)),
        (Some(key), None) => submit = submit.unique_while_unfinished(key),
        (None, Some(_)) => return Err(Problem::bad("invalid", "`unique_ms` needs a `unique_key`")),
        (None, None) => {}
    }
    if let Some(attempts) = job.attempts {
        if !(1..=limits::ATTEMPTS).contains(&attempts) {
            let message = format!("{attempts} attempts are not possible: allow 1 to {}", limits::ATTEMPTS);
            return Err(Problem::bad("invalid", message));
        }
        submit = submit.attempts(attempts);
    }
    if let Some(key) = job.limit_key {
        submit = submit.limit_key(key);
    }
    Ok(match job.batch {
        Some(batch) => submit.batch(batch),
        None => submit,
    })
}

/// Whoever names a kind that is not there is told which are.
async fn explained(door: &Door, error: Error) -> Problem {
    let unknown = matches!(&error, Error::Refused(Refusal::UnknownKind(_)));
    let mut problem = Problem::from(error);
    if unknown && let Ok(kinds) = door.engine.kinds().await {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        problem.message = format!("{}. This engine knows: {}", problem.message, names.join(", "));
    }
    problem
}
