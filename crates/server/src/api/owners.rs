//! Owners: their counts, their share, and their limits.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use turnwise::{Name, OwnerView, Target};
use utoipa::ToSchema;

use super::lanes::ByName;
use super::pausing::{Paused, Verb};
use super::{Answer, rows};
use crate::access::Caller;
use crate::input::{Asked, Said};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// An owner and its counts.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnerOut {
    owner: String,
    /// Its share of the turns, relative to the others'.
    weight: u32,
    /// How many unfinished jobs it may have.
    quota: u64,
    /// How many it has.
    backlog: u64,
    /// How many are ready.
    ready: u64,
    /// How many run.
    running: u64,
    /// How many wait for their turn or their time.
    waiting: u64,
    /// How many were done.
    done: u64,
    /// How many are dead letters.
    dead: u64,
    /// Whether nothing of it starts.
    paused: bool,
}

/// A page of owners, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnersPage {
    owners: Vec<OwnerOut>,
    /// The cursor of the next page, unless this is the last.
    next: Option<String>,
}

/// List owners.
#[utoipa::path(get, path = "/api/v1/owners", tag = "operating", params(ByName), security(("token" = ["read"])),
    responses((status = 200, body = OwnersPage), Problems))]
pub(crate) async fn list(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    Asked(page): Asked<ByName>,
) -> Answer<OwnersPage> {
    let limit = rows(page.limit);
    let found = server.engine.owners(page.cursor.as_deref(), limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|view| view.owner.to_string());
    let pauses = server.engine.pauses().await?;
    let seen = found.into_iter().filter(|view| caller.sees(&view.owner));
    let owners = seen.map(|view| {
        let paused = pauses.contains(&Target::Owner(view.owner.clone()));
        shown(view, paused)
    });
    Ok(Json(OwnersPage { owners: owners.collect(), next }))
}

fn shown(view: OwnerView, paused: bool) -> OwnerOut {
    let OwnerView { owner, weight, quota, backlog, ready, running, waiting, done, dead } = view;
    OwnerOut { owner: owner.into(), weight, quota, backlog, ready, running, waiting, done, dead, paused }
}

/// What to set for an owner.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnerChange {
    /// Its share of the turns, relative to the others'.
    #[schema(minimum = 1)]
    weight: Option<u32>,
    /// How many unfinished jobs it may have.
    quota: Option<u64>,
}

/// What was set for an owner.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnerChanged {
    owner: String,
    weight: Option<u32>,
    quota: Option<u64>,
}

/// Change an owner's share of the turns, or its limit.
#[utoipa::path(patch, path = "/api/v1/owners/{owner}", tag = "operating", params(("owner" = String, Path)),
    request_body = OwnerChange, security(("token" = ["admin"])),
    responses((status = 200, body = OwnerChanged), Problems))]
pub(crate) async fn change(
    State(server): State<Arc<Shared>>,
    Path(owner): Path<String>,
    Said(said): Said<OwnerChange>,
) -> Answer<OwnerChanged> {
    let OwnerChange { weight, quota } = said;
    if weight.is_none() && quota.is_none() {
        return Err(Problem::bad("invalid", "say a weight, a quota or both"));
    }
    if let Some(weight) = weight {
        server.engine.set_weight(&owner, weight).await?;
    }
    if let Some(quota) = quota {
        server.engine.set_quota(&owner, quota).await?;
    }
    Ok(Json(OwnerChanged { owner, weight, quota }))
}

/// Pause or resume an owner.
#[utoipa::path(post, path = "/api/v1/owners/{owner}/{verb}", tag = "operating",
    params(("owner" = String, Path), ("verb" = Verb, Path)), security(("token" = ["admin"])),
    responses((status = 200, body = Paused), Problems))]
pub(crate) async fn act(
    State(server): State<Arc<Shared>>,
    Path((owner, verb)): Path<(String, String)>,
) -> Answer<Paused> {
    let (owner, verb) = (Name::new(owner).map_err(turnwise::Error::from)?, Verb::read(&verb)?);
    match verb {
        Verb::Pause => server.engine.pause(Target::Owner(owner)).await?,
        Verb::Resume => server.engine.resume(Target::Owner(owner)).await?,
    }
    Ok(Json(Paused { paused: verb == Verb::Pause }))
}
