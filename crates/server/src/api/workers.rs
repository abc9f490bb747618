//! Workers in other programs: they register, claim jobs, and answer for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{
    Error, JobId, Outcome, RecallReason, Remote, RemoteJob, RemoteOptions, SpanId, Stop, TraceId, TracePlace,
    limits, millis,
};
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::input::{Said, read};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// The shortest that a claim waits: a job is claimed only while somebody waits for it, which takes a moment.
const SHORTEST: Duration = millis(100);

/// A worker as it introduces itself.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorker {
    /// What it is called in the list of nodes.
    name: String,
    /// The kinds that it works at. One that is declared keeps its rules; another is declared with the usual ones.
    kinds: Vec<String>,
    /// How many jobs it holds at once, of all its kinds together; 1 unless said.
    #[schema(minimum = 1, maximum = 1000)]
    slots: Option<u32>,
    /// How long it lives without a request, in milliseconds; 30 s unless said.
    #[schema(minimum = 1000, maximum = 300000)]
    session_ms: Option<u64>,
}

/// A worker that has registered.
#[derive(Serialize, ToSchema)]
pub(crate) struct Registered {
    /// What it is known by. It goes with the token that it registered with.
    worker: String,
    /// How long it lives without a request.
    session_ms: u64,
}

/// Register a worker. It is a node with slots like any other.
#[utoipa::path(post, path = "/api/v1/workers", tag = "workers", request_body = NewWorker,
    security(("token" = ["work"])), responses((status = 201, body = Registered), Problems))]
pub(crate) async fn register(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Said(new): Said<NewWorker>,
) -> Result<(StatusCode, Json<Registered>), Problem> {
    if caller.owners.is_some() {
        return Err(
            caller.bound("a worker is given the jobs of every owner, use a token that is bound to none")
        );
    }
    let NewWorker { name, kinds, slots, session_ms } = new;
    let session = session_ms.map_or(limits::REMOTE_SESSION, Duration::from_millis);
    let options = RemoteOptions { name, kinds, slots: slots.unwrap_or(1), session };
    let (worker, remote) = server.workers.register(&server.engine, &caller, options).await?;
    Ok((StatusCode::CREATED, Json(Registered { worker, session_ms: in_millis(remote.session()) })))
}

fn in_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// How much work is wanted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// At most so many jobs; 1 unless said.
    #[schema(minimum = 1)]
    max: Option<u32>,
    /// Wait for at most so many milliseconds until there is one: at least 100 ms, and no longer than 30 s or half a session.
    #[schema(minimum = 0)]
    wait_ms: Option<u64>,
    /// The jobs that the worker works at. What else it was given is given back: the answer to a claim was lost on its way.
    /// Say it if the worker makes one claim at a time.
    #[schema(value_type = Option<Vec<String>>)]
    held: Option<Vec<JobId>>,
}

/// Jobs to work at.
#[derive(Serialize, ToSchema)]
pub(crate) struct Claimed {
    /// None, if nothing came in time.
    jobs: Vec<ClaimedJob>,
}

/// A job to work at.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClaimedJob {
    id: String,
    /// Names this claim. It goes with every word about the job.
    fence: u32,
    kind: String,
    owner: String,
    batch: Option<String>,
    /// Which attempt this is, from 1.
    attempt: u16,
    /// How many it may have.
    attempts: u16,
    /// Its arguments, in full.
    #[schema(value_type = Value)]
    payload: Value,
    /// Where this run is in the job's trace. A request that the worker sends elsewhere may carry it as its header.
    traceparent: String,
    /// When it must have ended, if it must.
    deadline: Option<i64>,
    /// What the steps gave that are finished.
    #[schema(value_type = BTreeMap<String, Value>)]
    steps: BTreeMap<String, Value>,
}

