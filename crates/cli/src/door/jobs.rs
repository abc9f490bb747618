//! Looking at jobs, and telling one what to do.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use turnwise::{Filter, JobId, JobRow, Name, Refusal, limits};

use super::input::{Asked, read, read_some};
use super::problem::Problem;
use super::{Answer, Door};

/// Rows in a page unless said.
pub(crate) const PAGE: usize = 100;

/// Which jobs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    state: Option<String>,
    kind: Option<String>,
    owner: Option<String>,
    batch: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

/// How long to wait for an end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub(crate) wait_ms: Option<u64>,
}

pub(crate) async fn list(State(door): State<Arc<Door>>, Asked(which): Asked<Which>) -> Answer {
    let filter = Filter {
        state: read_some("bad_state", which.state.as_deref())?,
        kind: name(which.kind)?,
        owner: name(which.owner)?,
        batch: read_some("bad_id", which.batch.as_deref())?,
        before: read_some("bad_id", which.before.as_deref())?,
        limit: which.limit.unwrap_or(PAGE).clamp(1, limits::PAGE_ROWS),
        ..Filter::default()
    };
    let (rows, next) = door.engine.jobs(filter).await?;
    let jobs: Vec<Value> = rows.iter().map(row).collect();
    Ok(Json(json!({"jobs": jobs, "next": next})))
}

/// A name in a query, if there is one.
pub(crate) fn name(text: Option<String>) -> Result<Option<Name>, Problem> {
    text.map(Name::new).transpose().map_err(|bad| Problem::bad("bad_name", bad.to_string()))
}

fn row(row: &JobRow) -> Value {
    json!({
        "id": row.header.id,
        "kind": row.line.kind,
        "owner": row.line.owner,
        "batch": row.line.batch,
        "priority": row.line.priority,
        "state": row.header.state,
        "attempt": row.header.attempt,
        "attempts": row.header.attempts,
        "submitted": row.header.submitted,
        "at": row.header.at,
    })
}

pub(crate) async fn one(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
    Asked(wait): Asked<Wait>,
) -> Answer {
    let id: JobId = read("bad_id", &id)?;
    if wait.wait_ms.is_some() {
        tokio::select! {
            ended = door.engine.wait(id) => drop(ended?),
            () = door.patience(wait.wait_ms) => {}
        }
    }
    match door.engine.job(id).await? {
        Some(view) => Ok(Json(json!(view))),
        None => Err(Refusal::UnknownJob(id).into()),
    }
}

pub(crate) async fn act(State(door): State<Arc<Door>>, Path((id, verb)): Path<(String, String)>) -> Answer {
    let id: JobId = read("bad_id", &id)?;
    let state = match verb.as_str() {
        "cancel" => door.engine.cancel(id).await?,
        "retry" => door.engine.retry_now(id).await?,
        "replay" => door.engine.replay(id).await?,
        _ => return Err(Problem::bad("bad_verb", "a job can be told to cancel, retry or replay")),
    };
    Ok(Json(json!({"id": id, "state": state})))
}
