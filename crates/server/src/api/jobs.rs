//! Looking at jobs, and telling one what to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Engine, Filter, JobId, JobRow, JobView, LaneId, Name, Refusal, Time, TraceId};
use utoipa::{IntoParams, ToSchema};

use super::{Answer, rows};
use crate::access::Caller;
use crate::input::{Asked, name, read, read_some};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// How long a page is looked for. What was found by then is answered, and where to go on.
const LOOKING: Duration = Duration::from_millis(8);

/// A job without its bytes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct JobRowOut {
    /// Its id.
    id: String,
    /// Its kind.
    kind: String,
    /// Whose turn it takes.
    owner: String,
    /// Its batch.
    batch: Option<String>,
    /// Its lane.
    lane: Option<String>,
    /// Its priority, from 0 to 9.
    priority: u8,
    /// `waiting`, `scheduled`, `ready`, `running`, `retrying`, `done`, `dead` or `cancelled`.
    state: String,
    /// The attempt that runs or ran last.
    attempt: u16,
    /// How many it may have.
    attempts: u16,
    /// When it was accepted.
    submitted: i64,
    /// When it is due, or since when it is in this state.
    at: i64,
}

/// A page of jobs, newest first. It may hold fewer than asked for although more follow.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobsPage {
    jobs: Vec<JobRowOut>,
    /// The cursor of the next page, unless this is the last.
    next: Option<String>,
}

/// Which jobs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only in this state.
    state: Option<String>,
    /// Only of this kind.
    kind: Option<String>,
    /// Only of this owner.
    owner: Option<String>,
    /// Only of this batch.
    batch: Option<String>,
    /// Only of this lane.
    lane: Option<String>,
    /// Only submitted at this time or later, in whole milliseconds.
    since: Option<i64>,
    /// Only submitted before this time; a millisecond that has begun counts.
    until: Option<i64>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// How long to wait for an end.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wait {
    /// Hold the answer back until it has ended, at most so many milliseconds and at most 30 s.
    #[param(minimum = 0)]
    pub(crate) wait_ms: Option<u64>,
}

/// List jobs.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", params(Which), security(("token" = ["read"])),
    responses((status = 200, body = JobsPage), Problems))]
pub(crate) async fn list(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(which): Asked<Which>,
) -> Answer<JobsPage> {
    let filter = Filter {
        state: read_some("bad_state", which.state.as_deref())?,
        kind: name(which.kind)?,
        owner: caller.owner(name(which.owner)?)?,
        batch: read_some("bad_id", which.batch.as_deref())?,
        lane: name(which.lane)?,
        since: which.since.map(Time::from_micros),
        until: which.until.map(Time::from_micros),
        before: read_some("bad_cursor", which.cursor.as_deref())?,
        limit: rows(which.limit),
    };
    let (found, next) = page(&server.engine, filter).await?;
    Ok(Json(JobsPage { jobs: shown(&server.engine, &found).await?, next: next.map(|id| id.to_string()) }))
}

/// Looks for a page until it is full, the end is reached or the time is over.
pub(crate) async fn page(
    engine: &Engine,
    mut filter: Filter,
) -> Result<(Vec<JobRow>, Option<JobId>), Problem> {
    let (began, limit) = (Instant::now(), filter.limit);
    let mut found = Vec::new();
    loop {
        let (rows, next) = engine.jobs(filter.clone()).await?;
        found.extend(rows);
        if next.is_none() || found.len() >= limit || began.elapsed() >= LOOKING {
            return Ok((found, next));
        }
        (filter.before, filter.limit) = (next, limit - found.len());
    }
}

/// Jobs as they are shown, with the names of their lanes.
pub(crate) async fn shown(engine: &Engine, found: &[JobRow]) -> Result<Vec<JobRowOut>, Problem> {
    let lanes: Vec<LaneId> =
        found.iter().filter_map(|row| row.header.place.map(|place| place.lane)).collect();
    let lanes: BTreeMap<LaneId, Name> =
        if lanes.is_empty() { BTreeMap::new() } else { engine.lane_names(&lanes).await? };
    let lane = |row: &JobRow| row.header.place.and_then(|place| lanes.get(&place.lane));
    Ok(found.iter().map(|one| row(one, lane(one))).collect())
}

fn row(row: &JobRow, lane: Option<&Name>) -> JobRowOut {
    JobRowOut {
        id: row.header.id.to_string(),
        kind: row.line.kind.to_string(),
        owner: row.line.owner.to_string(),
        batch: row.line.batch.map(|batch| batch.to_string()),
        lane: lane.map(ToString::to_string),
        priority: row.line.priority.level(),
        state: row.header.state.to_string(),
        attempt: row.header.attempt,
        attempts: row.header.attempts,
        submitted: row.header.submitted.as_micros(),
        at: row.header.at.as_micros(),
    }
}

/// A job and everything about it. Sensitive fields of its payload are not in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobOut {
    #[serde(flatten)]
    row: JobRowOut,
    /// Somebody asked for its end while it ran.
    cancel_asked: bool,
    /// Its trace, in every log line and every trace that has to do with it.
    trace: String,
    /// Its arguments.
    #[schema(value_type = Value)]
    payload: Value,
    /// What its handler gave.
    #[schema(value_type = Option<Value>)]
    result: Option<Value>,
    /// Failed attempts, oldest first.
    errors: Vec<Failed>,
    /// Names of its finished steps.
    steps: Vec<String>,
    /// How far it said it was.
    progress: Option<Progress>,
    /// Its life so far, oldest first.
    timeline: Vec<Moment>,
}

