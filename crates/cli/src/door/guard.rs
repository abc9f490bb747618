//! Who may come in: a request that names this machine, comes from no foreign page, and has the token.
//!
//! A browser on this machine can be made to send requests here by any page, even under the page's own name
//! (DNS rebinding). Such requests carry a foreign `Host` or `Origin`, and are refused before the token is
//! looked at.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use super::{Door, REQUEST};

pub(crate) async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    if let Err(problem) = look(&door, request.headers()) {
        return problem.into_response();
    }
    match tokio::time::timeout(REQUEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("the request took longer than {} s: send less at once", REQUEST.as_secs());
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", message).into_response()
        }
    }
}

fn look(door: &Door, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    if !is_ours(host, door.address) {
        let message = format!("this door does not answer for another host: use http://{}", door.address);
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_host", message));
    }
    let origin = headers.get(header::ORIGIN);
    if origin.is_some_and(|origin| origin.as_bytes() != format!("http://{host}").as_bytes()) {
        let message = "this door does not answer to pages of other sites";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_origin", message));
    }
    let proof = headers.get(header::AUTHORIZATION);
    if !proof.is_some_and(|proof| door.token.is_proved_by(proof.as_bytes())) {
        let message = "the token is missing or wrong: send `Authorization: Bearer …` with what is in the \
                       file `token` of the data directory";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "wrong_token", message));
    }
    Ok(())
}

/// Whether a `Host` header names this machine as it can only be named on purpose: as loopback, or by the
/// number that it listens on. A name that somebody else's name server can point here is none of these.
fn is_ours(host: &str, listening: SocketAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip == listening.ip() || listening.ip().is_unspecified(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let loopback: SocketAddr = "127.0.0.1:7700".parse().unwrap();
        for host in ["127.0.0.1:7700", "localhost", "LOCALHOST:7700", "[::1]:7700", "127.0.0.9"] {
            assert!(is_ours(host, loopback), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example:7700", "192.168.0.5:7700", "127.0.0.1.nip.io"]
        {
            assert!(!is_ours(host, loopback), "{host}");
        }
        let lan: SocketAddr = "192.168.0.5:7700".parse().unwrap();
        assert!(is_ours("192.168.0.5:7700", lan) && !is_ours("192.168.0.6:7700", lan));
        // Listening everywhere, any number is this machine's; a name could be anybody's.
        let everywhere: SocketAddr = "0.0.0.0:7700".parse().unwrap();
        assert!(is_ours("192.168.0.6", everywhere) && !is_ours("evil.example", everywhere));
    }
}
