//! Metrics, judged by Prometheus's own tool; and the alerts and the dashboard that stand on them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::Up;

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

/// Runs `promtool`, with something to read.
#[track_caller]
fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let mut child =
        child.unwrap_or_else(|error| panic!("promtool, of Debian's package `prometheus`: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && !said.contains("error"), "{said}\n{input}");
}

fn scraped(up: &Up) -> String {
    let request = ureq::get(up.url("/metrics")).header("authorization", up.bearer());
    request.call().unwrap().body_mut().read_to_string().unwrap()
}

/// The names of our metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("turnwise_")).map(str::to_owned).collect()
}

#[test]
fn what_happened_is_counted() {
    let up = Up::new(&["--allow-shell"]);
    for owner in ["acme", "say \"hi\"\\"] {
        let id = up.submit(&["echo", "--owner", owner]);
        up.wait_for(&id, "done");
    }
    let id = up.submit(&["shell", r#"{"command": "false"}"#, "--attempts", "1"]);
    up.wait_for(&id, "dead");
    let text = scraped(&up);
    promtool(&["check", "metrics"], &text);
    for line in [
        r#"turnwise_jobs_submitted_total{kind="echo"} 2"#,
        r#"turnwise_jobs_started_total{kind="echo"} 2"#,
        r#"turnwise_jobs_finished_total{kind="echo",state="done"} 2"#,
        r#"turnwise_jobs_finished_total{kind="shell",state="dead"} 1"#,
        r#"turnwise_jobs_failed_total{kind="shell"} 1"#,
        r#"turnwise_jobs{kind="echo",state="done"} 2"#,
        r#"turnwise_turns_total{owner="acme"} 1"#,
        r#"turnwise_start_latency_seconds_count{kind="echo"} 2"#,
        r#"turnwise_run_seconds_count{kind="echo"} 2"#,
        r#"turnwise_leases_taken_total{lease="scheduler"} 1"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    for name in [
        "turnwise_commit_seconds_bucket",
        "turnwise_commit_units_sum",
        "turnwise_broker_published_total",
        "turnwise_broker_consumed_total",
        "process_resident_memory_bytes",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn alerts_and_dashboard_stand_on_metrics_that_exist() {
    let up = Up::new(&[]);
    let id = up.submit(&["echo"]);
    up.wait_for(&id, "done");
    let mut known = names(&scraped(&up));
    // Those that only something going wrong brings about.
    let rare = [
        "turnwise_jobs_failed_total",
        "turnwise_jobs_retried_total",
        "turnwise_jobs_rescued_total",
        "turnwise_refused_stale_writes_total",
        "turnwise_broker_failed_total",
        "turnwise_broker_redelivered_total",
        "turnwise_broker_reconnects_total",
    ];
    known.extend(rare.map(str::to_owned));
    let rules = std::fs::read_to_string(deploy("prometheus/alerts.yml")).unwrap();
    promtool(&["check", "rules", deploy("prometheus/alerts.yml").to_str().unwrap()], "");
    let board = std::fs::read_to_string(deploy("grafana/turnwise.json")).unwrap();
    let parsed: Value = serde_json::from_str(&board).unwrap();
    let asked: String = parsed["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| format!("{} ", target["expr"].as_str().unwrap()))
        .collect();
    assert!(asked.contains("rabbitmq_"), "a panel for RabbitMQ");
    for name in names(&format!("{rules} {asked}")) {
        assert!(known.contains(&name), "{name} is asked for and does not exist");
    }
}
