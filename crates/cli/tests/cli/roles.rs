//! What each role does when another is away.

use std::process::Command;
use std::time::Duration;

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
        Up::without_a_door(&home.path().join(name), &["--roles", roles, "--slots", "8"], &settings)
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
