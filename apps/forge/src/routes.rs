//! What can be asked of the forge over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Engine, Filter, JobView, Name, State as JobState};
use turnwise_server::{Answer, Application, Caller, File, Problem, Problems, Routes, Said};
use utoipa::{OpenApi as _, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::check::{self, Once, REQUEST_BYTES};
use crate::clear::{self, Cleared, Counts, What};
use crate::job::Generate;
use crate::queue::{self, Queued};
use crate::settings::{Order, Settings};
use crate::submit::submit;
use crate::view::{self, PhaseView, Status};

/// Unfinished requests that are shown.
const SHOWN: usize = 200;
/// Ended requests that are shown.
const RECENT: usize = 20;
/// Owners of a token whose ended requests are looked for.
const OWNERS: usize = 50;

const FILES: &[File] = &[
    ("index.html", include_bytes!("page/index.html")),
    ("main.js", include_bytes!("page/main.js")),
    ("request.js", include_bytes!("page/request.js")),
];

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "forge", description = "Services that are generated, committed and published in order")))]
struct Described;

/// What every route has at hand.
struct Shared {
    engine: Engine,
    settings: Settings,
}

/// The forge as a server hosts it.
pub fn application(engine: &Engine, settings: &Settings) -> Application {
    let shared = Arc::new(Shared { engine: engine.clone(), settings: settings.clone() });
    let read = OpenApiRouter::with_openapi(Described::openapi()).routes(routes!(one)).routes(routes!(line));
    Application {
        name: "forge",
        title: "Forge",
        files: FILES,
        panel: None,
        routes: Routes {
            read: read.with_state(shared.clone()),
            submit: OpenApiRouter::new().routes(routes!(hand_in)).with_state(shared.clone()),
            admin: OpenApiRouter::new().routes(routes!(clear_some)).with_state(shared),
        },
    }
}

/// A request that was accepted.
#[derive(Serialize, ToSchema)]
struct AcceptedOut {
    /// The job that stands for it.
    job: String,
    /// Its id; that of the other request, if this one was recognised or collapsed.
    request: String,
    /// Where it stands; `Forgotten` for one that was cleared after its end.
    status: &'static str,
    /// Whether it was there already.
    existing: bool,
    /// Whether what was handed in under this id before was something else. What is there stays as it is.
    differs: bool,
    /// How many are before it.
    position: Option<u64>,
    /// When it was accepted, in microseconds since 1970.
    queued_at: Option<i64>,
}

/// Hand in a request to generate a service.
#[utoipa::path(post, path = "/api/v1/forge/requests", tag = "forge", request_body = Object, security(("token" = ["submit"])),
    responses((status = 202, body = AcceptedOut), Problems))]
async fn hand_in(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Said(Once(said)): Said<Once>,
) -> Result<(StatusCode, Json<AcceptedOut>), Problem> {
    let request = checked(&said)?;
    let owner = Name::new(&request.owner).map_err(turnwise::Error::from)?;
    caller.owner(Some(owner))?;
    let (id, content) = (request.id.clone(), request.content());
    let accepted = submit(&shared.engine, &shared.settings, request).await?;
    let answer = match shared.engine.job(accepted.job).await? {
        Some(view) => {
            let status = view::status(&shared.engine, &shared.settings, &view).await?;
            AcceptedOut {
                job: status.job,
                request: status.request,
                status: status.status,
                existing: accepted.existing,
                differs: serde_json::from_value::<Generate>(view.payload)
                    .is_ok_and(|there| there.request.content() != content),
                position: status.position,
                queued_at: Some(status.submitted),
            }
        }
        None => AcceptedOut {
            job: accepted.job.to_string(),
            request: id,
            status: "Forgotten",
            existing: true,
            differs: false,
            position: None,
            queued_at: None,
        },
    };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

fn checked(said: &Value) -> Result<crate::request::Request, Problem> {
    if said.to_string().len() > REQUEST_BYTES {
        let detail =
            format!("a request to the forge may have {REQUEST_BYTES} bytes: describe several services");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    check::request(said).map_err(|wrong| Problem::bad("bad_payload", wrong.to_string()))
}

/// Show a request, by the id of its job or by its own.
#[utoipa::path(get, path = "/api/v1/forge/requests/{id}", tag = "forge", params(("id" = String, Path)),
    security(("token" = ["read"])), responses((status = 200, body = Status), Problems))]
async fn one(State(shared): State<Arc<Shared>>, caller: Caller, Path(id): Path<String>) -> Answer<Status> {
    let found = view::find(&shared.engine, &id).await?.filter(|view| caller.sees(&view.owner));
    let Some(view) = found else {
        let detail =
            "there is no such request, or it is not yours: `turnwise forge queue` lists the last ones";
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_job", detail));
    };
    Ok(Json(view::status(&shared.engine, &shared.settings, &view).await?))
}

/// The line of requests.
#[derive(Serialize, ToSchema)]
struct Line {
    /// `per_service` or `global`.
    order: &'static str,
    /// The lease of the one that works, in global order.
    leader: Option<LeaderOut>,
    /// Lanes with unfinished requests.
    lanes: Vec<LaneOut>,
    /// The last requests that ended.
    recent: Vec<Entry>,
    /// Whether there are more than are shown.
    more: bool,
    /// How many requests there are, for a token that is bound to no owner.
    counts: Option<Counts>,
}

