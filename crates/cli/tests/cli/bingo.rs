//! `turnwise bingo`: with a server, without one, and on a fleet.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use turnwise_servers::poll::until;

use crate::fleet::Fleet;
use crate::harness::{Up, program, run, run_with_input};

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

const NULL: Value = Value::Null;

/// A scenario whose runs differ, with something said differently, as a file.
struct Scenario {
    _home: TempDir,
    path: PathBuf,
}

impl Scenario {
    fn new(differently: &Value) -> Scenario {
        let mut scenario: Value =
            serde_json::from_str(&run(&["bingo", "samples", "performance"]).ok()).unwrap();
        scenario["duration_seconds"] = json!(6_000);
        for (field, value) in differently.as_object().unwrap() {
            scenario[field] = value.clone();
        }
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("event.json");
        std::fs::write(&path, scenario.to_string()).unwrap();
        Scenario { _home: home, path }
    }

    fn file(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// What it comes to without an engine.
    fn local(&self, runs: &str) -> Value {
        run(&["bingo", "run", self.file(), "--runs", runs, "--seed", "s", "--local", "--json"]).json()
    }

    fn local_even_if_it_fails(&self, runs: &str) -> Value {
        let ran = run(&["bingo", "run", self.file(), "--runs", runs, "--seed", "s", "--local", "--json"]);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// The same without the delay, which no digit depends on.
    fn local_fast(&self, runs: &str) -> Value {
        let mut scenario: Value =
            serde_json::from_str(&std::fs::read_to_string(&self.path).unwrap()).unwrap();
        scenario["simulation_delay_ms"] = json!(0);
        std::fs::write(&self.path, scenario.to_string()).unwrap();
        self.local(runs)
    }
}

#[test]
fn every_sample_is_well_and_a_bad_file_is_told_place_by_place() {
    let samples = run(&["bingo", "samples"]).ok();
    assert!(samples.lines().count() >= 4, "{samples}");
    for name in samples.lines() {
        let text = run(&["bingo", "samples", name]).ok();
        let checked = run_with_input(&["bingo", "check", "-"], &text).ok();
        assert!(checked.contains("All is well."), "{checked}");
    }
    run(&["bingo", "samples", "nothing"]).failed(2, &["there is no sample `nothing`", "performance"]);
    let bad = Scenario::new(&json!({"duration_seconds": -5, "unlock_points": 99}));
    run(&["bingo", "check", bad.file()]).failed(1, &["2 faults", "duration_seconds", "unlock_points"]);
    let checked = run(&["bingo", "check", bad.file(), "--json"]);
    let checked: Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!((&checked["ok"], checked["faults"].as_array().unwrap().len()), (&json!(false), 2));
    let long = Scenario::new(&json!({"name": "🎲".repeat(100)}));
    run(&["bingo", "check", long.file()]).failed(1, &["name: ", "256"]);
    run(&["bingo", "run", long.file(), "--runs", "1", "--local"]).failed(2, &["name: ", "256"]);
    let decimal = Scenario::new(&json!({"duration_seconds": 86400.0}));
    assert!(run(&["bingo", "check", decimal.file()]).ok().contains("24 hours"));
}

/// What was to be thrown away is, also if somebody loses patience.
#[test]
fn a_run_that_is_stopped_leaves_no_directory_behind() {
    let slow = Scenario::new(&json!({"simulation_delay_ms": 20}));
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let home = tempfile::tempdir().unwrap();
        let mut command = program();
        command
            .env("HOME", home.path())
            .env("XDG_DATA_HOME", home.path().join("data"))
            .env("TMPDIR", home.path());
        let mut child = command.args(["bingo", "run", slow.file(), "--runs", "100000"]).spawn().unwrap();
        let has_begun = || {
            let entries = std::fs::read_dir(home.path()).unwrap().flatten();
            let files = entries.filter_map(|entry| std::fs::read_dir(entry.path()).ok()).flatten();
            Ok((files.count() > 0).then_some(()))
        };
        until("the engine", PATIENCE, has_begun).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn without_a_single_run_there_are_no_figures() {
    let troubled = Scenario::new(&json!({"trouble": {"runs": [0]}}));
    let ran = run(&["bingo", "run", troubled.file(), "--runs", "1", "--local"]);
    assert!(
        ran.out.contains("0 of 1 runs") && ran.out.contains('–') && !ran.out.contains("0.00"),
        "{}",
        ran.out
    );
    assert_eq!(troubled.local_even_if_it_fails("1")["teams"][0]["points"], NULL);
}

#[test]
fn nonsense_is_refused_before_anything_is_queued() {
    let (good, bad) = (Scenario::new(&json!({})), Scenario::new(&json!({"teams": []})));
    for runs in ["0", "-5", "1e9", "100000001", "many"] {
        run(&["bingo", "run", good.file(), "--runs", runs])
            .failed(2, &["a whole number from 1 to 100000000"]);
    }
    run(&["bingo", "run", bad.file(), "--runs", "10"]).failed(2, &["teams"]);
    run(&["bingo", "run", "/nowhere/event.json", "--runs", "10"])
        .failed(2, &["cannot read /nowhere/event.json"]);
    run_with_input(&["bingo", "run", "-", "--runs", "10"], "{\"name\": \"cut o").failed(2, &["not JSON"]);
    run(&["bingo", "run", good.file(), "--runs", "10", "--detach"]).failed(2, &["turnwise up"]);
    let up = Up::new(&[]);
    let id = up.json(&["submit", "echo", "--batch", "other"])["batch"].as_str().unwrap().to_owned();
    up.run(&["bingo", "results", &id]).failed(1, &["is no batch of bingo", "turnwise bingo list"]);
    up.run(&["bingo", "results", "0000000000001"]).failed(1, &["0000000000001"]);
    up.run(&["bingo", "results", "what"]).failed(2, &["what"]);
    let body = |runs: Value| json!({"scenario": "{", "runs": runs, "seed": "s"});
    for wrong in
        [body(json!(-1)), body(json!(1)), json!({"runs": 1}), json!({"scenario": {}, "runs": 1, "seed": ""})]
    {
        let request = ureq::post(up.url("/api/v1/bingo/batches")).header("authorization", up.bearer());
        let refused = request.send_json(&wrong).unwrap_err();
        assert!(matches!(refused, ureq::Error::StatusCode(400)), "{wrong}: {refused}");
    }
    let twice = std::fs::read_to_string(&good.path).unwrap().replacen('{', "{\"name\": \"first\", ", 1);
    let answer = |path: &str, more: &str| {
        let request =
            ureq::post(up.url(&format!("/api/v1/bingo/{path}"))).header("authorization", up.bearer());
        let request = request.config().http_status_as_error(false).build();
        let body = format!("{{\"scenario\": {twice}{more}}}");
        request.send(body).unwrap().body_mut().read_to_string().unwrap()
    };
    for said in [answer("check", ""), answer("batches", ", \"runs\": 1, \"seed\": \"s\"")] {
        assert!(said.contains("is given twice"), "{said}");
    }
    assert_eq!(up.json(&["bingo", "list"])["batches"], json!([]), "nothing was queued");
}

#[test]
fn without_a_server_it_runs_here_and_gives_the_same_digits() {
    let scenario = Scenario::new(&json!({}));
    let local = scenario.local("3000");
    assert_eq!(
        (&local["status"], &local["runs"], &local["failed_runs"]),
        (&json!("completed"), &json!(3000), &json!(0))
    );
    assert!(local["runs_per_s"].as_f64().unwrap() > 0.0);
    let args = ["bingo", "run", scenario.file(), "--runs", "3000", "--seed", "s", "--json"];
    let thrown_away = run(&args).json();
    assert_eq!(thrown_away["teams"], local["teams"]);
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data").display().to_string();
    let kept = run(&[&args[..], &["--data", &data]].concat()).json();
    assert_eq!(kept["teams"], local["teams"]);
    // The directory is looked at again by other commands, with no server either.
    let id = kept["batch"].as_str().unwrap();
    let again = run(&["bingo", "results", id, "--json", "--data", &data]).json();
    assert_eq!(again["teams"], local["teams"]);
    let told = run(&["bingo", "rerun", id, "--run", "4", "--data", &data]).ok();
    assert!(told.contains("Team A: ") && told.contains("row 1 is unlocked"), "{told}");
    let csv = run(&["bingo", "export", id, "--data", &data]).ok();
    assert_eq!(csv.lines().count(), 1 + 2 * 3000);
    let compared = run(&["bingo", "compare", id, id, "--data", &data]).ok();
    assert!(compared.contains("may be luck") && !compared.contains("clear"), "{compared}");
    let file = scenario.path.with_extension("csv").display().to_string();
    std::fs::write(&file, "what was there").unwrap();
    run(&["bingo", "export", "0000000000001", "-o", &file, "--data", &data]).failed(1, &["0000000000001"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "what was there");
    run(&["bingo", "export", id, "-o", &file, "--data", &data]).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), csv);
    let one = run(&["bingo", "run", scenario.file(), "--runs", "1", "--data", &data, "--json"]).json();
    let one = one["batch"].as_str().unwrap();
    let compared = run(&["bingo", "compare", id, one, "--data", &data]).ok();
    assert!(compared.contains("too few runs") && !compared.contains("clear"), "{compared}");
    let compared = run(&["bingo", "compare", id, one, "--json", "--data", &data]).json();
    assert_eq!(
        (&compared["teams"][0]["points"]["low"], &compared["teams"][0]["points"]["clear"]),
        (&NULL, &NULL)
    );
    run(&["bingo", "results", id]).failed(3, &["no engine runs on"]);
}

#[test]
fn with_a_server_it_is_asked_and_told_through_the_api() {
    let up = Up::new(&["--slots", "bingo=2"]);
    let scenario = Scenario::new(&json!({}));
    let local = scenario.local("2000");
    let ran = up.json(&["bingo", "run", scenario.file(), "--runs", "2000", "--seed", "s", "--name", "First"]);
    assert_eq!((&ran["teams"], &ran["status"]), (&local["teams"], &json!("completed")));
    let id = ran["batch"].as_str().unwrap();
    assert!(up.run(&["bingo", "results", id]).ok().contains("2000 of 2000 runs"));
    assert!(up.run(&["bingo", "list"]).ok().contains("First"));
    let lines = up.run(&["bingo", "export", id, "--format", "json"]).ok();
    assert_eq!(lines.lines().count(), 2000);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let timeline = up.json(&["bingo", "rerun", id, "--run", "0"]);
    assert_eq!(first["teams"][0]["points"], timeline["run"]["teams"][0]["points"]);
    up.run(&["bingo", "rerun", id, "--run", "2000"]).failed(1, &["has runs 0 to 1999"]);
    let troubled = Scenario::new(&json!({"trouble": {"runs": [7]}}));
    let ran = up.run(&["bingo", "run", troubled.file(), "--runs", "100", "--seed", "s", "--json"]);
    assert_eq!(ran.code, 1, "a batch with failed runs did not go well: {}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&told["status"], &told["failed_runs"], &told["failures"][0]["run"]),
        (&json!("error"), &json!(1), &json!(7))
    );
    assert_eq!(
        told["teams"],
        troubled.local_even_if_it_fails("100")["teams"],
        "the others have their aggregates"
    );
    let slow = Scenario::new(&json!({"simulation_delay_ms": 20}));
    let started = up.json(&["bingo", "run", slow.file(), "--runs", "100000", "--detach"]);
    let id = started["batch"].as_str().unwrap().to_owned();
    up.run(&["bingo", "cancel", &id]).ok();
    let ended = until("cancelling", PATIENCE, || {
        let status = up.get(&format!("/api/v1/bingo/batches/{id}"));
        Ok((status["status"] == "cancelled").then_some(status))
    });
    assert!(ended.unwrap()["message"].as_str().unwrap().contains("of 100000 runs were simulated"));
}

/// Weak points 6 and 7: work meant for a worker that is gone, or for another one, was lost. Here every worker takes what is
/// there, and what a dead one held is done by the others.
#[test]
fn two_workers_of_a_fleet_share_a_batch_and_one_of_them_may_die() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let front = fleet.variables(&[("TURNWISE_NODE", "front")]);
    let front = Up::on(&home.path().join("front"), &["--roles", "api,scheduler"], &front);
    let worker = |name: &'static str| {
        let variables = fleet.variables(&[("TURNWISE_NODE", name)]);
        Up::without_a_server(
            &home.path().join(name),
            &["--roles", "worker", "--slots", "bingo=1"],
            &variables,
        )
    };
    let (one, _other) = (worker("one"), worker("other"));
    let slow = Scenario::new(&json!({"simulation_delay_ms": 5}));
    let started = front.json(&["bingo", "run", slow.file(), "--runs", "3000", "--seed", "s", "--detach"]);
    let id = started["batch"].as_str().unwrap().to_owned();
    until("both at work", PATIENCE, || {
        let nodes = front.json(&["nodes"]);
        let busy =
            nodes["nodes"].as_array().unwrap().iter().filter(|node| node["running"].as_u64() > Some(0));
        Ok((busy.count() == 2).then_some(()))
    })
    .unwrap();
    one.signal(Signal::KILL);
    let status = until("the end", 2 * PATIENCE, || {
        let status = front.get(&format!("/api/v1/bingo/batches/{id}"));
        Ok((!matches!(status["status"].as_str(), Some("pending" | "running"))).then_some(status))
    });
    assert_eq!(status.unwrap()["status"], "completed");
    let told = front.json(&["bingo", "results", &id]);
    assert_eq!((&told["simulated"], &told["failed_runs"]), (&json!(3000), &json!(0)));
    assert_eq!(told["teams"], slow.local_fast("3000")["teams"]);
}
