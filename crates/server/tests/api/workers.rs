//! Workers over HTTP: what a program in any language says and hears.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, refused};

/// A worker that has registered.
struct Worker<'a> {
    site: &'a Site,
    path: String,
    token: String,
}

impl<'a> Worker<'a> {
    fn new(site: &'a Site, new: &Value) -> Worker<'a> {
        let (status, answer) = site.post("/api/v1/workers", new);
        assert_eq!(status, 201, "{answer}");
        let path = format!("/api/v1/workers/{}", answer["worker"].as_str().unwrap());
        Worker { site, path, token: ROOT.to_owned() }
    }

    fn say(&self, what: &str, body: &Value) -> (u16, Value) {
        self.site.ask("POST", &format!("{}/{what}", self.path), Some(body), &self.token)
    }

    fn of_job(&self, job: &Value, verb: &str, mut body: Value) -> (u16, Value) {
        body["fence"] = job["fence"].clone();
        self.say(&format!("jobs/{}/{verb}", job["id"].as_str().unwrap()), &body)
    }

    fn claim(&self, wanted: &Value) -> Vec<Value> {
        let (status, answer) = self.say("claim", wanted);
        assert_eq!(status, 200, "{answer}");
        answer["jobs"].as_array().unwrap().clone()
    }

    /// A job, when it comes.
    fn one(&self) -> Value {
        loop {
            let mut jobs = self.claim(&json!({"max": 1, "wait_ms": 30_000}));
            if let Some(job) = jobs.pop() {
                return job;
            }
        }
    }
}

fn ok(answer: &(u16, Value)) {
    assert_eq!(answer.0, 204, "{}", answer.1);
}

#[test]
fn a_program_claims_and_answers() {
    let site = Site::new();
    let new = json!({"name": "py-1", "kinds": ["resize"], "slots": 2, "session_ms": 20_000});
    let worker = Worker::new(&site, &new);
    let payload = json!({"url": "x", "sizes": [1, 2.5, null], "ü": "😀"});
    let id = site.submit(&json!({"kind": "resize", "payload": payload, "owner": "acme"}));
    let job = worker.one();
    let wanted = json!({"id": id, "fence": 1, "kind": "resize", "owner": "acme", "batch": null, "attempt": 1,
        "attempts": 10, "payload": payload, "deadline": null, "steps": {}, "traceparent": job["traceparent"]});
    assert_eq!(job, wanted);
    ok(&worker.of_job(&job, "progress", json!({"fraction": 0.5, "note": "half"})));
    ok(&worker.of_job(&job, "step", json!({"name": "fetch", "output": {"bytes": 3}})));
    let seen = site.get(&format!("/api/v1/jobs/{id}")).1;
    let place = format!("00-{}-", seen["trace"].as_str().unwrap());
    assert!(job["traceparent"].as_str().unwrap().starts_with(&place), "{job} {seen}");
    assert_eq!((&seen["progress"]["note"], &seen["steps"]), (&json!("half"), &json!(["fetch"])));
    let nodes = site.get("/api/v1/nodes").1;
    let node = nodes["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "py-1").unwrap();
    assert_eq!((&node["running"], &node["slots"]), (&json!(1), &json!({"resize": 2})));
    ok(&worker.of_job(&job, "complete", json!({"result": [1]})));
    ok(&worker.of_job(&job, "complete", json!({"result": [1]})));
    refused(&worker.of_job(&job, "release", json!({})), 409, "stale_claim");
    assert_eq!(site.ended(&id)["result"], json!([1]));
    assert_eq!(site.ask("DELETE", &worker.path, None, ROOT).0, 204);
    refused(&worker.say("heartbeat", &json!({})), 404, "unknown_worker");
    refused(&worker.of_job(&job, "complete", json!({})), 404, "unknown_worker");
    refused(&site.ask("DELETE", &worker.path, None, ROOT), 404, "unknown_worker");
    refused(&worker.say("claim", &json!({})), 404, "unknown_worker");
}

#[test]
fn failures_have_classes() {
    let site = Site::new();
    let worker = Worker::new(&site, &json!({"name": "w", "kinds": ["work"]}));
    let id = site.submit(&json!({"kind": "work"}));
    let state = || site.get(&format!("/api/v1/jobs/{id}")).1["state"].clone();
    let retry = || assert_eq!(site.post(&format!("/api/v1/jobs/{id}/retry"), &json!({})).0, 200);
    let job = worker.one();
    ok(&worker.of_job(&job, "step", json!({"name": "a", "output": 1})));
    ok(&worker.of_job(&job, "fail", json!({"error": "first"})));
    assert_eq!(state(), "retrying");
    retry();
    let job = worker.one();
    assert_eq!((&job["attempt"], &job["fence"], &job["steps"]), (&json!(2), &json!(2), &json!({"a": 1})));
    refused(&worker.of_job(&job, "fail", json!({"error": "x", "class": "after"})), 400, "invalid");
    refused(&worker.of_job(&job, "fail", json!({"error": "x", "after_ms": 5})), 400, "invalid");
    refused(&worker.of_job(&job, "fail", json!({"error": "x", "class": "perhaps"})), 400, "bad_json");
    ok(&worker.of_job(&job, "fail", json!({"error": "second", "class": "after", "after_ms": 3_600_000})));
    assert_eq!(state(), "retrying");
    retry();
    let job = worker.one();
    ok(&worker.of_job(&job, "snooze", json!({"for_ms": 3_600_000})));
    assert_eq!(state(), "scheduled");
    retry();
    let job = worker.one();
    assert_eq!(job["attempt"], 3, "a snooze burns no attempt");
    ok(&worker.of_job(&job, "release", json!({})));
    let job = worker.one();
    assert_eq!((&job["attempt"], &job["fence"]), (&json!(3), &json!(5)), "nor does a release");
    ok(&worker.of_job(&job, "fail", json!({"error": "last", "class": "never"})));
    let errors = site.ended(&id)["errors"].clone();
    let said: Vec<&Value> = errors.as_array().unwrap().iter().map(|error| &error["error"]).collect();
    assert_eq!(said, ["first", "second", "last"]);
}

#[test]
fn only_its_own_token_speaks_for_a_worker() {
    let site = Site::new();
    let new = json!({"name": "w", "kinds": ["work"]});
    let bound = site.token(&["work"], Some(&["acme"]));
    refused(&site.ask("POST", "/api/v1/workers", Some(&new), &bound), 403, "bound_token");
    let worker = Worker::new(&site, &new);
    let other = Worker { token: site.token(&["work"], None), path: worker.path.clone(), site: &site };
    refused(&other.say("heartbeat", &json!({})), 404, "unknown_worker");
    refused(&other.say("claim", &json!({})), 404, "unknown_worker");
    assert_eq!(worker.say("heartbeat", &json!({})).1["session_ms"], 30_000);
    for bad in [
        json!({"name": "w", "kinds": []}),
        json!({"name": "w", "kinds": ["work"], "slots": 0}),
        json!({"name": "w", "kinds": ["work"], "session_ms": 999}),
    ] {
        refused(&site.post("/api/v1/workers", &bad), 400, "invalid");
    }
    refused(&site.post("/api/v1/workers", &json!({"name": "", "kinds": ["work"]})), 400, "bad_name");
    refused(&worker.say("jobs/x/release", &json!({"fence": 1})), 400, "bad_id");
    refused(&worker.say("jobs/0000000000001/release", &json!({"fence": 1})), 404, "unknown_job");
}

#[test]
fn a_cancel_comes_with_a_heartbeat() {
    let site = Site::new();
    let worker = Worker::new(&site, &json!({"name": "w", "kinds": ["work"]}));
    let id = site.submit(&json!({"kind": "work"}));
    let job = worker.one();
    assert_eq!(worker.say("heartbeat", &json!({})).1["cancelled"], json!([]));
    assert_eq!(site.post(&format!("/api/v1/jobs/{id}/cancel"), &json!({})).0, 200);
    let heard = loop {
        let heard = worker.say("heartbeat", &json!({})).1;
        if heard["cancelled"] != json!([]) {
            break heard;
        }
    };
    assert_eq!(heard["cancelled"], json!([id]));
    assert_eq!(heard["recalled"], json!([{"id": id, "fence": 1, "reason": "cancelled"}]));
    ok(&worker.of_job(&job, "release", json!({})));
    assert_eq!(site.ended(&id)["state"], "cancelled");
}

#[test]
fn a_silent_worker_loses_its_job() {
    let site = Site::new();
    let silent = Worker::new(&site, &json!({"name": "silent", "kinds": ["work"], "session_ms": 1_000}));
    let id = site.submit(&json!({"kind": "work"}));
    let lost = silent.one();
    let other = Worker::new(&site, &json!({"name": "other", "kinds": ["work"]}));
    let job = other.one();
    assert_eq!((&job["id"], &job["fence"], &job["attempt"]), (&json!(id), &json!(2), &json!(1)));
    refused(&silent.of_job(&lost, "complete", json!({})), 404, "unknown_worker");
    let taken = other.of_job(&lost, "complete", json!({}));
    refused(&taken, 409, "stale_claim");
    ok(&other.of_job(&job, "complete", json!({})));
    let errors = site.ended(&id)["errors"].clone();
    assert_eq!((errors.as_array().unwrap().len(), &errors[0]["failure"]), (1, &json!("lost")));
}

/// Whoever asks for work and hangs up, or never gets the answer, keeps nothing from others.
#[test]
fn broken_connections_lose_nothing() {
    let site = Site::new();
    let worker = Worker::new(&site, &json!({"name": "w", "kinds": ["work"], "slots": 2}));
    let address = site.url.trim_start_matches("http://");
    let body = r#"{"wait_ms": 30000}"#;
    for _ in 0..20 {
        let mut broken = TcpStream::connect(address).unwrap();
        write!(
            broken,
            "POST {}/claim HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ROOT}\r\ncontent-length: {}\r\n\r\n{body}",
            worker.path,
            body.len()
        )
        .unwrap();
        drop(broken);
        let id = site.submit(&json!({"kind": "work"}));
        // Whether the job was claimed for the one who has gone or not: it is said that nothing is held.
        let job = loop {
            let mut jobs = worker.claim(&json!({"wait_ms": 30_000, "held": []}));
            if let Some(job) = jobs.pop() {
                break job;
            }
        };
        assert_eq!((&job["id"], &job["attempt"]), (&json!(id), &json!(1)));
        ok(&worker.of_job(&job, "complete", json!({})));
        assert_eq!(site.ended(&id)["errors"], json!([]));
    }
}

#[test]
fn there_is_room_for_so_many_workers() {
    let site = Site::new();
    let new = json!({"name": "w", "kinds": ["work"]});
    let workers: Vec<Worker<'_>> = (0..turnwise::limits::REMOTES).map(|_| Worker::new(&site, &new)).collect();
    refused(&site.post("/api/v1/workers", &new), 429, "too_many_workers");
    assert_eq!(site.ask("DELETE", &workers[0].path, None, ROOT).0, 204);
    let room = (0..1_000).any(|_| site.post("/api/v1/workers", &new).0 == 201);
    assert!(room, "whoever leaves makes room");
}
