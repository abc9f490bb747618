//! The door: HTTP on this machine, through which the other commands, and any program, reach the engine.
//!
//! Every answer is JSON. Times are microseconds since 1970, ids have 13 letters, and an error says what to
//! do: `{"code": "unknown_job", "message": "there is no job …"}`.

mod batches;
mod control;
mod guard;
mod input;
mod jobs;
mod overview;
pub(crate) mod place;
mod problem;
mod submit;
pub(crate) mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use turnwise::Engine;

use crate::builtin::Allowed;
use problem::Problem;
use token::Token;

/// The largest request: a full submission and what JSON adds to it.
pub(crate) const BODY_BYTES: usize = 20 << 20;
/// The longest request, body and all.
const REQUEST: Duration = Duration::from_secs(60);
/// The longest that an answer is held back for something to happen; less than a request may take.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// What every request has at hand.
pub(crate) struct Door {
    pub(crate) engine: Engine,
    pub(crate) token: Token,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    pub(crate) allowed: Allowed,
    /// Said when the process stops: whoever waits for something gets an answer now.
    pub(crate) closing: watch::Receiver<bool>,
}

/// What a handler answers.
type Answer = Result<axum::Json<Value>, Problem>;

impl Door {
    /// How long to hold an answer back: what was asked for within the limit, and no longer than the process
    /// runs.
    async fn patience(&self, wait_ms: Option<u64>) {
        let wait = Duration::from_millis(wait_ms.unwrap_or(0)).min(WAIT);
        let mut closing = self.closing.clone();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // An error means that the process is going as well.
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }
}

/// Answers requests until `closing` is said.
pub(crate) async fn serve(door: Arc<Door>, listener: TcpListener) -> std::io::Result<()> {
    let mut closing = door.closing.clone();
    let closed = async move {
        // An error means that the process is going as well.
        let _ = closing.wait_for(|closing| *closing).await;
    };
    axum::serve(listener, router(door)).with_graceful_shutdown(closed).await
}

fn router(door: Arc<Door>) -> Router {
    let routes = Router::new()
        .route("/v1/submit", post(submit::jobs))
        .route("/v1/batch", post(submit::batch))
        .route("/v1/jobs", get(jobs::list))
        .route("/v1/jobs/{id}", get(jobs::one))
        .route("/v1/jobs/{id}/{verb}", post(jobs::act))
        .route("/v1/batches", get(batches::list))
        .route("/v1/batches/{id}", get(batches::one))
        .route("/v1/batches/{id}/{verb}", post(batches::act))
        .route("/v1/lanes", get(overview::lanes))
        .route("/v1/lanes/{verb}", post(control::lane))
        .route("/v1/owners", get(overview::owners).post(control::owner))
        .route("/v1/pause", post(control::pause))
        .route("/v1/resume", post(control::resume))
        .route("/v1/dead/replay", post(control::replay_dead))
        .route("/v1/kinds", get(overview::kinds))
        .route("/v1/nodes", get(overview::nodes))
        .route("/v1/events", get(overview::events))
        .route("/v1/health", get(overview::health))
        .route("/v1/ready", get(overview::ready))
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::no_such_method);
    routes
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(door.clone(), guard::guard))
        .with_state(door)
}
