//! What an operator does: pauses, lanes, owners, a look at what is in force, a copy.

use serde_json::{Value, json};

use crate::harness::{Up, program, run};

#[test]
fn nothing_starts_while_paused() {
    let up = Up::new(&[]);
    for target in [["--kind", "echo"], ["--owner", "acme"], ["--lane", "l"]] {
        if target[0] == "--lane" {
            // A lane begins with its first job.
            up.run(&["submit", "sleep", r#"{"ms":600000}"#, "--lane", "l"]).ok();
        }
        up.run(&[&["pause"][..], &target].concat()).ok();
        let id = up.submit(&[
            "echo",
            "--owner",
            "acme",
            "--lane",
            if target[0] == "--lane" { "l" } else { "other" },
        ]);
        // Something that is not paused goes through the whole engine meanwhile.
        up.run(&["submit", "sleep", r#"{"ms":1}"#, "--wait"]).ok();
        let state = up.json(&["jobs", &id])["state"].clone();
        assert!(["ready", "waiting"].contains(&state.as_str().unwrap()), "{target:?}: {state}");
        up.run(&[&["resume"][..], &target].concat()).ok();
        if target[0] != "--lane" {
            up.wait_for(&id, "done");
        }
    }
    assert!(up.run(&["lanes"]).ok().contains('l'));
    up.run(&["pause", "--kind", "echo", "--owner", "x"]).failed(2, &["cannot be used with"]);
    up.run(&["pause", "--kind", "nope"]).failed(1, &["not declared"]);
    up.run(&["pause"]).failed(2, &["--kind"]);
}

#[test]
fn what_is_paused_is_shown() {
    let up = Up::new(&[]);
    up.run(&["submit", "echo", "--owner", "acme", "--wait"]).ok();
    up.run(&["pause", "--kind", "sleep"]).ok();
    up.run(&["pause", "--owner", "acme"]).ok();
    let kinds = up.json(&["kinds"]);
    let paused: Vec<_> =
        kinds["kinds"].as_array().unwrap().iter().filter(|kind| kind["paused"] == true).collect();
    assert_eq!((paused.len(), &paused[0]["name"]), (1, &"sleep".into()));
    assert_eq!(up.json(&["owners"])["owners"][0]["paused"], true);
    assert!(up.run(&["kinds"]).ok().contains("http is off: allow it with `turnwise up --allow-http`"));
}

#[test]
fn an_owners_share() {
    let up = Up::new(&[]);
    let owners = up.json(&["owners", "acme", "--weight", "5", "--quota", "1"]);
    assert_eq!((&owners["owners"][0]["weight"], &owners["owners"][0]["quota"]), (&5.into(), &1.into()));
    let twice = ["submit", "echo", "--owner", "acme", "--delay", "1h"];
    up.run(&twice).ok();
    up.run(&twice).failed(1, &["raise its quota"]);
    up.run(&["owners", "acme"]).failed(2, &["--weight"]);
    up.run(&["owners", "acme", "--weight", "0"]).failed(1, &["pause the owner"]);
}

#[test]
fn a_copy_of_a_running_engine() {
    let up = Up::new(&[]);
    let id = up.submit(&["echo", "1"]);
    up.wait_for(&id, "done");
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("copy.db");
    let file = file.to_str().unwrap();
    assert!(up.run(&["backup", file]).ok().contains("vault.key"));
    up.run(&["backup", file]).failed(1, &["exists already"]);
    // The copy is an engine's data again.
    let data = home.path().join("restored");
    std::fs::create_dir(&data).unwrap();
    std::fs::rename(file, data.join("turnwise.db")).unwrap();
    assert_eq!(Up::on(&data, &[], &[]).json(&["jobs", &id])["result"], 1);
}

#[test]
fn a_doctor_says_what_is_in_force() {
    let mut up = Up::new(&[]);
    let config = up.data.join("turnwise.toml");
    std::fs::write(&config, "slots = 3\nlog = \"json\"").unwrap();
    let data = up.data.display().to_string();
    let mut command = program();
    command.args(["doctor", "--json", "--data", &data, "--config", config.to_str().unwrap()]);
    let output = command.env("TURNWISE_LOG", "text").output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    let setting = |key: &str| {
        let row = report["settings"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
        (row["value"].as_str().unwrap().to_owned(), row["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(setting("data"), (data, "flag --data".into()));
    assert_eq!(setting("log"), ("text".into(), "variable TURNWISE_LOG".into()));
    assert_eq!(setting("slots"), ("3".into(), format!("file {}", config.display())));
    assert_eq!(setting("grace"), ("10s".into(), "default".into()));
    assert_eq!(setting("token").0, "[hidden]");
    assert!(up.run(&["doctor"]).ok().contains("answers at http://127.0.0.1"));
    up.stop();
    assert!(up.run(&["doctor"]).ok().contains("none runs"));
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("turnwise.db"), "not a database, certainly not").unwrap();
    let broken = run(&["doctor", "--data", home.path().to_str().unwrap()]);
    assert!(broken.out.contains("FAIL  database"), "{}", broken.out);
    broken.failed(1, &[]);
}

#[test]
fn help_and_completions() {
    assert!(run(&["completions", "bash"]).ok().contains("turnwise"));
    assert!(run(&["help", "submit"]).ok().contains("Examples:"));
    assert!(run(&["--help"]).ok().contains("Exit codes"));
    run(&["nonsense"]).failed(2, &["nonsense"]);
}

#[test]
fn a_log_for_machines() {
    let mut up = Up::new(&["--log", "json"]);
    up.stop();
    let log = up.log();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "up" && line["level"] == "INFO"), "{log}");
}

#[test]
fn an_address_that_others_can_reach() {
    let up = Up::new(&["--listen", "0.0.0.0:0"]);
    assert!(up.greeting.contains("WARNING: other machines can reach"), "{}", up.greeting);
    assert!(up.log().contains("is the only protection"));
    // The commands on this machine find it all the same.
    up.run(&["submit", "echo", "--wait"]).ok();
}

#[test]
fn a_kind_has_limits_and_a_queue() {
    let up = Up::new(&[]);
    let job = up.submit(&["echo", "1", "--owner", "acme"]);
    up.wait_for(&job, "done");
    let set = up.run(&["kinds", "echo", "--cap", "4", "--rate", "10/1s"]).ok();
    assert!(set.lines().any(|line| line.starts_with("echo") && line.contains("10/1s")), "{set}");
    let kinds = up.json(&["kinds"]);
    let echo = |kinds: &Value| {
        kinds["kinds"].as_array().unwrap().iter().find(|kind| kind["name"] == "echo").cloned()
    };
    let found = echo(&kinds).unwrap();
    assert_eq!((&found["cap"], &found["rate"]["per_ms"]), (&json!(4), &json!(1_000)), "{found:#}");
    let lifted = echo(&up.json(&["kinds", "echo", "--cap", "none", "--rate", "none"])).unwrap();
    assert_eq!((&lifted["cap"], &lifted["rate"]), (&Value::Null, &Value::Null), "{lifted:#}");
    up.run(&["kinds", "echo"]).failed(2, &["say what to set"]);
    up.run(&["kinds", "echo", "--rate", "often"]).failed(2, &["10/1s"]);
    up.run(&["kinds", "echo", "--cap", "few"]).failed(2, &["neither a number nor `none`"]);
    let queue = up.run(&["queue", "echo"]).ok();
    assert!(queue.contains("1 completed") && queue.contains(&job), "{queue}");
    assert_eq!(up.json(&["queue", "echo"])["queue"]["completed"], 1);
    up.run(&["queue", "nobody"]).failed(1, &["nobody"]);
}

#[test]
fn leases_and_settings_are_shown() {
    let up = Up::new(&[]);
    assert!(up.run(&["leases"]).ok().contains("scheduler"));
    assert_eq!(up.json(&["leases"])["leases"][0]["name"], "scheduler");
    let settings = up.run(&["settings"]).ok();
    assert!(
        settings.lines().any(|line| line.starts_with("trace_share") && line.contains("default")),
        "{settings}"
    );
    assert!(up.json(&["settings"])["settings"].as_array().unwrap().len() > 10);
}

#[test]
fn a_node_is_drained_and_resumed() {
    let up = Up::new(&[]);
    let said = up.run(&["drain", "node", "--wait", "10s"]).ok();
    assert!(said.contains("it can be stopped"), "{said}");
    assert!(up.run(&["nodes"]).ok().contains("drained: it can be stopped"));
    let job = up.submit(&["echo"]);
    up.wait_for(&job, "ready");
    up.run(&["resume", "--node", "node"]).ok();
    up.wait_for(&job, "done");
    up.run(&["drain", "nobody"]).failed(1, &["there is no node `nobody`"]);
}
