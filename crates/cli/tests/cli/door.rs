//! The door as another program meets it.

use serde_json::{Value, json};
use ureq::http::Response;

use crate::harness::Up;

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().new_agent()
}

/// Status and body.
fn read(mut response: Response<ureq::Body>) -> (u16, Value) {
    (response.status().as_u16(), response.body_mut().read_json().unwrap())
}

/// Asks with more or other headers than usual.
fn get(up: &Up, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let request = headers
        .iter()
        .fold(agent().get(up.url(path)), |request, (name, value)| request.header(*name, *value));
    read(request.call().unwrap())
}

fn post(up: &Up, path: &str, body: &Value) -> (u16, Value) {
    read(agent().post(up.url(path)).header("authorization", up.bearer()).send_json(body).unwrap())
}

#[track_caller]
fn refused(answer: &(u16, Value), status: u16, code: &str) {
    assert_eq!((answer.0, &answer.1["code"]), (status, &code.into()), "{}", answer.1);
    assert!(answer.1["message"].as_str().is_some_and(|message| message.len() > 10), "{}", answer.1);
}

#[test]
fn who_may_come_in() {
    let up = Up::new(&[]);
    let bearer = up.bearer();
    let token = ("authorization", bearer.as_str());
    refused(&get(&up, "/v1/health", &[]), 401, "wrong_token");
    refused(&get(&up, "/v1/nothing", &[]), 401, "wrong_token");
    refused(&get(&up, "/v1/health", &[("authorization", "Bearer x")]), 401, "wrong_token");
    refused(&get(&up, "/v1/health", &[token, ("host", "evil.example")]), 403, "foreign_host");
    refused(&get(&up, "/v1/health", &[token, ("origin", "http://evil.example")]), 403, "foreign_origin");
    refused(&get(&up, "/v1/health", &[token, ("origin", "null")]), 403, "foreign_origin");
    let (status, health) = get(&up, "/v1/health", &[token]);
    assert_eq!((status, &health["status"]), (200, &"ok".into()));
    let own = up.url("");
    assert_eq!(get(&up, "/v1/health", &[token, ("origin", &own)]).0, 200);
}

#[test]
fn what_is_answered_to_nonsense() {
    let up = Up::new(&[]);
    let bearer = up.bearer();
    let ask = |path: &str| get(&up, path, &[("authorization", &bearer)]);
    refused(&ask("/v1/nothing"), 404, "no_such_page");
    refused(&ask("/v1/submit"), 405, "no_such_method");
    refused(&ask("/v1/jobs/short"), 400, "bad_id");
    refused(&ask("/v1/jobs/0000000000001"), 404, "unknown_job");
    refused(&ask("/v1/jobs?state=alive"), 400, "bad_state");
    refused(&ask("/v1/jobs?colour=red"), 400, "bad_query");
    refused(&post(&up, "/v1/jobs/0000000000001/cancel", &json!({})), 404, "unknown_job");
    refused(&post(&up, "/v1/jobs/0000000000001/sing", &json!({})), 400, "bad_verb");
    refused(&post(&up, "/v1/submit", &json!({"kind": "echo"})), 400, "bad_json");
    refused(&post(&up, "/v1/submit", &json!([{"kind": "echo", "colour": 1}])), 400, "bad_json");
    refused(&post(&up, "/v1/submit", &json!([{"kind": "nope"}])), 404, "unknown_kind");
    refused(&post(&up, "/v1/submit", &json!([{"kind": "http"}])), 400, "kind_off");
    refused(&post(&up, "/v1/submit", &json!([{"kind": "echo", "unique_ms": 5}])), 400, "invalid");
    refused(&post(&up, "/v1/submit", &json!([{"kind": "echo", "batch": "x"}])), 400, "bad_json");
    refused(&post(&up, "/v1/batch", &json!({"name": "none", "jobs": []})), 400, "empty_batch");
    refused(&post(&up, "/v1/pause", &json!({})), 400, "invalid");
    refused(&post(&up, "/v1/lanes/pause", &json!({"name": "none"})), 404, "unknown_lane");
}

#[test]
fn a_request_that_is_too_large() {
    let up = Up::new(&[]);
    let body = vec![b' '; 21 << 20];
    let sent = agent().post(up.url("/v1/submit")).header("authorization", up.bearer()).send(&body[..]);
    // The door may hang up before all of it was sent.
    if let Ok(response) = sent {
        refused(&read(response), 413, "too_large");
    }
    assert_eq!(up.json(&["jobs"])["jobs"], json!([]));
}

#[test]
fn one_bad_job_and_nothing_is_accepted() {
    let up = Up::new(&[]);
    let long = "x".repeat(300);
    for bad in [json!({"kind": "nope"}), json!({"kind": "echo", "owner": long}), json!({"kind": "sleep"})] {
        let (status, _) = post(&up, "/v1/submit", &json!([{"kind": "echo"}, bad]));
        assert!((400..500).contains(&status));
    }
    assert_eq!(up.json(&["jobs"])["jobs"], json!([]));
}

#[test]
fn a_batch_in_parts() {
    let up = Up::new(&[]);
    let new =
        json!({"name": "parts", "owner": "acme", "open": true, "jobs": [{"kind": "echo", "payload": 1}]});
    let (status, opened) = post(&up, "/v1/batch", &new);
    assert_eq!(status, 200, "{opened}");
    let id = opened["batch"].as_str().unwrap();
    let more = json!([{"kind": "echo", "payload": 2, "batch": id}]);
    let (status, accepted) = post(&up, "/v1/submit", &more);
    assert_eq!(status, 200, "{accepted}");
    assert_eq!(post(&up, &format!("/v1/batches/{id}/seal"), &json!({})).0, 200);
    let settled = up.get(&format!("/v1/batches/{id}?wait_ms=20000"));
    assert_eq!((&settled["phase"], &settled["done"]), (&"settled".into(), &2.into()));
    let job = up.get(&format!("/v1/jobs/{}", accepted["jobs"][0]["id"].as_str().unwrap()));
    assert_eq!(job["owner"], "acme");
    refused(&post(&up, "/v1/submit", &more), 409, "sealed");
    let both =
        json!({"name": "b", "jobs": [], "then": {"kind": "echo"}, "then_if_all_done": {"kind": "echo"}});
    refused(&post(&up, "/v1/batch", &both), 400, "invalid");
}

#[test]
fn events_come_when_something_happens() {
    let up = Up::new(&[]);
    let mut after = 0;
    loop {
        let page = up.get(&format!("/v1/events?after={after}&limit=1000"));
        after = page["next"].as_u64().unwrap();
        if page["events"] == json!([]) {
            break;
        }
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| up.get(&format!("/v1/events?after={after}&wait_ms=30000")));
        up.run(&["submit", "echo", "--owner", "news"]).ok();
        assert_ne!(waiting.join().unwrap()["events"], json!([]));
    });
}

#[test]
fn stopping_ends_who_waits() {
    let mut up = Up::new(&[]);
    let id = up.submit(&["echo", "--delay", "1h"]);
    let (url, bearer) = (up.url(&format!("/v1/jobs/{id}?wait_ms=30000")), up.bearer());
    let begin = std::time::Instant::now();
    let waiting =
        std::thread::spawn(move || agent().get(url).header("authorization", bearer).call().map(read));
    up.stop();
    // It is answered if it came in time, and not left hanging if it came late.
    if let Ok((status, view)) = waiting.join().unwrap() {
        assert_eq!((status, &view["state"]), (200, &"scheduled".into()));
    }
    assert!(begin.elapsed().as_secs() < 20);
}
