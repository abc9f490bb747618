//! What an operator looks at and sets.

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, refused};

#[test]
fn pausing_holds_work_back_until_it_is_resumed() {
    let site = Site::new();
    for (path, job) in [
        ("owners/acme", json!({"kind": "echo", "owner": "acme"})),
        ("kinds/echo", json!({"kind": "echo", "owner": "other"})),
    ] {
        assert_eq!(site.post(&format!("/api/v1/{path}/pause"), &json!({})).1, json!({"paused": true}));
        let id = site.submit(&job);
        let held = site.get(&format!("/api/v1/jobs/{id}?wait_ms=300")).1;
        assert_eq!(held["state"], "ready", "{path}");
        assert_eq!(site.post(&format!("/api/v1/{path}/resume"), &json!({})).1, json!({"paused": false}));
        assert_eq!(site.ended(&id)["state"], "done");
    }
    refused(&site.post("/api/v1/owners/acme/sing", &json!({})), 400, "bad_verb");
}

#[test]
fn a_node_is_drained_and_goes_on() {
    let site = Site::new();
    let node = site.get("/api/v1/nodes").1["nodes"][0]["node"].as_str().unwrap().to_owned();
    let tell = |verb: &str| site.post(&format!("/api/v1/nodes/{node}/{verb}"), &json!({}));
    assert_eq!(tell("drain"), (200, json!({"drained": true, "running": 0})));
    assert_eq!(site.get("/api/v1/nodes").1["nodes"][0]["drained"], true);
    let job = site.submit(&json!({"kind": "echo", "owner": "acme"}));
    let (_, waited) = site.get(&format!("/api/v1/jobs/{job}?wait_ms=200"));
    assert_eq!(waited["state"], "ready", "{waited}");
    assert_eq!(tell("resume"), (200, json!({"drained": false, "running": 0})));
    assert_eq!(site.ended(&job)["state"], "done");
    refused(&tell("stop"), 400, "bad_verb");
    refused(&site.post("/api/v1/nodes/nobody/drain", &json!({})), 404, "unknown_node");
}

#[test]
fn a_name_may_hold_anything() {
    let site = Site::new();
    let owner = "a/b ü%?#<b>";
    site.ended(&site.submit(&json!({"kind": "echo", "owner": owner})));
    let path = "/api/v1/owners/a%2Fb%20%C3%BC%25%3F%23%3Cb%3E";
    assert_eq!(site.post(&format!("{path}/pause"), &json!({})).0, 200);
    let owners = site.get("/api/v1/owners").1;
    assert_eq!(
        (&owners["owners"][0]["owner"], &owners["owners"][0]["paused"]),
        (&json!(owner), &json!(true))
    );
}

#[test]
fn owners_have_weights_and_quotas() {
    let site = Site::new();
    let change = |body: Value| site.ask("PATCH", "/api/v1/owners/acme", Some(&body), ROOT);
    assert_eq!(change(json!({"weight": 3, "quota": 2})).0, 200);
    refused(&change(json!({})), 400, "invalid");
    assert!((400..500).contains(&change(json!({"weight": 0})).0));
    let held = json!({"kind": "echo", "owner": "acme", "delay_ms": 3_600_000});
    site.submit(&held);
    site.submit(&held);
    refused(&site.post("/api/v1/jobs", &held), 429, "quota");
    let owner = site.get("/api/v1/owners").1["owners"][0].clone();
    assert_eq!((&owner["weight"], &owner["quota"], &owner["backlog"]), (&json!(3), &json!(2), &json!(2)));
}

#[test]
fn a_cap_is_changed_and_taken_away() {
    let site = Site::new();
    let change = |body: Value| site.ask("PATCH", "/api/v1/kinds/echo", Some(&body), ROOT);
    assert_eq!(change(json!({"cap": 4})).1["cap"], 4);
    assert_eq!(change(json!({"key_cap": 2})).1["cap"], 4, "what is not said stays");
    assert_eq!(change(json!({"cap": null})).1["cap"], Value::Null);
    let rate = json!({"count": 3, "per_ms": 1_000, "burst": 1});
    assert_eq!(change(json!({"rate": rate})).1["rate"], rate);
    let all_at_once = change(json!({"key_rate": {"count": 3, "per_ms": 1_000}})).1;
    assert_eq!((&all_at_once["key_rate"]["burst"], &all_at_once["rate"]), (&json!(3), &rate));
    assert_eq!(change(json!({"rate": null})).1["rate"], Value::Null);
    refused(&change(json!({"rate": {"count": 0, "per_ms": 1_000}})), 400, "invalid");
    refused(&change(json!({"rate": {"count": 1, "per_ms": 0}})), 400, "invalid");
    refused(&change(json!({})), 400, "invalid");
    refused(&change(json!({"cap": 0})), 400, "invalid");
    refused(&site.ask("PATCH", "/api/v1/kinds/none", Some(&json!({"cap": 1})), ROOT), 404, "unknown_kind");
}

