//! Work comes in and is looked at.

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, read, refused};

#[test]
fn a_job_from_its_submission_to_its_end() {
    let site = Site::new();
    let (status, accepted) =
        site.post("/api/v1/jobs", &json!({"kind": "echo", "payload": {"a": 1}, "owner": "acme"}));
    assert_eq!((status, &accepted["existing"]), (201, &json!(false)));
    let job = site.ended(accepted["id"].as_str().unwrap());
    assert_eq!(
        (&job["state"], &job["result"], &job["owner"]),
        (&json!("done"), &json!({"a": 1}), &json!("acme"))
    );
    let told: Vec<&Value> =
        job["timeline"].as_array().unwrap().iter().map(|moment| &moment["what"]).collect();
    assert_eq!(told, ["submitted", "ended"]);
    let listed = site.get("/api/v1/jobs?owner=acme&state=done&kind=echo").1;
    assert_eq!(listed["jobs"][0]["id"], accepted["id"]);
}

#[test]
fn a_failing_job_tells_why_and_is_replayed() {
    let site = Site::new();
    let text = format!("<script>alert(1)</script> {}", "long ".repeat(800));
    let id = site.submit(&json!({"kind": "fail", "payload": {"say": text}, "owner": "acme"}));
    let job = site.ended(&id);
    assert_eq!((&job["state"], &job["errors"][0]["error"]), (&json!("dead"), &json!(text)));
    let letters = site.get("/api/v1/dead?owner=acme").1;
    assert_eq!((&letters["jobs"][0]["id"], &letters["jobs"][0]["error"]), (&json!(id), &json!(text)));
    let replay = |dry: bool| site.post("/api/v1/dead/replay", &json!({"kind": "fail", "dry_run": dry})).1;
    assert_eq!(replay(true), json!({"count": 1, "dry_run": true}));
    assert_eq!(site.get(&format!("/api/v1/jobs/{id}")).1["state"], "dead", "a dry run changes nothing");
    assert_eq!(replay(false)["count"], 1);
    let again = site.ended(&id);
    assert_eq!(again["errors"].as_array().unwrap().len(), 2, "{again}");
    assert_eq!(site.post(&format!("/api/v1/jobs/{id}/replay"), &json!({})).0, 200);
}

