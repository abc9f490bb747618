//! The session of a browser: a token is exchanged for a cookie.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Answer;
use crate::access::guard::{self, Peer};
use crate::access::secret::digest;
use crate::access::{Caller, cookie};
use crate::clock;
use crate::input::Said;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A token to be exchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    token: String,
}

/// Who is asking.
#[derive(Serialize, ToSchema)]
pub(crate) struct Session {
    /// The token's name.
    name: String,
    /// What it may do.
    scopes: BTreeSet<&'static str>,
    /// The owners that it is bound to, if it is bound.
    owners: Option<BTreeSet<String>>,
}

/// Exchange a token for a cookie.
#[utoipa::path(post, path = "/api/v1/session", tag = "access", request_body = Login,
    responses((status = 204, headers(("set-cookie" = String))), Problems))]
pub(crate) async fn begin(
    State(server): State<Arc<Shared>>,
    peer: Option<axum::Extension<Peer>>,
    Said(login): Said<Login>,
) -> Result<Response, Problem> {
    let cookie = exchange(&server, peer.map(|peer| peer.0), &login.token).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// The cookie for a token, if it is one.
pub(crate) async fn exchange(
    server: &Shared,
    peer: Option<Peer>,
    token: &str,
) -> Result<HeaderValue, Problem> {
    let caller = guard::whose(server, peer, &digest(token)).await?;
    let cookie = cookie::set(server.ring.key(), &caller.hash, clock::now());
    HeaderValue::from_str(&cookie).map_err(|_| Problem::bad("bad_token", "that is no token"))
}

/// See who is asking.
#[utoipa::path(get, path = "/api/v1/session", tag = "access", security(("token" = [])),
    responses((status = 200, body = Session), Problems))]
pub(crate) async fn show(caller: Caller) -> Answer<Session> {
    Ok(Json(Session {
        name: caller.name.to_string(),
        scopes: caller.scopes.iter().map(|scope| scope.word()).collect(),
        owners: caller.owners.map(|owners| owners.into_iter().map(String::from).collect()),
    }))
}

/// End the session: the cookie is removed.
#[utoipa::path(delete, path = "/api/v1/session", tag = "access", security(("token" = [])),
    responses((status = 204, headers(("set-cookie" = String))), Problems))]
pub(crate) async fn end() -> Response {
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie::unset())]).into_response()
}