#[test]
fn schedules_are_saved_listed_and_removed() {
    let site = Site::new();
    let save = |body: Value| site.ask("PUT", "/api/v1/schedules/nightly", Some(&body), ROOT);
    let (status, saved) =
        save(json!({"line": "0 3 * * *", "zone": "Europe/Berlin", "kind": "echo", "payload": 1}));
    assert_eq!(status, 200, "{saved}");
    assert!(saved["next"].as_i64().unwrap() > saved["last"].as_i64().unwrap(), "{saved}");
    let listed = site.get("/api/v1/schedules").1;
    assert_eq!(
        (&listed["schedules"][0]["name"], &listed["schedules"][0]["zone"]),
        (&json!("nightly"), &json!("Europe/Berlin"))
    );
    refused(&save(json!({"line": "99 * * * *", "kind": "echo"})), 400, "invalid");
    refused(&save(json!({"line": "* * * * *", "kind": "none"})), 404, "unknown_kind");
    refused(&save(json!({"line": "* * * * *", "kind": "shell"})), 400, "kind_off");
    assert_eq!(site.ask("DELETE", "/api/v1/schedules/nightly", None, ROOT).0, 204);
    refused(&site.ask("DELETE", "/api/v1/schedules/nightly", None, ROOT), 404, "unknown_schedule");
}

#[test]
fn everything_at_a_glance() {
    let site = Site::new();
    for say in ["a", "b"] {
        site.ended(&site.submit(&json!({"kind": "fail", "payload": {"say": say}})));
    }
    let overview = site.get("/api/v1/overview").1;
    assert_eq!((&overview["totals"]["dead"], &overview["profile"]), (&json!(2), &json!("embedded")));
    let alarms: Vec<&Value> = overview["alarms"].as_array().unwrap().iter().collect();
    assert_eq!(
        (alarms.len(), &alarms[0]["code"], &alarms[0]["kind"]),
        (1, &json!("dead_letters"), &json!("fail"))
    );
    let status = site.get("/api/v1/queue-status?kind=fail").1;
    assert_eq!((&status["queue"]["failed"], &status["queue"]["waiting"]), (&json!(2), &json!(0)));
    assert_eq!(status["recentFailed"].as_array().unwrap().len(), 2);
    assert_eq!(status["staleInstances"], json!({"count": 0, "thresholdMinutes": 10.0 / 60.0}));
    refused(&site.get("/api/v1/queue-status?kind=none"), 404, "unknown_kind");
    let all = site.get("/api/v1/queue-status").1;
    assert_eq!((&all["queue"]["name"], &all["queue"]["failed"]), (&json!("all"), &json!(2)));
    assert_eq!(all["recentFailed"][0]["kind"], "fail");
    let nodes = site.get("/api/v1/nodes").1;
    assert_eq!((&nodes["nodes"][0]["alive"], &nodes["nodes"][0]["leads"]), (&json!(true), &json!(true)));
    assert_eq!(site.get("/api/v1/leases").1["leases"][0]["name"], "scheduler");
    assert_eq!(site.get("/api/v1/settings").1["settings"][0]["name"], "listen");
    let kinds = site.get("/api/v1/kinds").1;
    assert_eq!(kinds["off"], json!([{"name": "shell", "flag": "--allow-shell"}]));
}

#[test]
fn a_queue_shows_what_runs_and_what_is_next() {
    let site = Site::new();
    let ids: Vec<String> = (0..15).map(|_| site.submit(&json!({"kind": "hold", "payload": {}}))).collect();
    let status = loop {
        let status = site.get("/api/v1/queue-status?kind=hold").1;
        if status["queue"]["active"] == 2 {
            break status;
        }
        let after = site.get("/api/v1/events?limit=1000").1["next"].clone();
        site.get(&format!("/api/v1/events?after={after}&wait_ms=200"));
    };
    assert_eq!(status["queue"]["waiting"], 13);
    let waiting: Vec<&Value> =
        status["waitingJobs"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
    assert_eq!(waiting, ids[2..12].iter().collect::<Vec<_>>(), "the first ten, in order");
    assert_eq!(status["activeJobs"].as_array().unwrap().len(), 2);
}
