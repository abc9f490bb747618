//! The forge from the command line, on one machine.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Up;

/// A request for a service.
pub(crate) fn request(id: &str, service: &str) -> Value {
    json!({
        "id": id, "trace_id": format!("trace-{id}"), "service": service, "owner": "acme",
        "entities": [{"name": "note", "fields": [{"name": "title", "type": "text"}]}],
    })
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_request_is_handed_in_watched_recognised_and_cleared() {
    let (up, folder) = (Up::new(&["--log", "json"]), tempfile::tempdir().unwrap());
    let file = written(folder.path(), "notes.json", &request("r-1", "notes").to_string());
    let said = up.run(&["forge", "submit", text(&file), "--watch"]).ok();
    assert!(
        said.contains("Queued r-1, at the head of its lane.") || said.contains("Processing r-1"),
        "{said}"
    );
    assert!(said.ends_with("Completed (5 of 5 phases done)\n"), "{said}");

    let status = up.json(&["forge", "status", "r-1"]);
    assert_eq!(
        (&status["status"], &status["lane"]),
        (&json!("Completed"), &json!("forge/notes")),
        "{status:#}"
    );
    assert_eq!(status["result"]["GIT_OPERATIONS"]["commit"]["sequence"], 1);
    let log: Vec<&str> =
        status["log"].as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(
        log.first().unwrap().starts_with("attempt 1 begins") && log.last() == Some(&"completed"),
        "{log:?}"
    );

    let again = up.json(&["forge", "submit", text(&file)]);
    assert_eq!((&again["job"], &again["existing"]), (&status["job"], &json!(true)));
    let line = up.json(&["forge", "queue"]);
    assert_eq!((&line["lanes"], &line["recent"][0]["request"]), (&json!([]), &json!("r-1")), "{line:#}");
    let queue = up.get("/api/v1/queue-status?kind=forge.generate");
    assert_eq!(
        (&queue["queue"]["completed"], &queue["queue"]["waiting"]),
        (&json!(1), &json!(0)),
        "{queue:#}"
    );

    let cleared = up.json(&["forge", "clear", "completed"]);
    assert_eq!((&cleared["before"]["completed"], &cleared["after"]["completed"]), (&json!(1), &json!(0)));
    up.run(&["forge", "status", "r-1"]).failed(1, &["there is no such request"]);
    assert_eq!(
        up.json(&["forge", "submit", text(&file)])["status"],
        "Forgotten",
        "it is still not made twice"
    );
}

#[test]
fn the_log_tells_the_flow_of_a_job_under_one_trace() {
    let (up, folder) = (Up::new(&["--log", "json"]), tempfile::tempdir().unwrap());
    let file = written(folder.path(), "notes.json", &request("r-1", "notes").to_string());
    up.run(&["forge", "submit", text(&file), "--watch"]).ok();
    let log = up.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let traced: Vec<String> = lines
        .filter(|line| line["traceId"] == "trace-r-1")
        .filter_map(|line| Some(line["message"].as_str()?.to_owned()))
        .collect();
    let phases =
        ["API_GENERATION", "FRONTEND_GENERATION", "DEVOPS_GENERATION", "GIT_OPERATIONS", "DNS_UPDATE"];
    let mut wanted = vec!["computeGenerationWorker job active".to_owned()];
    wanted.extend(phases.iter().flat_map(|phase| [format!("{phase} Started"), format!("{phase} Completed")]));
    wanted.push("computeGenerationWorker job completed".to_owned());
    // Whether the submitter's line comes before the worker's first is a race between two tasks of one process.
    let (enqueued, others): (Vec<_>, Vec<_>) =
        traced.into_iter().partition(|message| message == "Job enqueued for computeGenerationQueue");
    assert_eq!((enqueued.len(), others), (1, wanted));
}

#[test]
fn a_bad_request_is_refused_with_its_place_before_anything_is_queued() {
    let (up, folder) = (Up::new(&[]), tempfile::tempdir().unwrap());
    let whole = request("r-1", "notes").to_string();
    let bad = [
        ("truncated.json", whole[..whole.len() / 2].to_owned(), "request: breaks off"),
        ("path.json", whole.replace("\"notes\"", "\"../x\""), "service: `../x` has a `.` in it"),
        (
            "type.json",
            whole.replace("\"text\"", "\"varchar\""),
            "entities[0].fields[0].type: `varchar` is no type",
        ),
        ("huge.json", " ".repeat(300_000), "at most 262144"),
    ];
    for (name, content, why) in bad {
        let file = written(folder.path(), name, &content);
        up.run(&["forge", "submit", text(&file)]).failed(2, &[why]);
        up.run(&["forge", "check", text(&file)]).failed(2, &[why]);
    }
    up.run(&["submit", "forge.generate", r#"{"request":{"service":"../x"}}"#])
        .failed(1, &["are made from requests"]);
    assert_eq!(up.json(&["forge", "queue"])["counts"]["waiting"], 0);
    assert_eq!(up.json(&["jobs"])["jobs"], json!([]));
}

#[test]
fn the_page_is_there_and_only_an_administrator_clears() {
    let up = Up::new(&[]);
    let page = ureq::get(up.url("/apps/forge/")).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(page.contains("/apps/forge/main.js"), "{page}");
    for file in ["main.js", "request.js"] {
        let script = ureq::get(up.url(&format!("/apps/forge/{file}"))).call().unwrap();
        assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    }
    let pages = up.get("/api/v1/pages");
    let page = pages["pages"].as_array().unwrap().iter().find(|page| page["name"] == "forge").unwrap();
    assert_eq!(page["path"], "/apps/forge/");
    let token = up.json(&["tokens", "create", "clerk", "--scope", "read", "--scope", "submit"]);
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let ask = |path: &str, body: Value| {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let answer = agent.post(up.url(path)).header("authorization", &bearer).send_json(body);
        let mut answer = answer.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json::<Value>().unwrap())
    };
    let (status, problem) = ask("/api/v1/forge/clear", json!({"what": "all"}));
    assert_eq!((status, &problem["code"]), (403, &json!("missing_scope")), "{problem}");
    let (status, problem) =
        ask("/api/v1/forge/requests", json!({"service": "a", "owner": "b", "entities": []}));
    assert_eq!((status, &problem["code"]), (400, &json!("bad_payload")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().starts_with("entities: is empty"), "{problem}");
}

#[test]
fn a_token_that_is_bound_to_an_owner_forges_and_sees_for_that_owner_only() {
    let (up, folder) = (Up::new(&[]), tempfile::tempdir().unwrap());
    let file = written(folder.path(), "notes.json", &request("r-1", "notes").to_string());
    up.run(&["forge", "submit", text(&file), "--watch"]).ok();
    let token = up.json(&["tokens", "create", "guest", "--scope", "read,submit", "--owner", "somebody"]);
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let send = |body: &Value| {
        let sent =
            agent.post(up.url("/api/v1/forge/requests")).header("authorization", &bearer).send_json(body);
        let mut answer = sent.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json::<Value>().unwrap())
    };
    let get = |path: &str| {
        let mut answer = agent.get(up.url(path)).header("authorization", &bearer).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json::<Value>().unwrap())
    };
    let (status, problem) = send(&request("r-2", "other"));
    assert_eq!((status, &problem["code"]), (403, &json!("bound_token")), "{problem}");
    assert_eq!(get("/api/v1/forge/requests/r-1").0, 404, "it belongs to somebody else");
    let (status, line) = get("/api/v1/forge/queue");
    assert_eq!((status, &line["recent"], &line["counts"]), (200, &json!([]), &json!(null)), "{line:#}");
    // The name of the service is taken: the job itself says so, and is not tried again.
    let mut mine = request("r-3", "notes");
    mine["owner"] = json!("somebody");
    let (status, accepted) = send(&mine);
    assert_eq!(status, 202, "{accepted}");
    let job = accepted["job"].as_str().unwrap();
    up.wait_for(job, "dead");
    let (_, seen) = get(&format!("/api/v1/forge/requests/{job}"));
    assert_eq!(
        (&seen["status"], &seen["errors"][0]["class"]),
        (&json!("Failed"), &json!("AUTHORIZATION")),
        "{seen:#}"
    );
    assert_eq!(seen["attempt"], 1);
}
