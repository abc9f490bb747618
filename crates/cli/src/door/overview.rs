//! The listings that are not jobs: lanes, owners, kinds, nodes, events, and whether all is well.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use turnwise::{Cursor, Target, limits};

use super::input::Asked;
use super::jobs::PAGE;
use super::{Answer, Door};

/// Which page of a listing by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

impl Page {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE).clamp(1, limits::PAGE_ROWS)
    }
}

pub(crate) async fn lanes(State(door): State<Arc<Door>>, Asked(page): Asked<Page>) -> Answer {
    let limit = page.limit();
    let lanes = door.engine.lanes(page.after.as_deref(), limit).await?;
    let next = lanes.last().filter(|_| lanes.len() == limit).map(|view| view.lane.name.clone());
    Ok(Json(json!({"lanes": lanes, "next": next})))
}

pub(crate) async fn owners(State(door): State<Arc<Door>>, Asked(page): Asked<Page>) -> Answer {
    let limit = page.limit();
    let owners = door.engine.owners(page.after.as_deref(), limit).await?;
    let next = owners.last().filter(|_| owners.len() == limit).map(|view| view.owner.clone());
    let pauses = door.engine.pauses().await?;
    let rows = owners.into_iter().map(|view| {
        let paused = pauses.contains(&Target::Owner(view.owner.clone()));
        with(json!(view), "paused", paused.into())
    });
    Ok(Json(json!({"owners": rows.collect::<Vec<Value>>(), "next": next})))
}

pub(crate) async fn kinds(State(door): State<Arc<Door>>) -> Answer {
    let alarms = door.engine.alarms();
    let pauses = door.engine.pauses().await?;
    let kinds = door.engine.kinds().await?;
    let rows = kinds.iter().map(|kind| {
        let row = with(json!(**kind), "paused", pauses.contains(&Target::Kind(kind.name.clone())).into());
        with(row, "alarm", alarms.contains(&kind.name).into())
    });
    let off = door.allowed.kinds().1.into_iter().map(|(kind, flag)| json!({"name": kind, "flag": flag}));
    Ok(Json(json!({"kinds": rows.collect::<Vec<Value>>(), "off": off.collect::<Vec<Value>>()})))
}

pub(crate) async fn nodes(State(door): State<Arc<Door>>) -> Answer {
    Ok(Json(json!(door.engine.nodes().await?)))
}

fn with(mut row: Value, name: &str, value: Value) -> Value {
    row[name] = value;
    row
}

/// Which events, and how long to wait for the first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    after: Option<u64>,
    limit: Option<usize>,
    wait_ms: Option<u64>,
}

pub(crate) async fn events(State(door): State<Arc<Door>>, Asked(asked): Asked<After>) -> Answer {
    let after = Cursor::from_u64(asked.after.unwrap_or(0));
    let limit = asked.limit.unwrap_or(PAGE).clamp(1, limits::PAGE_ROWS);
    let patience = door.patience(asked.wait_ms);
    tokio::pin!(patience);
    loop {
        let told = door.engine.next_commit();
        tokio::pin!(told);
        // Listen before looking, so that nothing that happens in between is missed.
        let heard = poll_fn(|context| Poll::Ready(told.as_mut().poll(context).is_ready())).await;
        let (events, next) = door.engine.events(after, limit).await?;
        let page = json!({"events": events, "next": next});
        if !events.is_empty() {
            return Ok(Json(page));
        }
        if !heard {
            tokio::select! {
                () = told => {}
                () = &mut patience => return Ok(Json(page)),
            }
        }
    }
}

pub(crate) async fn health(State(door): State<Arc<Door>>) -> Answer {
    // Whoever cannot read its kinds cannot do anything else either.
    door.engine.kinds().await?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "time": u64::try_from(now.as_micros()).unwrap_or(u64::MAX),
        "alarms": door.engine.alarms(),
    })))
}

/// Whether this node can do its work, and what is missing if it cannot.
pub(crate) async fn ready(State(door): State<Arc<Door>>) -> (StatusCode, Json<Value>) {
    let missing = door.engine.missing().await;
    if missing.is_empty() {
        return (StatusCode::OK, Json(json!({"ready": true, "missing": []})));
    }
    let said: Vec<String> =
        missing.iter().map(|missing| format!("{}: {}", missing.what, missing.why)).collect();
    let message = format!("not ready. {}", said.join(". "));
    let answer = json!({"ready": false, "missing": missing, "message": message});
    (StatusCode::SERVICE_UNAVAILABLE, Json(answer))
}
