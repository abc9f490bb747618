//! Dead letters: what failed for good and why, and a new life for it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Filter, Name, State as JobState, limits};
use utoipa::{IntoParams, ToSchema};

use super::jobs::{self, JobRowOut};
use super::{Answer, rows};
use crate::access::Caller;
use crate::input::{Asked, Said, name, read_some};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A dead letter with its last error.
#[derive(Serialize, ToSchema)]
pub(crate) struct Letter {
    #[serde(flatten)]
    row: JobRowOut,
    /// What its last attempt said.
    error: Option<String>,
    /// How its last attempt failed.
    #[schema(value_type = Option<String>)]
    failure: Option<Value>,
}

/// A page of dead letters, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Letters {
    jobs: Vec<Letter>,
    /// The cursor of the next page, unless this is the last.
    next: Option<String>,
}

/// Which dead letters.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only of this kind.
    kind: Option<String>,
    /// Only of this owner.
    owner: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List dead letters.
#[utoipa::path(get, path = "/api/v1/dead", tag = "jobs", params(Which), security(("token" = ["read"])),
    responses((status = 200, body = Letters), Problems))]
pub(crate) async fn list(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(which): Asked<Which>,
) -> Answer<Letters> {
    let filter = Filter {
        state: Some(JobState::Dead),
        kind: name(which.kind)?,
        owner: caller.owner(name(which.owner)?)?,
        before: read_some("bad_cursor", which.cursor.as_deref())?,
        limit: rows(which.limit),
        ..Filter::default()
    };
    let (found, next) = jobs::page(&server.engine, filter).await?;
    let shown = jobs::shown(&server.engine, &found).await?;
    let mut letters = Vec::with_capacity(found.len());
    for (row, found) in shown.into_iter().zip(&found) {
        // One that was replayed meanwhile has no error to show.
        let view = server.engine.job(found.header.id).await?;
        let last = view.and_then(|view| view.errors.into_iter().next_back());
        let failure = last.as_ref().and_then(|last| serde_json::to_value(last.failure).ok());
        letters.push(Letter { row, error: last.map(|last| last.error), failure });
    }
    Ok(Json(Letters { jobs: letters, next: next.map(|id| id.to_string()) }))
}

/// Which dead letters to replay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replay {
    /// Only of this kind.
    kind: Option<String>,
    /// Only of this owner.
    owner: Option<String>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// How many there were.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replayed {
    count: usize,
    dry_run: bool,
}

/// Give all dead letters that match a new life, or count them.
#[utoipa::path(post, path = "/api/v1/dead/replay", tag = "jobs", request_body = Replay,
    security(("token" = ["admin"])), responses((status = 200, body = Replayed), Problems))]
pub(crate) async fn replay(State(server): State<Arc<Shared>>, Said(which): Said<Replay>) -> Answer<Replayed> {
    let Replay { kind, owner, dry_run } = which;
    let count = match dry_run {
        true => count(&server, name(kind)?, name(owner)?).await?,
        false => server.engine.replay_dead(kind.as_deref(), owner.as_deref()).await?,
    };
    Ok(Json(Replayed { count, dry_run }))
}

async fn count(server: &Shared, kind: Option<Name>, owner: Option<Name>) -> Result<usize, Problem> {
    let state = Some(JobState::Dead);
    let mut filter = Filter { state, kind, owner, limit: limits::PAGE_ROWS, ..Filter::default() };
    let mut count = 0;
    loop {
        let (rows, before) = server.engine.jobs(filter.clone()).await?;
        count += rows.len();
        match before {
            Some(before) => filter.before = Some(before),
            None => return Ok(count),
        }
    }
}
