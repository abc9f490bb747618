//! Who is there, as `turnwise nodes` shows it.

use std::time::Duration;

use serde_json::{Value, json};
use turnwise_servers::poll::until;

use crate::fleet::Fleet;
use crate::harness::Up;

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `nodes` shows as soon as it is as wanted.
fn nodes_when(up: &Up, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut seen = Value::Null;
    let found = until(what, PATIENCE, || {
        seen = up.json(&["nodes"]);
        Ok(wanted(&seen).then(|| seen.clone()))
    });
    found.unwrap_or_else(|error| panic!("{error}: {seen:#}"))
}

#[test]
fn one_process_is_one_node_that_does_everything() {
    let up = Up::new(&["--slots", "3"]);
    let found = nodes_when(&up, "leading", |found| found["nodes"][0]["leads"] == true);
    assert_eq!(found["nodes"].as_array().unwrap().len(), 1, "{found:#}");
    let node = &found["nodes"][0];
    assert_eq!(node["roles"], json!(["api", "scheduler", "worker"]));
    assert_eq!((&node["slots"]["echo"], &node["slots"]["sleep"]), (&json!(3), &json!(3)), "{node:#}");
    assert!(node["alive"] == true && node["until"].as_i64() > found["time"].as_i64(), "{found:#}");
    assert!(node["since"].as_i64() <= found["time"].as_i64(), "{found:#}");
    let lease = &found["leases"][0];
    assert!(lease["name"] == "scheduler" && lease["held"] == true && lease["term"].as_u64() > Some(0));
    let job = up.submit(&["sleep", r#"{"ms":600000}"#]);
    up.wait_for(&job, "running");
    assert_eq!(up.json(&["nodes"])["nodes"][0]["running"], 1);
    let table = up.run(&["nodes"]).ok();
    for part in ["NODE", "api, scheduler (leads), worker", "bingo.range", "LEASE", "TERM"] {
        assert!(table.contains(part), "`{part}` is not in: {table}");
    }
    up.run(&["cancel", &job]).ok();
}

#[test]
fn a_fleet_sees_the_nodes_of_other_processes() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let front = fleet.variables(&[("TURNWISE_NODE", "front")]);
    let front = Up::on(&home.path().join("front"), &["--roles", "api,scheduler"], &front);
    let alone = nodes_when(&front, "leading", |found| found["nodes"][0]["leads"] == true);
    assert_eq!(alone["nodes"][0]["slots"], json!({}), "who runs nothing offers nothing");
    let back = fleet.variables(&[("TURNWISE_NODE", "back")]);
    let mut back =
        Up::without_a_server(&home.path().join("back"), &["--roles", "worker", "--slots", "2"], &back);
    let both = front.json(&["nodes"]);
    let (one, other) = (&both["nodes"][0], &both["nodes"][1]);
    assert_eq!((&one["node"], &other["node"]), (&json!("back"), &json!("front")), "{both:#}");
    assert_eq!((&one["roles"], &other["roles"]), (&json!(["worker"]), &json!(["api", "scheduler"])));
    assert_eq!((&one["leads"], &other["leads"]), (&json!(false), &json!(true)));
    assert_eq!((&one["slots"]["echo"], &one["slots"]["sleep"]), (&json!(2), &json!(2)), "{one:#}");
    assert_ne!(one["number"], other["number"]);
    let holder = both["leases"][0]["holder"].as_str().unwrap();
    assert!(holder.starts_with("front-"), "{both:#}");
    let job = front.submit(&["sleep", r#"{"ms":600000}"#]);
    front.wait_for(&job, "running");
    assert_eq!(front.json(&["nodes"])["nodes"][0]["running"], 1);
    front.run(&["cancel", &job]).ok();
    back.stop();
    let left = front.json(&["nodes"]);
    assert_eq!((left["nodes"].as_array().unwrap().len(), &left["nodes"][0]["node"]), (1, &json!("front")));
}
