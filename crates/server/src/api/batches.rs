//! Looking at batches, and telling one what to do.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use turnwise::{BatchId, BatchView, Refusal, Target, When};
use utoipa::{IntoParams, ToSchema};

use super::jobs::Wait;
use super::{Answer, rows};
use crate::access::Caller;
use crate::input::{Asked, read, read_some};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A batch and its counts.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchOut {
    id: String,
    /// What people call it.
    name: String,
    /// Whose turns its jobs take.
    owner: String,
    /// When it was opened.
    opened: i64,
    /// When it settled or was parked; 0 before that.
    settled: i64,
    /// `open`, `sealed`, `settled` or `parked`.
    phase: &'static str,
    /// Jobs in it.
    total: u64,
    /// Jobs that were done.
    done: u64,
    /// Jobs that failed for good.
    dead: u64,
    /// Jobs that were cancelled.
    cancelled: u64,
    /// Jobs that were done after a replay.
    repaired: u64,
    /// Jobs that have not ended.
    pending: u64,
    /// What follows.
    then: Option<Then>,
    /// Somebody asked for its end.
    cancel: bool,
    /// Whether nothing of it starts.
    paused: bool,
}

/// What follows a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Then {
    /// The job.
    job: String,
    /// `settled`, or `all_done` if nothing may have failed.
    when: &'static str,
}

/// A page of batches, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchesPage {
    batches: Vec<BatchOut>,
    /// The cursor of the next page, unless this is the last.
    next: Option<String>,
}

/// Which batches.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List batches.
#[utoipa::path(get, path = "/api/v1/batches", tag = "batches", params(Which), security(("token" = ["read"])),
    responses((status = 200, body = BatchesPage), Problems))]
pub(crate) async fn list(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(which): Asked<Which>,
) -> Answer<BatchesPage> {
    let before = read_some("bad_cursor", which.cursor.as_deref())?;
    let limit = rows(which.limit);
    let found = server.engine.batches(before, limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|view| view.batch.id.to_string());
    let pauses = server.engine.pauses().await?;
    let seen = found.into_iter().filter(|view| caller.sees(&view.batch.owner));
    Ok(Json(BatchesPage { batches: seen.map(|view| shown(view, &pauses)).collect(), next }))
}

/// Show a batch, or wait until it has settled.
#[utoipa::path(get, path = "/api/v1/batches/{id}", tag = "batches", params(("id" = String, Path), Wait),
    security(("token" = ["read"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn one(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(wait): Asked<Wait>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    if wait.wait_ms.is_some() {
        tokio::select! {
            ended = server.engine.wait_batch(id) => drop(ended?),
            () = server.patience(wait.wait_ms) => {}
        }
    }
    look(&server, &caller, id).await
}

/// A batch that the caller may see. Another's is as unknown as none.
pub(crate) async fn seen(server: &Shared, caller: &Caller, id: BatchId) -> Result<BatchView, Problem> {
    let view = server.engine.batch_view(id).await?.filter(|view| caller.sees(&view.batch.owner));
    view.ok_or_else(|| Refusal::UnknownBatch(id).into())
}

/// The id of a batch that the caller may see.
async fn known(server: &Shared, caller: &Caller, id: &str) -> Result<BatchId, Problem> {
    let id: BatchId = read("bad_id", id)?;
    seen(server, caller, id).await.map(|_| id)
}

async fn look(server: &Shared, caller: &Caller, id: BatchId) -> Answer<BatchOut> {
    let view = seen(server, caller, id).await?;
    Ok(Json(shown(view, &server.engine.pauses().await?)))
}

fn shown(view: BatchView, pauses: &BTreeSet<Target>) -> BatchOut {
    let BatchView { batch, pending } = view;
    BatchOut {
        id: batch.id.to_string(),
        name: batch.name.to_string(),
        owner: batch.owner.to_string(),
        opened: batch.opened.as_micros(),
        settled: batch.settled.as_micros(),
        phase: batch.phase.word(),
        total: batch.total,
        done: batch.done,
        dead: batch.dead,
        cancelled: batch.cancelled,
        repaired: batch.repaired,
        pending,
        then: batch.then.map(|then| Then {
            job: then.job.to_string(),
            when: match then.when {
                When::Settled => "settled",
                When::AllDone => "all_done",
            },
        }),
        cancel: batch.cancel,
        paused: pauses.contains(&Target::Batch(batch.id)),
    }
}

/// Let a batch take no more jobs, so that it may settle.
#[utoipa::path(post, path = "/api/v1/batches/{id}/seal", tag = "batches", params(("id" = String, Path)),
    security(("token" = ["submit"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn seal(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    server.engine.seal_batch(id).await?;
    look(&server, &caller, id).await
}

/// End a batch: its jobs that have not ended are cancelled.
#[utoipa::path(post, path = "/api/v1/batches/{id}/cancel", tag = "batches", params(("id" = String, Path)),
    security(("token" = ["submit"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn cancel(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    server.engine.cancel_batch(id).await?;
    look(&server, &caller, id).await
}

/// Let a parked batch go on although not all its jobs were done.
#[utoipa::path(post, path = "/api/v1/batches/{id}/release", tag = "batches", params(("id" = String, Path)),
    security(("token" = ["admin"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn release(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    server.engine.release_batch(id).await?;
    look(&server, &caller, id).await
}

/// Let nothing of a batch start. What runs, runs on.
#[utoipa::path(post, path = "/api/v1/batches/{id}/pause", tag = "batches", params(("id" = String, Path)),
    security(("token" = ["admin"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn pause(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    server.engine.pause(Target::Batch(id)).await?;
    look(&server, &caller, id).await
}

/// End the pause of a batch.
#[utoipa::path(post, path = "/api/v1/batches/{id}/resume", tag = "batches", params(("id" = String, Path)),
    security(("token" = ["admin"])), responses((status = 200, body = BatchOut), Problems))]
pub(crate) async fn resume(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<BatchOut> {
    let id = known(&server, &caller, &id).await?;
    server.engine.resume(Target::Batch(id)).await?;
    look(&server, &caller, id).await
}
