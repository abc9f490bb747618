//! What is answered to nonsense: a clear problem, and nothing else happens.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, read, refused};

#[test]
fn every_nonsense_has_its_answer() {
    let site = Site::new();
    let post = |path: &str, body: Value| site.post(path, &body);
    refused(&site.get("/api/v1/nothing"), 404, "no_such_page");
    refused(&site.get("/assets/../../etc/passwd"), 404, "no_such_page");
    refused(&site.get("/assets/%2e%2e%2fCargo.toml"), 404, "no_such_page");
    refused(&site.get("/api/v1/jobs/bulk/x"), 405, "no_such_method");
    refused(&site.get("/api/v1/jobs/short"), 400, "bad_id");
    refused(&site.get("/api/v1/jobs/0000000000001"), 404, "unknown_job");
    refused(&site.get("/api/v1/batches/0000000000001"), 404, "unknown_batch");
    refused(&site.get("/api/v1/jobs?state=alive"), 400, "bad_state");
    refused(&site.get("/api/v1/jobs?colour=red"), 400, "bad_query");
    refused(&site.get("/api/v1/jobs?limit=many"), 400, "bad_query");
    refused(&site.get("/api/v1/jobs?cursor=forged"), 400, "bad_cursor");
    refused(&site.get("/api/v1/batches?cursor=%00"), 400, "bad_cursor");
    refused(&site.get("/api/v1/events?after=-1"), 400, "bad_query");
    refused(&post("/api/v1/jobs/0000000000001/cancel", json!({})), 404, "unknown_job");
    refused(&post("/api/v1/jobs/0000000000001/sing", json!({})), 400, "bad_verb");
    refused(&post("/api/v1/jobs", json!([{"kind": "echo"}])), 400, "bad_json");
    refused(&post("/api/v1/jobs", json!({"kind": "echo", "colour": 1})), 400, "bad_json");
    refused(&post("/api/v1/jobs", json!({"kind": 7})), 400, "bad_json");
    refused(&post("/api/v1/jobs", json!({"kind": "nope"})), 404, "unknown_kind");
    refused(&post("/api/v1/jobs", json!({"kind": "shell"})), 400, "kind_off");
    refused(&post("/api/v1/jobs", json!({"kind": "fail"})), 400, "bad_payload");
    refused(&post("/api/v1/jobs", json!({"kind": "echo", "owner": ""})), 400, "bad_name");
    refused(&post("/api/v1/jobs", json!({"kind": "echo", "unique_ms": 5})), 400, "invalid");
    refused(&post("/api/v1/jobs", json!({"kind": "echo", "attempts": 0})), 400, "invalid");
    refused(&post("/api/v1/jobs", json!({"kind": "echo", "batch": "x"})), 400, "bad_json");
    refused(&post("/api/v1/batches", json!({"name": "none", "jobs": []})), 400, "empty_batch");
    refused(&post("/api/v1/lanes/none/pause", json!({})), 404, "unknown_lane");
    for lane in ["notes", "notes/mine"] {
        refused(&post("/api/v1/jobs", json!({"kind": "echo", "lane": lane})), 400, "invalid");
    }
    let broken = site.raw("POST", "/api/v1/jobs", Some("{"), &[("authorization", &format!("Bearer {ROOT}"))]);
    refused(&read(broken), 400, "bad_json");
    assert_eq!(site.get("/api/v1/jobs").1["jobs"], json!([]), "nothing was accepted");
}

#[test]
fn one_bad_job_and_none_is_accepted() {
    let site = Site::new();
    for bad in
        [json!({"kind": "nope"}), json!({"kind": "echo", "owner": "x".repeat(300)}), json!({"kind": "fail"})]
    {
        let (status, _) = site.post("/api/v1/jobs/bulk", &json!([{"kind": "echo"}, bad]));
        assert!((400..500).contains(&status));
    }
    assert_eq!(site.get("/api/v1/jobs").1["jobs"], json!([]));
}

/// A body that says it has 100 MB is refused before it was sent.
#[test]
fn a_body_that_is_too_large() {
    let site = Site::new();
    let mut stream = TcpStream::connect(site.url.trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ROOT}\r\ncontent-length: 104857600\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 32];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    drop(stream);
    assert_eq!(site.get("/api/v1/jobs").0, 200);
}

#[test]
fn heads_that_are_too_large_or_no_heads() {
    let site = Site::new();
    let address = site.url.trim_start_matches("http://").to_owned();
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(200 << 10));
    for head in [
        format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"),
        format!("GET / HTTP/1.1\r\nhost: localhost\r\n{long}\r\n"),
        "nonsense\r\n\r\n".to_owned(),
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        // The server may hang up before all of it was sent.
        let _ = stream.write_all(head.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(site.get("/api/v1/jobs").0, 200);
}

#[test]
fn every_problem_has_a_page() {
    let site = Site::new();
    let problem = site.get("/api/v1/jobs/short").1;
    let page = site.raw("GET", problem["type"].as_str().unwrap(), None, &[]);
    let (status, text) = read(page);
    assert_eq!(status, 200);
    assert!(text.as_str().unwrap().contains("What to do"));
    refused(&site.get("/api/errors/none"), 404, "no_such_page");
}