#[test]
fn the_same_key_answers_with_the_same_job() {
    let site = Site::new();
    let bearer = format!("Bearer {ROOT}");
    let send = |key: &str, body: &Value| {
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
        read(site.raw("POST", "/api/v1/jobs", Some(&body.to_string()), &headers))
    };
    let (first, one) = send("k1", &json!({"kind": "echo", "payload": 1}));
    let (second, two) = send("k1", &json!({"kind": "echo", "payload": 1}));
    assert_eq!((first, second, &two["existing"]), (201, 200, &json!(true)));
    assert_eq!(one["id"], two["id"]);
    assert_ne!(send("k2", &json!({"kind": "echo"})).1["id"], one["id"]);
    let both = json!({"kind": "echo", "unique_key": "u", "unique_ms": 60_000});
    let (made, third) = send("k3", &both);
    assert_eq!((made, send("k4", &both).1["id"] == third["id"]), (201, true), "its own key answers");
    assert_eq!(send("k4", &json!({"kind": "echo"})).1["id"], third["id"], "and so does that of the request");
    refused(&send(&"x".repeat(200), &json!({"kind": "echo"})), 400, "invalid");
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "bulk")];
    let bulk = || {
        read(site.raw("POST", "/api/v1/jobs/bulk", Some(r#"[{"kind":"echo"},{"kind":"echo"}]"#), &headers)).1
    };
    let ids = |answer: Value| -> Vec<String> {
        answer["jobs"].as_array().unwrap().iter().map(|job| job["id"].to_string()).collect()
    };
    let (once, twice) = (ids(bulk()), ids(bulk()));
    assert_eq!(once, twice);
    assert_ne!(once[0], once[1]);
    refused(
        &read(site.raw("POST", "/api/v1/batches", Some(r#"{"name":"b","jobs":[]}"#), &headers)),
        400,
        "invalid",
    );
}

#[test]
fn a_batch_settles_and_is_waited_for() {
    let site = Site::new();
    let jobs: Vec<Value> = (0..20).map(|n| json!({"kind": "echo", "payload": n})).collect();
    let new =
        json!({"name": "b", "owner": "acme", "jobs": jobs, "then": {"kind": "echo", "payload": "then"}});
    let (status, batch) = site.post("/api/v1/batches", &new);
    assert_eq!(status, 201, "{batch}");
    let settled = site.get(&format!("/api/v1/batches/{}?wait_ms=30000", batch["batch"].as_str().unwrap())).1;
    assert_eq!(
        (&settled["phase"], &settled["done"], &settled["pending"]),
        (&json!("settled"), &json!(20), &json!(0))
    );
    let then = site.ended(batch["then"].as_str().unwrap());
    assert_eq!((&then["result"], &then["owner"]), (&json!("then"), &json!("acme")));
    assert_eq!(settled["then"]["job"], batch["then"]);
}

#[test]
fn a_batch_in_parts() {
    let site = Site::new();
    let new =
        json!({"name": "parts", "owner": "acme", "open": true, "jobs": [{"kind": "echo", "payload": 1}]});
    let opened = site.post("/api/v1/batches", &new).1;
    let id = opened["batch"].as_str().unwrap();
    let more = json!([{"kind": "echo", "payload": 2, "batch": id}]);
    assert_eq!(site.post("/api/v1/jobs/bulk", &more).0, 200);
    assert_eq!(site.post(&format!("/api/v1/batches/{id}/seal"), &json!({})).0, 200);
    let settled = site.get(&format!("/api/v1/batches/{id}?wait_ms=30000")).1;
    assert_eq!((&settled["phase"], &settled["done"]), (&"settled".into(), &2.into()));
    refused(&site.post("/api/v1/jobs/bulk", &more), 409, "sealed");
}

#[test]
fn pages_follow_each_other_without_gap_or_double() {
    let site = Site::new();
    let jobs: Vec<Value> =
        (0..50).map(|n| json!({"kind": "echo", "payload": n, "owner": format!("o{}", n % 3)})).collect();
    assert_eq!(site.post("/api/v1/jobs/bulk", &json!(jobs)).0, 200);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("/api/v1/jobs?limit=7{cursor}")).1;
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["id"].to_string()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 50);
    assert!(seen.is_sorted_by(|one, other| one > other), "newest first, none twice");
}

#[test]
fn jobs_are_found_by_every_filter() {
    let site = Site::new();
    let plain = site.submit(&json!({"kind": "echo", "owner": "acme"}));
    site.ended(&plain);
    let first = site.submit(&json!({"kind": "hold", "payload": {}, "owner": "acme", "lane": "l"}));
    let behind = site.submit(&json!({"kind": "hold", "payload": {}, "owner": "other", "lane": "l"}));
    let ids = |query: &str| -> Vec<String> {
        let (status, page) = site.get(&format!("/api/v1/jobs?{query}"));
        assert_eq!(status, 200, "{page}");
        page["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("lane=l"), [behind.clone(), first.clone()]);
    assert_eq!(ids("lane=l&state=waiting"), [behind.as_str()]);
    assert_eq!(ids("kind=hold&owner=acme"), [first.as_str()]);
    assert_eq!(ids("state=done"), [plain.as_str()]);
    let submitted = site.get(&format!("/api/v1/jobs/{first}")).1["submitted"].as_i64().unwrap();
    // Times are looked for in whole milliseconds, and the next job may come in the same one.
    assert!(ids(&format!("until={}", submitted + 1_000)).contains(&first));
    assert_eq!(ids("until=1000000000000000"), Vec::<String>::new());
    assert!(ids(&format!("since={}", submitted - 1_000)).contains(&first));
    assert_eq!(ids("since=4000000000000000"), Vec::<String>::new());
    let lanes = site.get("/api/v1/lanes").1;
    assert_eq!((&lanes["lanes"][0]["head"]["id"], &lanes["lanes"][0]["waiting"]), (&json!(first), &json!(1)));
    assert_eq!(lanes["lanes"][0]["head"]["lane"], "l");
    assert_eq!(site.post(&format!("/api/v1/jobs/{behind}/cancel"), &json!({})).1["state"], "cancelled");
    site.post(&format!("/api/v1/jobs/{first}/cancel"), &json!({}));
    assert_eq!(site.ended(&first)["state"], "cancelled");
}
