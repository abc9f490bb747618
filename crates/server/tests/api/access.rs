//! Who may come in, and what they may do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, read, refused};

#[test]
fn without_a_token_nothing_is_told() {
    let site = Site::new();
    refused(&site.ask("GET", "/api/v1/jobs", None, ""), 401, "wrong_token");
    refused(&site.ask("GET", "/api/v1/jobs", None, "x"), 401, "wrong_token");
    refused(&site.ask("GET", "/api/v1/jobs", None, &ROOT.replace('0', "1")), 401, "wrong_token");
    assert_eq!(site.ask("GET", "/health", None, "").0, 200);
    assert_eq!(site.ask("GET", "/ready", None, "").0, 200);
    let (status, session) = site.get("/api/v1/session");
    assert_eq!((status, session["scopes"].as_array().map(Vec::len)), (200, Some(4)));
}

#[test]
fn foreign_hosts_and_pages_are_refused() {
    let site = Site::new();
    let bearer = format!("Bearer {ROOT}");
    let ask = |headers: &[(&str, &str)]| {
        let all: Vec<_> =
            [("authorization", bearer.as_str())].into_iter().chain(headers.iter().copied()).collect();
        read(site.raw("GET", "/api/v1/kinds", None, &all))
    };
    refused(&ask(&[("host", "evil.example")]), 403, "foreign_host");
    assert_eq!(ask(&[("host", "work.example")]).0, 200, "an allowed name");
    refused(&ask(&[("origin", "http://evil.example")]), 403, "foreign_origin");
    refused(&ask(&[("origin", "null")]), 403, "foreign_origin");
    refused(&ask(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]), 403, "foreign_origin");
    assert_eq!(ask(&[("origin", &site.url.clone())]).0, 200);
}

#[test]
fn a_link_logs_in_and_out() {
    let site = Site::new();
    let answer = site.raw("GET", &format!("/?token={ROOT}"), None, &[]);
    assert_eq!(answer.status().as_u16(), 303);
    assert_eq!(answer.headers()["location"], "/", "the token stays in no history");
    let set = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains(ROOT), "the cookie is not the token");
    let cookie = set.split(';').next().unwrap();
    let with = |cookie: &str| read(site.raw("GET", "/api/v1/session", None, &[("cookie", cookie)]));
    assert_eq!(with(cookie).0, 200);
    refused(&with(&cookie.replace('=', "=9")), 401, "wrong_token");
    let out = site.raw("DELETE", "/api/v1/session", None, &[("cookie", cookie)]);
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    refused(&read(site.raw("GET", "/?token=wrong", None, &[])), 401, "wrong_token");
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let site = Site::new();
    let new = json!({"name": "reader", "scopes": ["read"], "ttl_ms": 3_600_000});
    let (status, made) = site.post("/api/v1/tokens", &new);
    assert_eq!(status, 201, "{made}");
    let token = made["token"].as_str().unwrap();
    assert_eq!(site.ask("GET", "/api/v1/jobs", None, token).0, 200);
    refused(&site.ask("POST", "/api/v1/jobs", Some(&json!({"kind": "echo"})), token), 403, "missing_scope");
    refused(&site.post("/api/v1/tokens", &new), 409, "token_exists");
    let (_, listed) = site.get("/api/v1/tokens");
    assert_eq!(listed["tokens"][0]["name"], "reader");
    assert!(!listed.to_string().contains(token), "{listed}");
    assert_eq!(site.ask("DELETE", "/api/v1/tokens/reader", None, ROOT).0, 204);
    refused(&site.ask("GET", "/api/v1/jobs", None, token), 401, "wrong_token");
    refused(&site.ask("DELETE", "/api/v1/tokens/reader", None, ROOT), 404, "unknown_token");
    let short = json!({"name": "short", "scopes": ["read"], "ttl_ms": 1});
    let token = site.post("/api/v1/tokens", &short).1["token"].as_str().unwrap().to_owned();
    // A request takes longer than a millisecond, so one of the next finds it expired.
    let expired = (0..1_000).any(|_| site.ask("GET", "/api/v1/jobs", None, &token).0 == 401);
    assert!(expired, "an expired token is still accepted");
    for bad in [
        json!({"name": "x", "scopes": []}),
        json!({"name": "x", "scopes": ["read"], "owners": []}),
        json!({"name": "x", "scopes": ["admin"], "owners": ["acme"]}),
    ] {
        refused(&site.post("/api/v1/tokens", &bad), 400, "invalid");
    }
    refused(&site.post("/api/v1/tokens", &json!({"name": "x", "scopes": ["all"]})), 400, "bad_json");
}

