//! Work comes in, singly, in bulk or as a batch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{BatchId, Error, Name, Raw, RawBatch, Refusal, Submit, When, hours, limits};
use utoipa::ToSchema;

use super::{Answer, batches};
use crate::access::Caller;
use crate::input::Said;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// How long a repeated request is recognised by its `Idempotency-Key`.
const REPEATED: Duration = hours(24);

/// The longest `Idempotency-Key`.
const KEY_BYTES: usize = 128;

/// A job as a request writes it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJob {
    /// Which handler it is for.
    kind: String,
    /// Its arguments.
    #[serde(default)]
    #[schema(value_type = Value)]
    payload: Value,
    /// Whose turn it takes.
    owner: Option<String>,
    /// Jobs of a lane run one at a time, in the order in which they were submitted.
    lane: Option<String>,
    /// The lane stands still after a dead letter.
    #[serde(default)]
    strict: bool,
    /// From 0 to 9; a higher one goes first inside its owner.
    #[schema(minimum = 0, maximum = 9)]
    priority: Option<u8>,
    /// Not before so many milliseconds.
    delay_ms: Option<u64>,
    /// The same key answers with the same job.
    unique_key: Option<String>,
    /// For how long. Without it the key stands until its job has ended.
    unique_ms: Option<u64>,
    /// How many attempts it may have.
    #[schema(minimum = 1)]
    attempts: Option<u16>,
    /// What caps and rates count by.
    limit_key: Option<String>,
    /// An open batch.
    #[schema(value_type = Option<String>)]
    batch: Option<BatchId>,
}

/// A batch as a request writes it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBatch {
    /// What people call it.
    name: String,
    /// Whose turns its jobs take, unless a job says otherwise.
    owner: Option<String>,
    #[serde(default)]
    jobs: Vec<NewJob>,
    /// A job that follows when the last one has ended.
    then: Option<NewJob>,
    /// A job that follows if every one was done.
    then_if_all_done: Option<NewJob>,
    /// More jobs follow with `/api/v1/jobs/bulk`; `/api/v1/batches/{id}/seal` ends it.
    #[serde(default)]
    open: bool,
}

/// A job that was accepted.
#[derive(Serialize, ToSchema)]
pub(crate) struct Accepted {
    id: String,
    /// It was there already: its unique key or the request's `Idempotency-Key` says that it is the same.
    existing: bool,
}

/// Jobs that were accepted, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct AllAccepted {
    jobs: Vec<Accepted>,
}

/// A batch that was accepted.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchAccepted {
    batch: String,
    /// The job that follows it.
    then: Option<String>,
}

/// Submit a job.
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", request_body = NewJob,
    params(("idempotency-key" = Option<String>, Header, description = "The same key within a day answers with the same job.")),
    security(("token" = ["submit"])),
    responses((status = 201, body = Accepted), (status = 200, body = Accepted, description = "It was there already."), Problems))]
pub(crate) async fn one(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    headers: HeaderMap,
    Said(job): Said<NewJob>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let key = repeated(&headers)?;
    may_join(&server, &caller, std::slice::from_ref(&job)).await?;
    let job = ready(&server, &caller, job, key.as_deref())?;
    let accepted = submitted(&server, vec![job]).await?.pop();
    let accepted = accepted.ok_or_else(|| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "the engine accepted a job without naming it",
        )
    })?;
    let status = if accepted.existing { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(accepted)))
}

/// Submit many jobs. One that is refused, and none is accepted, if all of them fit into one commit.
#[utoipa::path(post, path = "/api/v1/jobs/bulk", tag = "jobs", request_body = Vec<NewJob>,
    params(("idempotency-key" = Option<String>, Header, description = "The same key within a day answers with the same jobs.")),
    security(("token" = ["submit"])), responses((status = 200, body = AllAccepted), Problems))]
pub(crate) async fn many(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    headers: HeaderMap,
    Said(jobs): Said<Vec<NewJob>>,
) -> Answer<AllAccepted> {
    let key = repeated(&headers)?;
    may_join(&server, &caller, &jobs).await?;
    let jobs = jobs.into_iter().enumerate().map(|(place, job)| {
        let key = key.as_ref().map(|key| format!("{key}/{place}"));
        ready(&server, &caller, job, key.as_deref())
    });
    let jobs = jobs.collect::<Result<Vec<_>, Problem>>()?;
    Ok(Json(AllAccepted { jobs: submitted(&server, jobs).await? }))
}

/// Refuses jobs that join a batch which the caller may not see.
async fn may_join(server: &Shared, caller: &Caller, jobs: &[NewJob]) -> Result<(), Problem> {
    if caller.owners.is_none() {
        return Ok(());
    }
    for batch in jobs.iter().filter_map(|job| job.batch).collect::<BTreeSet<_>>() {
        batches::seen(server, caller, batch).await?;
    }
    Ok(())
}

async fn submitted(server: &Shared, jobs: Vec<Submit<Raw>>) -> Result<Vec<Accepted>, Problem> {
    match server.engine.submit_raw(jobs).await {
        Ok(accepted) => Ok(accepted
            .into_iter()
            .map(|job| Accepted { id: job.id.to_string(), existing: job.existing })
            .collect()),
        Err(error) => Err(explained(server, error).await),
    }
}

