//! What each role does when another is away.

use std::process::Command;
use std::time::Duration;

use turnwise_servers::RabbitMq;
use turnwise_servers::poll::until;

use crate::fleet::Fleet;
use crate::harness::Up;

const PATIENCE: Duration = Duration::from_secs(60);
const JOBS: usize = 1_000;

#[test]
fn workers_finish_while_the_api_is_stopped() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let settings = fleet.variables(&[]);
    let node = |name: &str, roles: &str| {
        Up::without_a_server(&home.path().join(name), &["--roles", roles, "--slots", "8"], &settings)
    };
    let (_planner, _worker) = (node("planner", "scheduler"), node("worker", "worker"));
    let api = || Up::on(&home.path().join("api"), &["--roles", "api"], &settings);
    let mut first = api();
    let count = JOBS.to_string();
    let submit = ["submit", "sleep", r#"{"ms":20}"#, "--count", &count, "--batch", "naps"];
    let batch = first.json(&submit)["batch"].as_str().unwrap().to_owned();
    first.stop();
    let ended = || -> usize {
        let sql = format!("SELECT count(*) FROM \"{}\".job_ended WHERE state = 5", fleet.schema());
        let asked = Command::new("psql").args(["-qAtc", &sql, fleet.database()]).output().unwrap();
        String::from_utf8(asked.stdout).unwrap().trim().parse().unwrap()
    };
    assert!(ended() < JOBS, "it was stopped too late");
    until("finishing without the api", PATIENCE, || Ok((ended() == JOBS).then_some(()))).unwrap();
    let second = api();
    let shown = second.json(&["batches", &batch]);
    assert_eq!((&shown["done"], &shown["total"]), (&JOBS.into(), &JOBS.into()), "{shown:#}");
    assert_eq!(shown["phase"], "settled");
}

#[test]
fn a_node_says_what_is_missing_and_goes_on_when_it_is_back() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let mut broker = RabbitMq::start().unwrap();
    let url = broker.url();
    let up = Up::on(&home.path().join("node"), &[], &fleet.variables(&[("TURNWISE_RABBITMQ", &url)]));
    assert_eq!(up.run(&["ready"]).ok().trim(), "ready");
    broker.stop().unwrap();
    until("noticing it", PATIENCE, || Ok((up.run(&["ready"]).code == 1).then_some(()))).unwrap();
    up.run(&["ready"]).failed(1, &["not ready", "broker: "]);
    broker.restart().unwrap();
    until("finding it again", PATIENCE, || Ok((up.run(&["ready"]).code == 0).then_some(()))).unwrap();
    let job = up.submit(&["echo", "7"]);
    up.wait_for(&job, "done");
}