#[test]
fn a_bound_token_sees_its_owners_only() {
    let site = Site::new();
    let token = site.token(&["read", "submit"], Some(&["acme"]));
    let theirs = site.submit(&json!({"kind": "echo", "payload": "secret", "owner": "other"}));
    let (_, batch) =
        site.post("/api/v1/batches", &json!({"name": "b", "owner": "other", "jobs": [{"kind": "echo"}]}));
    let batch = batch["batch"].as_str().unwrap();
    let ask = |method: &str, path: &str, body: Option<&Value>| site.ask(method, path, body, &token);
    refused(&ask("GET", &format!("/api/v1/jobs/{theirs}"), None), 404, "unknown_job");
    refused(&ask("POST", &format!("/api/v1/jobs/{theirs}/cancel"), None), 404, "unknown_job");
    refused(&ask("GET", &format!("/api/v1/batches/{batch}"), None), 404, "unknown_batch");
    refused(&ask("POST", &format!("/api/v1/batches/{batch}/cancel"), None), 404, "unknown_batch");
    refused(&ask("GET", "/api/v1/jobs?owner=other", None), 403, "bound_token");
    refused(&ask("GET", "/api/v1/events?owner=other", None), 403, "bound_token");
    for all in ["overview", "lanes", "nodes", "leases", "settings", "queue-status?kind=echo"] {
        refused(&ask("GET", &format!("/api/v1/{all}"), None), 403, "bound_token");
    }
    refused(
        &ask("POST", "/api/v1/jobs", Some(&json!({"kind": "echo", "owner": "other"}))),
        403,
        "bound_token",
    );
    let (status, mine) = ask("POST", "/api/v1/jobs", Some(&json!({"kind": "echo", "payload": 1})));
    assert_eq!(status, 201, "{mine}");
    let mine = ask("GET", &format!("/api/v1/jobs/{}", mine["id"].as_str().unwrap()), None).1;
    assert_eq!(mine["owner"], "acme", "its only owner is meant");
    assert_eq!(ask("GET", "/api/v1/jobs", None).1["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(ask("GET", "/api/v1/batches", None).1["batches"], json!([]));
    let events = ask("GET", "/api/v1/events", None).1;
    assert!(!events.to_string().contains("other"), "{events}");
    assert!(!events["events"].as_array().unwrap().is_empty());
    // Into another's batch it cannot get either.
    let joined = json!([{"kind": "echo", "batch": batch}]);
    let (status, answer) = ask("POST", "/api/v1/jobs/bulk", Some(&joined));
    assert!((400..500).contains(&status), "{answer}");
}

#[test]
fn what_an_operator_does_is_written_down() {
    let site = Site::new();
    let token = site.token(&["admin"], None);
    assert_eq!(site.ask("POST", "/api/v1/owners/acme/pause", None, &token).0, 200);
    let (_, page) = site.get("/api/v1/events?limit=1000");
    let audits: Vec<&Value> =
        page["events"].as_array().unwrap().iter().filter(|event| event["what"] == "audit").collect();
    assert_eq!(audits.len(), 2, "{audits:?}");
    assert_eq!((&audits[0]["by"], &audits[0]["text"]), (&"root".into(), &"POST /api/v1/tokens".into()));
    assert_eq!(audits[1]["text"], "POST /api/v1/owners/acme/pause");
    assert!(!page.to_string().contains(&token));
}

/// Many wrong tokens are told to wait; whoever has a right one does not notice.
#[test]
fn guessing_is_slowed_down() {
    let site = Site::new();
    let answers: Vec<u16> = (0..200).map(|_| site.ask("GET", "/api/v1/jobs", None, "guess").0).collect();
    assert!(answers.iter().all(|status| matches!(status, 401 | 429)), "{answers:?}");
    assert!(answers.iter().filter(|status| **status == 429).count() > 50, "{answers:?}");
    assert_eq!(site.get("/api/v1/jobs").0, 200);
}

#[test]
fn every_answer_is_safe_to_show() {
    let site = Site::new();
    for path in ["/", "/health", "/api", "/api/v1/jobs", "/nothing.js"] {
        let answer = site.raw("GET", path, None, &[]);
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    }
}

/// A connection that sends its head letter by letter keeps nobody else out.
#[test]
fn slow_heads_keep_nobody_out() {
    let site = Site::new();
    let address = site.url.trim_start_matches("http://").to_owned();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /api/v1/jobs HTTP/1.1\r\nhost: ").unwrap();
    }
    assert_eq!(site.get("/api/v1/jobs").0, 200);
    // A head that is never ended is given up, with an answer or without.
    let stream = &mut slow[0];
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.contains("408"), "{answer}");
}
