//! Whether the process lives, and whether it can do its work.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use serde::Serialize;
use turnwise::Scope;
use utoipa::ToSchema;

use crate::access::guard::{self, Peer};
use crate::clock;
use crate::state::Shared;

/// It lives.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
    version: &'static str,
    pid: u32,
    /// The time of this process.
    time: i64,
}

/// Say whether the process lives. It needs no token, and asks nobody else.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, body = Health)))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        time: clock::now().as_micros(),
    })
}

/// Whether a node can do its work.
#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    /// What is missing.
    missing: Vec<Missing>,
    /// In words.
    detail: String,
}

/// Something that a node needs and does not have at the moment.
#[derive(Serialize, ToSchema)]
pub(crate) struct Missing {
    /// `store`, `broker`, `leases` or `session`.
    what: &'static str,
    /// Why it cannot be had. Only whoever may read is told, because it names servers.
    why: Option<String>,
}

/// Say whether this node can reach all that it needs. It needs no token.
#[utoipa::path(get, path = "/ready", tag = "health",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)))]
pub(crate) async fn ready(
    State(server): State<Arc<Shared>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> (StatusCode, Json<Readiness>) {
    let missing = server.engine.missing().await;
    let told = guard::caller(&server, peer.map(|peer| peer.0), &headers)
        .await
        .is_ok_and(|caller| caller.must(Scope::Read).is_ok());
    let said: Vec<String> = missing
        .iter()
        .map(|missing| match told {
            true => format!("{}: {}", missing.what, missing.why),
            false => missing.what.to_owned(),
        })
        .collect();
    let (status, detail) = match missing.is_empty() {
        true => (StatusCode::OK, "ready".to_owned()),
        false => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready. {}", said.join(". "))),
    };
    let ready = missing.is_empty();
    let missing =
        missing.into_iter().map(|missing| Missing { what: missing.what, why: told.then_some(missing.why) });
    (status, Json(Readiness { ready, missing: missing.collect(), detail }))
}
