//! Which names this machine answers for.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, header};

use crate::problem::Problem;

/// Refuses a request that names another host, or comes from a page of another site.
pub(crate) fn look(listening: SocketAddr, more: &[String], headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_ours(host, listening, more) {
        let detail = format!(
            "this server does not answer for another host: use http://{listening}, or allow the name with the setting `hosts`"
        );
        return Err(Problem::forbidden("foreign_host", detail));
    }
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let own = |scheme: &str| format!("{scheme}://{host}").into_bytes();
    if origin.is_some_and(|origin| origin != own("http") && origin != own("https")) {
        return Err(foreign_page());
    }
    // Browsers say this of every request: it cannot be left out by a page.
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site == Some(b"cross-site")
        && origin.is_none()
        && headers.get("sec-fetch-mode").is_none_or(|mode| mode != "navigate")
    {
        return Err(foreign_page());
    }
    Ok(())
}

fn foreign_page() -> Problem {
    Problem::forbidden("foreign_origin", "this server does not answer to pages of other sites")
}

/// Whether a `Host` header names this machine as it can only be named on purpose: as loopback, by the number that it
/// listens on, or by a name that was allowed. A name that somebody else's name server can point here is none of these.
fn is_ours(host: &str, listening: SocketAddr, more: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip == listening.ip() || listening.ip().is_unspecified(),
        Err(_) => {
            name.eq_ignore_ascii_case("localhost") || more.iter().any(|more| name.eq_ignore_ascii_case(more))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let loopback: SocketAddr = "127.0.0.1:7700".parse().unwrap();
        for host in ["127.0.0.1:7700", "localhost", "LOCALHOST:7700", "[::1]:7700", "127.0.0.9"] {
            assert!(is_ours(host, loopback, &[]), "{host}");
        }
        let foreign =
            ["", "evil.example", "localhost.evil.example:7700", "192.168.0.5:7700", "127.0.0.1.nip.io"];
        for host in foreign {
            assert!(!is_ours(host, loopback, &[]), "{host}");
        }
        assert!(is_ours("work.example:443", loopback, &["Work.example".into()]));
        let lan: SocketAddr = "192.168.0.5:7700".parse().unwrap();
        assert!(is_ours("192.168.0.5:7700", lan, &[]) && !is_ours("192.168.0.6:7700", lan, &[]));
        // Listening everywhere, any number is this machine's; a name could be anybody's.
        let everywhere: SocketAddr = "0.0.0.0:7700".parse().unwrap();
        assert!(is_ours("192.168.0.6", everywhere, &[]) && !is_ours("evil.example", everywhere, &[]));
    }
}