/// Submit a batch.
#[utoipa::path(post, path = "/api/v1/batches", tag = "batches", request_body = NewBatch,
    security(("token" = ["submit"])), responses((status = 201, body = BatchAccepted), Problems))]
pub(crate) async fn batch(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    headers: HeaderMap,
    Said(batch): Said<NewBatch>,
) -> Result<(StatusCode, Json<BatchAccepted>), Problem> {
    if repeated(&headers)?.is_some() {
        let detail = "a batch takes no Idempotency-Key: open it, add its jobs with one in `/api/v1/jobs/bulk`, and seal it";
        return Err(Problem::bad("invalid", detail));
    }
    let then = match (batch.then, batch.then_if_all_done) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad(
                "invalid",
                "a batch has one continuation: `then` or `then_if_all_done`",
            ));
        }
        (Some(job), None) => Some((job, When::Settled)),
        (None, Some(job)) => Some((job, When::AllDone)),
        (None, None) => None,
    };
    if batch.jobs.iter().any(|job| job.batch.is_some()) {
        return Err(Problem::bad("invalid", "a job of a new batch cannot name another batch"));
    }
    let owner = mine(&caller, batch.owner)?;
    // What a job of the batch does not say is as the batch says.
    let of_batch = |mut job: NewJob| {
        job.owner = job.owner.or_else(|| owner.clone());
        ready(&server, &caller, job, None)
    };
    let then = then.map(|(job, when)| of_batch(job).map(|job| (job, when))).transpose()?;
    let jobs = batch.jobs.into_iter().map(of_batch).collect::<Result<Vec<_>, Problem>>()?;
    let raw = RawBatch { name: batch.name, owner, jobs, then, open: batch.open };
    match server.engine.submit_raw_batch(raw).await {
        Ok(handle) => {
            let then = handle.then.map(|then| then.to_string());
            Ok((StatusCode::CREATED, Json(BatchAccepted { batch: handle.id.to_string(), then })))
        }
        Err(error) => Err(explained(&server, error).await),
    }
}

/// What a repeated request is recognised by.
fn repeated(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=KEY_BYTES).contains(&key.len()) => Ok(Some(format!("repeated {key}"))),
        _ => {
            let detail = format!("an Idempotency-Key has 1 to {KEY_BYTES} plain letters, numbers and signs");
            Err(Problem::bad("invalid", detail))
        }
    }
}

/// The owner that a job is for: the one that it names, within what the token is bound to.
fn mine(caller: &Caller, owner: Option<String>) -> Result<Option<String>, Problem> {
    if caller.owners.is_none() {
        return Ok(owner);
    }
    let owner = owner.map(Name::new).transpose().map_err(Error::from)?;
    Ok(caller.owner(owner)?.map(String::from))
}

/// Refuses what this process does not take.
pub(crate) fn admitted(server: &Shared, kind: &str, payload: &Value) -> Result<(), Problem> {
    if let Some((_, flag)) = server.admission.off.iter().find(|(off, _)| *off == kind) {
        let detail = format!("kind `{kind}` is off: stop the engine and start it with `turnwise up {flag}`");
        return Err(Problem::bad("kind_off", detail));
    }
    (server.admission.check)(kind, payload).map_err(|why| Problem::bad("bad_payload", why))
}

/// A job as the engine takes it, if it may run here and its payload fits.
fn ready(server: &Shared, caller: &Caller, job: NewJob, key: Option<&str>) -> Result<Submit<Raw>, Problem> {
    admitted(server, &job.kind, &job.payload)?;
    // A job that joins a batch takes the turns of the batch's owner unless it says otherwise.
    let owner = match job.batch.is_some() && caller.owners.is_none() {
        true => job.owner,
        false => mine(caller, job.owner)?,
    };
    let mut submit = Raw::job(job.kind, job.payload);
    if let Some(owner) = owner {
        submit = submit.owner(owner);
    }
    if let Some(lane) = job.lane {
        not_an_applications(server, &lane)?;
        submit = if job.strict { submit.strict_lane(lane) } else { submit.lane(lane) };
    }
    if let Some(priority) = job.priority {
        submit = submit.priority(priority);
    }
    if let Some(millis) = job.delay_ms {
        submit = submit.delay(Duration::from_millis(millis));
    }
    // What is the same request again is decided first, whatever else it has in common with others.
    if let Some(key) = key {
        submit = submit.unique_for(key, REPEATED);
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

/// Refuses the lanes that an application keeps its own order in: a stranger's job would hold up everybody's.
fn not_an_applications(server: &Shared, lane: &str) -> Result<(), Problem> {
    let first = lane.split('/').next().unwrap_or_default();
    if server.applications.iter().all(|application| application.name != first) {
        return Ok(());
    }
    let detail =
        format!("lane `{lane}` belongs to the application `{first}`: choose a name that begins otherwise");
    Err(Problem::bad("invalid", detail))
}

/// Whoever names a kind that is not there is told which are.
async fn explained(server: &Shared, error: Error) -> Problem {
    let unknown = matches!(&error, Error::Refused(Refusal::UnknownKind(_)));
    let mut problem = Problem::from(error);
    if unknown && let Ok(kinds) = server.engine.kinds().await {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        problem.detail = format!("{}. This engine knows: {}", problem.detail, names.join(", "));
    }
    problem
}
