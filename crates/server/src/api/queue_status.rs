//! One queue at a glance, in the shape that operators of older systems read: counts, what runs, what is next, what is
//! stale, what ended last.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use turnwise::{Filter, JobRow, Name, Refusal, SessionId, State as JobState, Tally, Time};
use utoipa::{IntoParams, ToSchema};

use super::overview::Totals;
use super::{Answer, jobs};
use crate::access::Caller;
use crate::clock;
use crate::input::Asked;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// Running jobs that are shown.
const ACTIVE: usize = 100;
/// Waiting jobs that are shown.
const WAITING: usize = 10;
/// Ended jobs that are shown, of each sort.
const RECENT: usize = 5;

/// Which queue.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The kind whose queue it is; all kinds together unless said.
    kind: Option<String>,
}

/// One queue at a glance.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueStatus {
    queue: Queue,
    /// Jobs that run, newest first, at most 100.
    active_jobs: Vec<Entry>,
    /// The first ten that are ready, in the order in which they were submitted.
    waiting_jobs: Vec<Entry>,
    /// Running jobs whose node sends no heartbeat any more.
    stale_instances: Stale,
    /// The last five that were done.
    recent_completed: Vec<Entry>,
    /// The last five that failed for good.
    recent_failed: Vec<Entry>,
    /// The time of this process, as text.
    timestamp: String,
}

/// Counts of a queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct Queue {
    /// The kind, or `all`.
    name: String,
    /// Ready, or behind another in a lane.
    waiting: u64,
    /// Running.
    active: u64,
    /// Due later: scheduled, or waiting for a retry.
    delayed: u64,
    /// Dead letters.
    failed: u64,
    /// Done.
    completed: u64,
}

/// A job in a queue.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    id: String,
    kind: String,
    owner: String,
    attempt: u16,
    /// When it was accepted.
    submitted: String,
    /// Since when it is in its state.
    since: String,
    /// For one that has ended: from its acceptance to its end.
    duration_minutes: Option<f64>,
}

/// Running jobs whose node sends no heartbeat any more. How long a job has waited or run does not matter.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stale {
    count: usize,
    /// For how long a node may be silent.
    threshold_minutes: f64,
}

/// See one queue at a glance.
#[utoipa::path(get, path = "/api/v1/queue-status", tag = "operating", params(Which), security(("token" = ["read"])),
    responses((status = 200, body = QueueStatus), Problems))]
pub(crate) async fn queue_status(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(which): Asked<Which>,
) -> Answer<QueueStatus> {
    caller.must_be_free()?;
    let engine = &server.engine;
    let kind = which.kind.map(Name::new).transpose().map_err(turnwise::Error::from)?;
    let mut kinds: Vec<Name> = engine.kinds().await?.iter().map(|known| known.name.clone()).collect();
    if let Some(kind) = &kind {
        if !kinds.contains(kind) {
            return Err(Refusal::UnknownKind(kind.clone()).into());
        }
        kinds.retain(|known| known == kind);
    }
    let mut tally = Tally::default();
    let totals = engine.totals().await?;
    kinds.iter().filter_map(|kind| totals.get(kind)).for_each(|other| tally.add(other));
    let totals = Totals::of(&tally);
    let active = of(&server, kind.as_ref(), JobState::Running, ACTIVE).await?;
    let waiting = first_ready(&server, &kinds).await?;
    let now = clock::now();
    let alive: BTreeSet<SessionId> =
        engine.nodes().await?.nodes.into_iter().filter(|node| node.alive).map(|node| node.session).collect();
    let stale = |row: &&JobRow| row.header.session.is_some_and(|session| !alive.contains(&session));
    Ok(Json(QueueStatus {
        queue: Queue {
            name: kind.as_deref().unwrap_or("all").to_owned(),
            waiting: totals.ready + totals.waiting,
            active: totals.running,
            delayed: totals.scheduled + totals.retrying,
            failed: totals.dead,
            completed: totals.done,
        },
        stale_instances: Stale {
            count: active.iter().filter(stale).count(),
            threshold_minutes: engine.session_span().as_secs_f64() / 60.0,
        },
        active_jobs: active.iter().map(entry).collect(),
        waiting_jobs: waiting.iter().map(entry).collect(),
        recent_completed: of(&server, kind.as_ref(), JobState::Done, RECENT)
            .await?
            .iter()
            .map(entry)
            .collect(),
        recent_failed: of(&server, kind.as_ref(), JobState::Dead, RECENT).await?.iter().map(entry).collect(),
        timestamp: now.to_string(),
    }))
}

/// The first jobs of these kinds that are ready, in the order in which they were submitted.
async fn first_ready(server: &Shared, kinds: &[Name]) -> Result<Vec<JobRow>, Problem> {
    let mut ready = Vec::new();
    for kind in kinds {
        ready.extend(server.engine.first_ready(kind, WAITING).await?);
    }
    ready.sort_by_key(|row| row.header.id);
    ready.truncate(WAITING);
    Ok(ready)
}

/// Jobs of a kind in a state, newest first.
async fn of(
    server: &Shared,
    kind: Option<&Name>,
    state: JobState,
    limit: usize,
) -> Result<Vec<JobRow>, Problem> {
    let filter = Filter { state: Some(state), kind: kind.cloned(), limit, ..Filter::default() };
    Ok(jobs::page(&server.engine, filter).await?.0)
}

fn entry(row: &JobRow) -> Entry {
    let header = &row.header;
    let taken = |from: Time, to: Time| to.since(from).as_secs_f64() / 60.0;
    Entry {
        id: header.id.to_string(),
        kind: row.line.kind.to_string(),
        owner: row.line.owner.to_string(),
        attempt: header.attempt,
        submitted: header.submitted.to_string(),
        since: header.at.to_string(),
        duration_minutes: header.state.is_final().then(|| taken(header.submitted, header.at)),
    }
}
