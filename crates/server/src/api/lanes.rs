//! Lanes: their heads and what holds them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use turnwise::{JobId, OnDead};
use utoipa::{IntoParams, ToSchema};

use super::jobs::{self, JobRowOut};
use super::pausing::{Paused, Verb};
use super::{Answer, rows};
use crate::access::Caller;
use crate::input::Asked;
use crate::problem::Problems;
use crate::state::Shared;

/// A lane and what holds it.
#[derive(Serialize, ToSchema)]
pub(crate) struct LaneOut {
    name: String,
    /// The job at its head, which alone may run.
    head: Option<JobRowOut>,
    /// Jobs behind the head.
    waiting: u64,
    /// What a dead letter does to it: `continue` or `halt`.
    on_dead: &'static str,
    /// It stands still after a dead letter.
    halted: bool,
    /// Somebody paused it.
    paused: bool,
}

/// A page of lanes, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct LanesPage {
    lanes: Vec<LaneOut>,
    /// The cursor of the next page, unless this is the last.
    next: Option<String>,
}

/// Which page of a listing by name.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ByName {
    /// The `next` of the page before.
    pub(crate) cursor: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// List the lanes that have jobs.
#[utoipa::path(get, path = "/api/v1/lanes", tag = "operating", params(ByName), security(("token" = ["read"])),
    responses((status = 200, body = LanesPage), Problems))]
pub(crate) async fn list(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(page): Asked<ByName>,
) -> Answer<LanesPage> {
    caller.must_be_free()?;
    let (engine, limit) = (&server.engine, rows(page.limit));
    let found = engine.lanes(page.cursor.as_deref(), limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|view| view.lane.name.to_string());
    let heads: Vec<JobId> = found.iter().filter_map(|view| view.lane.head).collect();
    let rows = engine.rows(heads).await?;
    let shown = jobs::shown(engine, &rows).await?;
    let mut heads: BTreeMap<JobId, JobRowOut> = rows.iter().map(|row| row.header.id).zip(shown).collect();
    let lanes = found.into_iter().map(|view| LaneOut {
        head: view.lane.head.and_then(|head| heads.remove(&head)),
        name: view.lane.name.into(),
        waiting: view.lane.waiting,
        on_dead: match view.lane.on_dead {
            OnDead::Continue => "continue",
            OnDead::Halt => "halt",
        },
        halted: view.lane.halted,
        paused: view.lane.paused,
    });
    Ok(Json(LanesPage { lanes: lanes.collect(), next }))
}

/// Pause or resume a lane. Resuming ends its halt after a dead letter, too.
#[utoipa::path(post, path = "/api/v1/lanes/{name}/{verb}", tag = "operating",
    params(("name" = String, Path), ("verb" = Verb, Path)), security(("token" = ["admin"])),
    responses((status = 200, body = Paused), Problems))]
pub(crate) async fn act(
    State(server): State<Arc<Shared>>,
    Path((name, verb)): Path<(String, String)>,
) -> Answer<Paused> {
    let verb = Verb::read(&verb)?;
    match verb {
        Verb::Pause => server.engine.pause_lane(&name).await?,
        Verb::Resume => server.engine.resume_lane(&name).await?,
    }
    Ok(Json(Paused { paused: verb == Verb::Pause }))
}