/// A failed attempt.
#[derive(Serialize, ToSchema)]
pub(crate) struct Failed {
    /// Which attempt.
    attempt: u16,
    /// With which fence it ran.
    fence: u32,
    /// When it began.
    started: i64,
    /// When it ended.
    ended: i64,
    /// `error`, `panic`, `deadline`, `lost` or `payload`.
    #[schema(value_type = String)]
    failure: Value,
    /// What it said.
    error: String,
}

/// How far a job said it was.
#[derive(Serialize, ToSchema)]
pub(crate) struct Progress {
    /// From 0 to 1.
    fraction: f32,
    /// In words.
    note: String,
    /// Since when.
    at: i64,
}

/// Something in the life of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct Moment {
    /// When.
    at: i64,
    /// `submitted`, `started`, `failed`, `progress`, `due`, `running` or `ended`.
    what: &'static str,
    /// In words.
    text: String,
}

/// Show a job, or wait for its end.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = String, Path), Wait),
    security(("token" = ["read"])), responses((status = 200, body = JobOut), Problems))]
pub(crate) async fn one(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(wait): Asked<Wait>,
) -> Answer<JobOut> {
    let id: JobId = read("bad_id", &id)?;
    let mut view = seen(&server, &caller, id).await?;
    if wait.wait_ms.is_some() && !view.state.is_final() {
        tokio::select! {
            ended = server.engine.wait(id) => view = ended?,
            () = server.patience(wait.wait_ms) => view = seen(&server, &caller, id).await?,
        }
    }
    Ok(Json(full(view)))
}

/// A job that the caller may see. Another's is as unknown as none.
pub(crate) async fn seen(server: &Shared, caller: &Caller, id: JobId) -> Result<JobView, Problem> {
    let view = server.engine.job(id).await?.filter(|view| caller.sees(&view.owner));
    view.ok_or_else(|| Refusal::UnknownJob(id).into())
}

fn full(view: JobView) -> JobOut {
    let timeline = timeline(&view);
    JobOut {
        row: JobRowOut {
            id: view.id.to_string(),
            kind: view.kind.to_string(),
            owner: view.owner.to_string(),
            batch: view.batch.map(|batch| batch.to_string()),
            lane: view.lane.map(String::from),
            priority: view.priority,
            state: view.state.to_string(),
            attempt: view.attempt,
            attempts: view.attempts,
            submitted: view.submitted.as_micros(),
            at: view.at.as_micros(),
        },
        trace: TraceId::of(view.id).to_string(),
        cancel_asked: view.cancel_asked,
        payload: view.payload,
        result: view.result,
        errors: view
            .errors
            .into_iter()
            .map(|error| Failed {
                attempt: error.attempt,
                fence: error.fence,
                started: error.started.as_micros(),
                ended: error.ended.as_micros(),
                failure: serde_json::to_value(error.failure).unwrap_or_default(),
                error: error.error,
            })
            .collect(),
        steps: view.steps.into_iter().map(String::from).collect(),
        progress: view.progress.map(|progress| Progress {
            fraction: progress.fraction,
            note: progress.note,
            at: progress.at.as_micros(),
        }),
        timeline,
    }
}

/// What is known of a job's life, from what is kept with the job itself: events are kept for a shorter time.
fn timeline(view: &JobView) -> Vec<Moment> {
    let moment = |at: Time, what, text: String| Moment { at: at.as_micros(), what, text };
    let mut moments = vec![moment(view.submitted, "submitted", format!("accepted for {}", view.owner))];
    for error in &view.errors {
        let first = error.error.lines().next().unwrap_or_default();
        moments.push(moment(error.started, "started", format!("attempt {} began", error.attempt)));
        moments.push(moment(error.ended, "failed", format!("attempt {} failed: {first}", error.attempt)));
    }
    if let Some(progress) = &view.progress {
        let text = format!("{:.0} %: {}", progress.fraction * 100.0, progress.note);
        moments.push(moment(progress.at, "progress", text));
    }
    let (what, text) = match view.state {
        turnwise::State::Running => ("running", format!("attempt {} runs", view.attempt)),
        turnwise::State::Scheduled | turnwise::State::Retrying => ("due", "due".to_owned()),
        state if state.is_final() => ("ended", state.to_string()),
        state => ("waits", state.to_string()),
    };
    moments.push(moment(view.at, what, text));
    moments.sort_by_key(|moment| moment.at);
    moments
}

/// What a job can be told.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobVerb {
    /// Ends it. One that runs is told to stop.
    Cancel,
    /// Starts one that is due later now.
    Retry,
    /// Gives a dead or cancelled one a new life with all its attempts.
    Replay,
}

/// The state that a job is in now.
#[derive(Serialize, ToSchema)]
pub(crate) struct Moved {
    id: String,
    state: String,
}

/// Tell a job what to do.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/{verb}", tag = "jobs",
    params(("id" = String, Path), ("verb" = JobVerb, Path)), security(("token" = ["submit"])),
    responses((status = 200, body = Moved), Problems))]
pub(crate) async fn act(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path((id, verb)): Path<(String, String)>,
) -> Answer<Moved> {
    let id: JobId = read("bad_id", &id)?;
    let verb = match verb.as_str() {
        "cancel" => JobVerb::Cancel,
        "retry" => JobVerb::Retry,
        "replay" => JobVerb::Replay,
        _ => return Err(Problem::bad("bad_verb", "a job can be told to cancel, retry or replay")),
    };
    if caller.owners.is_some() {
        seen(&server, &caller, id).await?;
    }
    let state = match verb {
        JobVerb::Cancel => server.engine.cancel(id).await?,
        JobVerb::Retry => server.engine.retry_now(id).await?,
        JobVerb::Replay => server.engine.replay(id).await?,
    };
    Ok(Json(Moved { id: id.to_string(), state: state.to_string() }))
}