impl From<RemoteJob> for ClaimedJob {
    fn from(job: RemoteJob) -> Self {
        ClaimedJob {
            id: job.id.to_string(),
            fence: job.fence,
            kind: job.kind.into(),
            owner: job.owner.into(),
            batch: job.batch.map(|batch| batch.to_string()),
            attempt: job.attempt,
            attempts: job.attempts,
            payload: job.payload,
            traceparent: TracePlace { trace: TraceId::of(job.id), span: SpanId::run(job.id, job.fence) }
                .to_string(),
            deadline: job.deadline.map(turnwise::Time::as_micros),
            steps: job.steps.into_iter().map(|(name, output)| (name.into(), output)).collect(),
        }
    }
}

/// Claim jobs, and wait for them.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/claim", tag = "workers", params(("worker" = String, Path)),
    request_body = Wanted, security(("token" = ["work"])), responses((status = 200, body = Claimed), Problems))]
pub(crate) async fn claim(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(worker): Path<String>,
    Said(wanted): Said<Wanted>,
) -> Answer<Claimed> {
    let remote = server.workers.find(&caller, &worker)?;
    if let Some(held) = &wanted.held {
        remote.keep(held)?;
    }
    let wait = Duration::from_millis(wanted.wait_ms.unwrap_or(0)).clamp(SHORTEST, remote.session() / 2);
    let jobs = tokio::select! {
        biased;
        jobs = remote.claim(wanted.max.unwrap_or(1)) => jobs?,
        // A job that comes at this moment is there for the next claim.
        () = server.patience(Some(in_millis(wait))) => Vec::new(),
    };
    Ok(Json(Claimed { jobs: jobs.into_iter().map(ClaimedJob::from).collect() }))
}

/// What a worker is told with a heartbeat.
#[derive(Serialize, ToSchema)]
pub(crate) struct Heard {
    /// How long it lives without another request.
    session_ms: u64,
    /// Jobs that it should stop working at.
    cancelled: Vec<String>,
    /// The same, with the claim and why.
    recalled: Vec<Recalled>,
}

/// A job that a worker should stop working at.
#[derive(Serialize, ToSchema)]
pub(crate) struct Recalled {
    id: String,
    fence: u32,
    /// `cancelled`: somebody asked for its end, and any answer ends it. `deadline`, `lost`: it is not the worker's any more.
    #[schema(value_type = String)]
    reason: RecallReason,
}

/// Say that a worker lives. Every other request of it says so too.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/heartbeat", tag = "workers", params(("worker" = String, Path)),
    security(("token" = ["work"])), responses((status = 200, body = Heard), Problems))]
pub(crate) async fn heartbeat(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(worker): Path<String>,
) -> Answer<Heard> {
    let remote = server.workers.find(&caller, &worker)?;
    let recalls = remote.beat()?;
    let cancelled = recalls.iter().map(|recall| recall.job.to_string()).collect();
    let recalled = recalls.into_iter().map(|recall| Recalled {
        id: recall.job.to_string(),
        fence: recall.fence,
        reason: recall.reason,
    });
    Ok(Json(Heard { session_ms: in_millis(remote.session()), cancelled, recalled: recalled.collect() }))
}

/// How far a job is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    fence: u32,
    /// From 0 to 1.
    fraction: f32,
    /// In words.
    #[serde(default)]
    note: String,
}

/// Say how far a job is.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/progress", tag = "workers", request_body = Progress,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn progress(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Progress>,
) -> Result<StatusCode, Problem> {
    let (remote, job) = spoken_for(&server, &caller, &place)?;
    told(remote.progress(job, said.fence, said.fraction, said.note).await)
}

/// A finished step.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    fence: u32,
    /// Which step of the job.
    name: String,
    /// What it gave.
    #[serde(default)]
    #[schema(value_type = Value)]
    output: Value,
}

/// Record a finished step. A later attempt gets it with the job; one that is there already stays as it is.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/step", tag = "workers", request_body = Step,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn step(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Step>,
) -> Result<StatusCode, Problem> {
    let (remote, job) = spoken_for(&server, &caller, &place)?;
    told(remote.step(job, said.fence, &said.name, &said.output).await)
}