/// Who works, in global order.
#[derive(Serialize, ToSchema)]
struct LeaderOut {
    /// The lease.
    key: String,
    /// Who holds it.
    holder: Option<String>,
    /// Which holding this is.
    term: u64,
    /// For how many more milliseconds it lasts.
    remaining_ms: u64,
}

/// A lane and its requests, in their order.
#[derive(Serialize, ToSchema)]
struct LaneOut {
    lane: String,
    requests: Vec<Entry>,
}

/// A request in a list.
#[derive(Serialize, ToSchema)]
struct Entry {
    job: String,
    request: String,
    service: String,
    owner: String,
    status: &'static str,
    /// How many are before it; nothing for one that has ended.
    position: Option<u64>,
    attempt: u16,
    attempts: u16,
    /// When it was accepted, in microseconds since 1970.
    submitted: i64,
    /// When it is due, or since when it stands as it does.
    since: i64,
    phases: Vec<PhaseView>,
}

/// Show who waits where, and what ended last.
#[utoipa::path(get, path = "/api/v1/forge/queue", tag = "forge", security(("token" = ["read"])),
    responses((status = 200, body = Line), Problems))]
async fn line(State(shared): State<Arc<Shared>>, caller: Caller) -> Answer<Line> {
    let engine = &shared.engine;
    let all = queue::all(engine).await?;
    let names = queue::lanes(engine, &all).await?;
    let mine: Vec<Queued> = all.into_iter().filter(|queued| caller.sees(&queued.row.line.owner)).collect();
    let more = mine.len() > SHOWN;
    let mut lanes: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for queued in mine.into_iter().take(SHOWN) {
        let lane = queued.row.header.place.and_then(|place| names.get(&place.lane));
        let lane = lane.map_or_else(String::new, Name::to_string);
        if let Some(view) = engine.job(queued.row.header.id).await? {
            lanes.entry(lane).or_default().push(entry(&view, Some(queued.position)));
        }
    }
    let counts = if caller.owners.is_none() { Some(clear::counts(engine).await?) } else { None };
    Ok(Json(Line {
        order: match shared.settings.order {
            Order::PerService => "per_service",
            Order::Global(_) => "global",
        },
        leader: leader(&shared).await?,
        lanes: lanes.into_iter().map(|(lane, requests)| LaneOut { lane, requests }).collect(),
        recent: recent(engine, &caller).await?,
        more,
        counts,
    }))
}

async fn leader(shared: &Shared) -> Result<Option<LeaderOut>, Problem> {
    let Order::Global(leader) = &shared.settings.order else { return Ok(None) };
    let seen = shared.engine.nodes().await?;
    let lease = seen.leases.iter().find(|seen| *seen.lease.name == *leader.key);
    let held = lease.filter(|seen| seen.held);
    Ok(Some(LeaderOut {
        key: leader.key.clone(),
        holder: held.map(|seen| seen.lease.holder.to_string()),
        term: lease.map_or(0, |seen| seen.lease.term),
        remaining_ms: held.map_or(0, |held| held.lease.until.since(seen.time).as_millis() as u64),
    }))
}

async fn recent(engine: &Engine, caller: &Caller) -> Result<Vec<Entry>, Problem> {
    // Asked for by owner: those of others would fill the page.
    let owners: Vec<Option<Name>> = match &caller.owners {
        None => vec![None],
        Some(owners) => owners.iter().take(OWNERS).cloned().map(Some).collect(),
    };
    let mut found = Vec::new();
    for owner in &owners {
        for state in [JobState::Done, JobState::Dead, JobState::Cancelled] {
            let (state, kind, owner) = (Some(state), Some(queue::kind()?), owner.clone());
            let filter = Filter { state, kind, owner, limit: RECENT, ..Filter::default() };
            found.extend(engine.jobs(filter).await?.0);
        }
    }
    found.sort_by_key(|row| std::cmp::Reverse(row.header.at));
    let mut recent = Vec::new();
    for row in found.into_iter().take(RECENT) {
        recent.extend(engine.job(row.header.id).await?.map(|view| entry(&view, None)));
    }
    Ok(recent)
}

fn entry(view: &JobView, position: Option<u64>) -> Entry {
    let text = |name: &str| view.payload["request"][name].as_str().unwrap_or_default().to_owned();
    Entry {
        job: view.id.to_string(),
        request: text("id"),
        service: text("service"),
        owner: view.owner.to_string(),
        status: view::word(view.state),
        position,
        attempt: view.attempt,
        attempts: view.attempts,
        submitted: view.submitted.as_micros(),
        since: view.at.as_micros(),
        phases: view::phases(view),
    }
}

/// What to clear.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Clear {
    /// `waiting`, `delayed`, `failed`, `completed` or `all`.
    what: What,
}

/// Cancel what waits, or forget what has ended. What runs is not touched.
#[utoipa::path(post, path = "/api/v1/forge/clear", tag = "forge", request_body = Clear, security(("token" = ["admin"])),
    responses((status = 200, body = Cleared), Problems))]
async fn clear_some(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Said(said): Said<Clear>,
) -> Answer<Cleared> {
    caller.must_be_free()?;
    Ok(Json(clear::clear(&shared.engine, said.what).await?))
}
