//! Looking at batches, and telling one what to do.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;
use turnwise::{BatchId, Refusal, limits};

use super::input::{Asked, read, read_some};
use super::jobs::{PAGE, Wait};
use super::problem::Problem;
use super::{Answer, Door};

/// Which batches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    before: Option<String>,
    limit: Option<usize>,
}

pub(crate) async fn list(State(door): State<Arc<Door>>, Asked(which): Asked<Which>) -> Answer {
    let before = read_some("bad_id", which.before.as_deref())?;
    let limit = which.limit.unwrap_or(PAGE).clamp(1, limits::PAGE_ROWS);
    let batches = door.engine.batches(before, limit).await?;
    let next = batches.last().filter(|_| batches.len() == limit).map(|view| view.batch.id);
    Ok(Json(json!({"batches": batches, "next": next})))
}

pub(crate) async fn one(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
    Asked(wait): Asked<Wait>,
) -> Answer {
    let id: BatchId = read("bad_id", &id)?;
    if wait.wait_ms.is_some() {
        tokio::select! {
            ended = door.engine.wait_batch(id) => drop(ended?),
            () = door.patience(wait.wait_ms) => {}
        }
    }
    match door.engine.batch_view(id).await? {
        Some(view) => Ok(Json(json!(view))),
        None => Err(Refusal::UnknownBatch(id).into()),
    }
}

pub(crate) async fn act(State(door): State<Arc<Door>>, Path((id, verb)): Path<(String, String)>) -> Answer {
    let id: BatchId = read("bad_id", &id)?;
    match verb.as_str() {
        "cancel" => door.engine.cancel_batch(id).await?,
        "release" => door.engine.release_batch(id).await?,
        "seal" => door.engine.seal_batch(id).await?,
        _ => return Err(Problem::bad("bad_verb", "a batch can be told to cancel, release or seal")),
    }
    Ok(Json(json!({"id": id})))
}