/// A job that is done.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Done {
    fence: u32,
    /// What it gave.
    #[serde(default)]
    #[schema(value_type = Value)]
    result: Value,
}

/// Say that a job is done. It may be said again if the answer was lost.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/complete", tag = "workers", request_body = Done,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn complete(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Done>,
) -> Result<StatusCode, Problem> {
    ended(&server, &caller, &place, said.fence, Ok(said.result)).await
}

/// A job that failed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failed {
    fence: u32,
    /// What went wrong.
    error: String,
    /// Whether and when to try again.
    #[serde(default)]
    class: FailureClass,
    /// With the class `after`: when to try again.
    after_ms: Option<u64>,
}

/// What a failure means for the next attempt.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailureClass {
    /// Try again as the kind's rules say.
    #[default]
    Retry,
    /// Try again after `after_ms`.
    After,
    /// Another attempt cannot mend it.
    Never,
}

/// Say that a job failed.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/fail", tag = "workers", request_body = Failed,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn fail(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Failed>,
) -> Result<StatusCode, Problem> {
    let stop = match (said.class, said.after_ms) {
        (FailureClass::Retry, None) => Stop::retry(said.error),
        (FailureClass::Never, None) => Stop::never(said.error),
        (FailureClass::After, Some(after)) => Stop::retry_after(Duration::from_millis(after), said.error),
        _ => return Err(Problem::bad("invalid", "`after_ms` goes with the class `after`, and only with it")),
    };
    ended(&server, &caller, &place, said.fence, Err(stop)).await
}

/// A job that goes on later.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snoozed {
    fence: u32,
    /// How much later.
    for_ms: u64,
}

/// Say that a job goes on later. This is no failure, and burns no attempt.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/snooze", tag = "workers", request_body = Snoozed,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn snooze(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Snoozed>,
) -> Result<StatusCode, Problem> {
    let stop = Stop::snooze(Duration::from_millis(said.for_ms));
    ended(&server, &caller, &place, said.fence, Err(stop)).await
}

/// A job that is given back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Released {
    fence: u32,
}

/// Give a job back without burning an attempt. One that was cancelled ends.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/jobs/{id}/release", tag = "workers", request_body = Released,
    params(("worker" = String, Path), ("id" = String, Path)), security(("token" = ["work"])),
    responses((status = 204), Problems))]
pub(crate) async fn release(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    place: Path<(String, String)>,
    Said(said): Said<Released>,
) -> Result<StatusCode, Problem> {
    let (remote, job) = spoken_for(&server, &caller, &place)?;
    told(remote.release(job, said.fence).await)
}

/// Say farewell. What the worker holds is given back without burning an attempt.
#[utoipa::path(delete, path = "/api/v1/workers/{worker}", tag = "workers", params(("worker" = String, Path)),
    security(("token" = ["work"])), responses((status = 204), Problems))]
pub(crate) async fn leave(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(worker): Path<String>,
) -> Result<StatusCode, Problem> {
    server.workers.find(&caller, &worker)?.leave().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The worker and the job that an address names.
fn spoken_for(
    server: &Shared,
    caller: &Caller,
    Path((worker, id)): &Path<(String, String)>,
) -> Result<(Remote, JobId), Problem> {
    let remote = server.workers.find(caller, worker)?;
    Ok((remote, read("bad_id", id)?))
}

async fn ended(
    server: &Shared,
    caller: &Caller,
    place: &Path<(String, String)>,
    fence: u32,
    outcome: Outcome<Value>,
) -> Result<StatusCode, Problem> {
    let (remote, job) = spoken_for(server, caller, place)?;
    told(remote.answer(job, fence, outcome).await)
}

/// What was said is durable, or the claim is not the worker's any more.
fn told(answer: Result<(), Error>) -> Result<StatusCode, Problem> {
    match answer {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(Error::Refused(refusal)) if refusal.is_stale() => {
            Err(Problem::new(StatusCode::CONFLICT, "stale_claim", refusal.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}
