//! Programs in other languages that work for a real engine: the examples, as they are.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Up, read_until};

/// A worker that the test has started. It is killed, alone and by its own number, when the test is over.
struct Program {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Program {
    /// The worker in Python, registered.
    fn python(up: &Up, name: &str, more: &[&str]) -> Program {
        let mut command = Command::new("python3");
        command.arg(example("worker.py")).args(["--url", &up.url(""), "--name", name]);
        command.arg("--token-file").arg(up.data.join("token")).args(more);
        Program::start(command)
    }

    fn start(mut command: Command) -> Program {
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?} is needed for this test: {error}"));
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut program = Program { child, out };
        program.says("registered as");
        program
    }

    /// Reads its output until a line holds this.
    fn says(&mut self, text: &str) -> String {
        read_until(&mut self.out, text)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workers")).join(name)
}

fn job(up: &Up, id: &str) -> Value {
    up.get(&format!("/api/v1/jobs/{id}"))
}

fn nodes(up: &Up) -> Vec<String> {
    let nodes = up.get("/api/v1/nodes");
    nodes["nodes"].as_array().unwrap().iter().map(|node| node["node"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_python_worker_works_fails_resumes_and_leaves() {
    let up = Up::new(&[]);
    let mut worker = Program::python(&up, "snake", &[]);
    assert!(nodes(&up).contains(&"snake".to_owned()), "it is a node like any other");
    let shout = up.submit(&["shout", r#"{"text": "grüß dich"}"#]);
    up.wait_for(&shout, "done");
    assert_eq!(job(&up, &shout)["result"], json!({"text": "GRÜSS DICH"}));
    let bad = up.submit(&["shout", r#"{"txt": "no text"}"#, "--attempts", "1"]);
    up.wait_for(&bad, "dead");
    assert_eq!(job(&up, &bad)["errors"][0]["error"], "KeyError: 'text'");
    let count = up.submit(&["count", r#"{"text": "one two three", "stumble": true}"#]);
    up.wait_for(&count, "retrying");
    assert_eq!(job(&up, &count)["steps"], json!(["split"]));
    up.run(&["retry", &count]).ok();
    up.wait_for(&count, "done");
    assert_eq!(job(&up, &count)["result"], json!({"words": 3, "attempt": 2}));
    let nap = up.submit(&["nap", r#"{"seconds": 600}"#]);
    worker.says(&format!("begins nap {nap}"));
    worker.signal(Signal::TERM);
    worker.says("left");
    assert!(worker.child.wait().unwrap().success());
    let given_back = job(&up, &nap);
    assert_eq!((&given_back["state"], &given_back["attempt"]), (&json!("ready"), &json!(0)));
    assert!(!nodes(&up).contains(&"snake".to_owned()));
}

#[test]
fn a_killed_worker_loses_its_job_to_another() {
    let up = Up::new(&[]);
    let mut killed = Program::python(&up, "killed", &["--session-ms", "1500"]);
    let nap = up.submit(&["nap", r#"{"seconds": 600}"#]);
    killed.says(&format!("begins nap {nap} attempt 1 fence 1"));
    killed.signal(Signal::KILL);
    let mut other = Program::python(&up, "other", &["--session-ms", "3000"]);
    other.says(&format!("begins nap {nap} attempt 1 fence 2"));
    let rescued = job(&up, &nap);
    assert_eq!((&rescued["state"], &rescued["errors"][0]["failure"]), (&json!("running"), &json!("lost")));
    assert_eq!(rescued["errors"].as_array().unwrap().len(), 1);
    // The other one is told with a heartbeat.
    up.run(&["cancel", &nap]).ok();
    up.wait_for(&nap, "cancelled");
    other.says(&format!("ended {nap}"));
}

#[test]
fn a_worker_finds_an_engine_again_that_was_away() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, &[], &[]);
    let address = up.url("").trim_start_matches("http://").to_owned();
    let mut worker = Program::python(&up, "patient", &["--session-ms", "2000"]);
    let nap = up.submit(&["nap", r#"{"seconds": 600}"#]);
    worker.says(&format!("begins nap {nap} attempt 1 fence 1"));
    up.stop();
    let up = Up::on(&data, &["--listen", &address], &[]);
    worker.says("registered as patient");
    worker.says(&format!("begins nap {nap} attempt 1 fence 2"));
    assert_eq!(job(&up, &nap)["errors"], json!([]), "the engine gave it back when it stopped");
}

#[test]
fn the_shell_worker_works_and_leaves() {
    let up = Up::new(&[]);
    let mut command = Command::new("sh");
    command.arg(example("worker.sh")).env("JOBS", "2").env("TURNWISE_URL", up.url(""));
    let mut worker = Program::start({
        command.env("TURNWISE_TOKEN_FILE", up.data.join("token"));
        command
    });
    let bad = up.submit(&["words", r#"{"txt": "no text"}"#, "--attempts", "1"]);
    up.wait_for(&bad, "dead");
    let said = job(&up, &bad);
    let said = said["errors"][0]["error"].as_str().unwrap();
    assert!(said.contains("KeyError"), "{said}");
    let good = up.submit(&["words", r#"{"text": "it's \"five\" small\nwords $HOME"}"#]);
    up.wait_for(&good, "done");
    assert_eq!(job(&up, &good)["result"], json!({"words": 5}));
    worker.says("left");
    assert!(worker.child.wait().unwrap().success());
    assert!(!nodes(&up).iter().any(|node| node.starts_with("sh-")));
}
