//! Schedules: jobs that come again by the clock.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Missed, Overlap, Refusal, ScheduleView};
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::input::Said;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A schedule and the job that each of its ticks submits.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleOut {
    name: String,
    /// The cron line.
    line: String,
    /// The time zone that it is read in.
    zone: String,
    /// What about ticks that nobody was there for.
    #[schema(value_type = String)]
    missed: Value,
    /// What about a tick while the last job still runs.
    #[schema(value_type = String)]
    overlap: Value,
    kind: String,
    owner: String,
    #[schema(value_type = Value)]
    payload: Value,
    /// The last tick that was dealt with.
    last: i64,
    /// The next one.
    next: Option<i64>,
    /// The job of the last tick.
    job: Option<String>,
}

/// Every schedule.
#[derive(Serialize, ToSchema)]
pub(crate) struct Schedules {
    schedules: Vec<ScheduleOut>,
}

/// List schedules.
#[utoipa::path(get, path = "/api/v1/schedules", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Schedules), Problems))]
pub(crate) async fn list(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Schedules> {
    let found = server.engine.schedules().await?;
    let seen = found.into_iter().filter(|schedule| caller.sees(&schedule.owner));
    Ok(Json(Schedules { schedules: seen.map(shown).collect() }))
}

fn shown(view: ScheduleView) -> ScheduleOut {
    ScheduleOut {
        name: view.name.into(),
        line: view.line,
        zone: view.zone,
        missed: serde_json::to_value(view.missed).unwrap_or_default(),
        overlap: serde_json::to_value(view.overlap).unwrap_or_default(),
        kind: view.kind.into(),
        owner: view.owner.into(),
        payload: view.payload,
        last: view.last.as_micros(),
        next: view.next.map(turnwise::Time::as_micros),
        job: view.job.map(|job| job.to_string()),
    }
}

/// A schedule as a request writes it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSchedule {
    /// A cron line of five fields, or six with seconds.
    line: String,
    /// The time zone that it is read in; UTC unless said.
    zone: Option<String>,
    /// The kind of its jobs.
    kind: String,
    /// Whose turns they take.
    owner: Option<String>,
    /// Their arguments.
    #[serde(default)]
    #[schema(value_type = Value)]
    payload: Value,
    /// What about ticks that nobody was there for.
    #[schema(value_type = Option<String>)]
    missed: Option<Missed>,
    /// What about a tick while the last job still runs.
    #[schema(value_type = Option<String>)]
    overlap: Option<Overlap>,
}

/// Save a schedule. One of the same name is replaced.
#[utoipa::path(put, path = "/api/v1/schedules/{name}", tag = "operating", params(("name" = String, Path)),
    request_body = NewSchedule, security(("token" = ["admin"])),
    responses((status = 200, body = ScheduleOut), Problems))]
pub(crate) async fn save(
    State(server): State<Arc<Shared>>,
    Path(name): Path<String>,
    Said(new): Said<NewSchedule>,
) -> Answer<ScheduleOut> {
    let mut schedule = server.engine.schedule(&name, new.line);
    if let Some(zone) = new.zone {
        schedule = schedule.zone(zone);
    }
    if let Some(owner) = new.owner {
        schedule = schedule.owner(owner);
    }
    if let Some(missed) = new.missed {
        schedule = schedule.missed(missed);
    }
    if let Some(overlap) = new.overlap {
        schedule = schedule.overlap(overlap);
    }
    super::submit::admitted(&server, &new.kind, &new.payload)?;
    schedule.raw(&new.kind, new.payload).await?;
    let found = server.engine.schedules().await?;
    let saved = found.into_iter().find(|schedule| schedule.name.as_str() == name);
    let gone = || Problem::new(StatusCode::CONFLICT, "gone_again", "somebody removed it at the same moment");
    Ok(Json(shown(saved.ok_or_else(gone)?)))
}

/// Remove a schedule.
#[utoipa::path(delete, path = "/api/v1/schedules/{name}", tag = "operating", params(("name" = String, Path)),
    security(("token" = ["admin"])), responses((status = 204), Problems))]
pub(crate) async fn remove(
    State(server): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    server.engine.unschedule(&name).await.map_err(|error| match error {
        turnwise::Error::Refused(refusal @ Refusal::UnknownSchedule(_)) => Problem::from(refusal),
        error => error.into(),
    })?;
    Ok(StatusCode::NO_CONTENT)
}
