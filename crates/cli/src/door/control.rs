//! What an operator sets: pauses, lanes, owners, and bringing dead letters back.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;
use turnwise::{BatchId, Filter, Name, State as JobState, Target, limits};

use super::input::Said;
use super::jobs::name;
use super::problem::Problem;
use super::{Answer, Door};

/// What to pause or resume: one of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct What {
    kind: Option<Name>,
    owner: Option<Name>,
    batch: Option<BatchId>,
}

impl What {
    fn target(self) -> Result<Target, Problem> {
        match (self.kind, self.owner, self.batch) {
            (Some(kind), None, None) => Ok(Target::Kind(kind)),
            (None, Some(owner), None) => Ok(Target::Owner(owner)),
            (None, None, Some(batch)) => Ok(Target::Batch(batch)),
            _ => Err(Problem::bad("invalid", "name one of kind, owner and batch")),
        }
    }
}

pub(crate) async fn pause(State(door): State<Arc<Door>>, Said(what): Said<What>) -> Answer {
    door.engine.pause(what.target()?).await?;
    Ok(Json(json!({"paused": true})))
}

pub(crate) async fn resume(State(door): State<Arc<Door>>, Said(what): Said<What>) -> Answer {
    door.engine.resume(what.target()?).await?;
    Ok(Json(json!({"paused": false})))
}

/// Which lane. The name is in the body because it may hold anything, a slash too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lane {
    name: String,
}

pub(crate) async fn lane(
    State(door): State<Arc<Door>>,
    Path(verb): Path<String>,
    Said(lane): Said<Lane>,
) -> Answer {
    match verb.as_str() {
        "pause" => door.engine.pause_lane(&lane.name).await?,
        "resume" => door.engine.resume_lane(&lane.name).await?,
        _ => return Err(Problem::bad("bad_verb", "a lane can be told to pause or resume")),
    }
    Ok(Json(json!({"paused": verb == "pause"})))
}

/// What to set for an owner.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    owner: String,
    weight: Option<u32>,
    quota: Option<u64>,
}

pub(crate) async fn owner(State(door): State<Arc<Door>>, Said(said): Said<Owner>) -> Answer {
    if said.weight.is_none() && said.quota.is_none() {
        return Err(Problem::bad("invalid", "say a weight, a quota or both"));
    }
    if let Some(weight) = said.weight {
        door.engine.set_weight(&said.owner, weight).await?;
    }
    if let Some(quota) = said.quota {
        door.engine.set_quota(&said.owner, quota).await?;
    }
    Ok(Json(json!({"owner": said.owner})))
}

/// Which dead letters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dead {
    kind: Option<String>,
    owner: Option<String>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn replay_dead(State(door): State<Arc<Door>>, Said(dead): Said<Dead>) -> Answer {
    let count = match dead.dry_run {
        true => count(&door, dead).await?,
        false => door.engine.replay_dead(dead.kind.as_deref(), dead.owner.as_deref()).await?,
    };
    Ok(Json(json!({"count": count})))
}

async fn count(door: &Door, dead: Dead) -> Result<usize, Problem> {
    let mut filter = Filter {
        state: Some(JobState::Dead),
        kind: name(dead.kind)?,
        owner: name(dead.owner)?,
        limit: limits::PAGE_ROWS,
        ..Filter::default()
    };
    let mut count = 0;
    loop {
        let (rows, before) = door.engine.jobs(filter.clone()).await?;
        count += rows.len();
        match before {
            Some(before) => filter.before = Some(before),
            None => return Ok(count),
        }
    }
}
