//! Every request to the API passes here: host, origin, token, scope, rate, time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use turnwise::{Scope, TracePlace, traced};

use super::secret::digest;
use super::{Caller, cookie, hosts};
use crate::clock;
use crate::input::{self, BODY_BYTES};
use crate::problem::Problem;
use crate::state::Shared;

/// The longest request, body and all. A stream of events has begun by then.
const REQUEST: Duration = Duration::from_secs(60);

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Every request: it must name this machine, come from no foreign page, and end in time.
pub(crate) async fn outer(State(server): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = hosts::look(server.address, &server.hosts, request.headers()) {
        return problem.into_response();
    }
    if let Some(problem) = too_large(request.headers()) {
        return problem.into_response();
    }
    // Layers of single routes are made before there is a server.
    request.extensions_mut().insert(server);
    match tokio::time::timeout(REQUEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("the request took longer than {} s: send less at once", REQUEST.as_secs());
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail).into_response()
        }
    }
}

/// A body that says itself that it is too large is not waited for.
fn too_large(headers: &HeaderMap) -> Option<Problem> {
    let length: usize = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (length > BODY_BYTES).then(input::too_large)
}

/// Requests that need a token: whose it is goes with the request.
pub(crate) async fn known(
    Extension(server): Extension<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied();
    match caller(&server, peer, &parts.headers).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            let place =
                parts.headers.get("traceparent").and_then(|text| TracePlace::read(text.to_str().ok()?));
            let answer = next.run(Request::from_parts(parts, body));
            match place {
                // Jobs that it submits have a link to where it came from.
                Some(place) => traced(place, answer).await,
                None => answer.await,
            }
        }
        Err(problem) => problem.into_response(),
    }
}

/// Requests that need a scope.
pub(crate) async fn scoped(
    State(scope): State<Scope>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    match caller.must(scope) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// What an operator changes is written down, with who did it, before it is done.
pub(crate) async fn audited(
    Extension(server): Extension<Arc<Shared>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::GET {
        let what = format!("{} {}", request.method(), request.uri().path());
        if let Err(error) = server.engine.audit(&caller.name, &what).await {
            return Problem::from(error).into_response();
        }
    }
    next.run(request).await
}

/// Whose token, or cookie, a request carries.
pub(crate) async fn caller(
    server: &Shared,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    let hash = match presented(headers) {
        Some(token) => digest(token),
        None => cookie::read(server.ring.key(), headers, clock::now())
            .ok_or_else(|| wrong("there is no token in the request"))?,
    };
    let caller = whose(server, peer, &hash).await?;
    server.crowd.ask(caller.hash)?;
    Ok(Caller::clone(&caller))
}

/// Whose token has this digest. Whoever tries too many wrong ones is asked to wait.
pub(crate) async fn whose(
    server: &Shared,
    peer: Option<Peer>,
    hash: &[u8; 32],
) -> Result<Arc<Caller>, Problem> {
    let address = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
    if let Some(caller) = server.ring.find(&server.engine, hash).await? {
        return Ok(caller);
    }
    server.crowd.guess(address)?;
    Err(wrong("the token is wrong, revoked, or has run out"))
}

fn presented(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn wrong(why: &str) -> Problem {
    let detail = format!(
        "{why}: send `Authorization: Bearer …` with one from `turnwise tokens create`, or with what is in the file \
         `token` of the data directory"
    );
    Problem::new(StatusCode::UNAUTHORIZED, "wrong_token", detail)
}
