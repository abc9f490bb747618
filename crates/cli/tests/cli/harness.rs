//! An engine that a test starts, and commands that talk to it. Nothing sleeps: what must happen first is read
//! from the engine's output, or waited for through the API.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, in an environment of its own.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnwise"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TURNWISE_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command
}

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// It went well: what it printed.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// It went well: the JSON that it printed.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// It failed with this code, and said all of this.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        for said in said {
            assert!(self.err.contains(said), "`{said}` is not in: {}", self.err);
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Ran {
    run_with_input(arguments, "")
}

/// Runs a command to its end, with something to read.
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ran {
    let mut command = program();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that refuses early does not read all of it.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    // A command that should have failed may run for ever instead: the test ends all the same.
    let pid = Pid::from_child(&child);
    let (ended, watched) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    watch.join().unwrap();
    Ran::of(&output)
}

/// A running engine. It is killed, alone and by its own number, when the test is over.
pub(crate) struct Up {
    child: Child,
    /// Held open: it is what the engine greets and says goodbye on.
    out: BufReader<ChildStdout>,
    pub(crate) greeting: String,
    pub(crate) data: PathBuf,
    _home: Option<TempDir>,
}

impl Up {
    /// An engine in a fresh directory.
    pub(crate) fn new(arguments: &[&str]) -> Up {
        let home = tempfile::tempdir().unwrap();
        let mut up = Up::on(&home.path().join("data"), arguments, &[]);
        up._home = Some(home);
        up
    }

    /// An engine in this directory.
    pub(crate) fn on(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Up {
        Up::until(data, arguments, variables, "Ctrl-C stops")
    }

    /// A node of a fleet that takes no requests.
    pub(crate) fn without_a_server(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Up {
        Up::until(data, arguments, variables, "without a server")
    }

    fn until(data: &Path, arguments: &[&str], variables: &[(&str, &str)], greeting: &str) -> Up {
        let mut command = program();
        command.arg("up").arg("--data").arg(data).args(arguments).envs(variables.iter().copied());
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.stdout(Stdio::piped()).stderr(File::create(log_of(data)).unwrap());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let greeting = read_until(&mut out, greeting);
        Up { child, out, greeting, data: data.to_owned(), _home: None }
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(log_of(&self.data)).unwrap()
    }

    /// Runs a command against it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let data = self.data.display().to_string();
        run(&[arguments, &["--data", &data]].concat())
    }

    /// The same, with something to read.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let data = self.data.display().to_string();
        run_with_input(&[arguments, &["--data", &data]].concat(), input)
    }

    /// The same command, printing JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).json()
    }

    /// Submits one job; its id.
    #[track_caller]
    pub(crate) fn submit(&self, arguments: &[&str]) -> String {
        let accepted = self.json(&[&["submit"], arguments].concat());
        accepted["jobs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Asks the API directly.
    pub(crate) fn get(&self, path: &str) -> Value {
        let request = ureq::get(self.url(path)).header("authorization", self.bearer());
        request.call().unwrap().body_mut().read_json().unwrap()
    }

    /// Waits until a job is in a state, by reading the event stream.
    pub(crate) fn wait_for(&self, job: &str, state: &str) {
        let begin = Instant::now();
        let mut after = 0;
        loop {
            assert!(
                begin.elapsed() < PATIENCE,
                "job {job} is not {state}: {}",
                self.get(&format!("/api/v1/jobs/{job}"))
            );
            if self.get(&format!("/api/v1/jobs/{job}"))["state"] == state {
                return;
            }
            after = self.get(&format!("/api/v1/events?after={after}&limit=1000&wait_ms=5000"))["next"]
                .as_u64()
                .unwrap();
        }
    }

    /// The address of a page.
    pub(crate) fn url(&self, path: &str) -> String {
        let place: Value = serde_json::from_str(&self.file("server.json")).unwrap();
        format!("http://{}{path}", place["address"].as_str().unwrap())
    }

    /// The header that lets one in.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.file("token"))
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.data.join(name)).unwrap()
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads its output until a line holds this.
    pub(crate) fn says(&mut self, text: &str) {
        read_until(&mut self.out, text);
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Stops it gracefully.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.says("Stopped.");
        assert!(self.ended().success());
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The log is beside the directory, so that the engine makes that itself.
fn log_of(data: &Path) -> PathBuf {
    data.with_extension("log")
}

/// Reads until a line holds this; everything up to its end.
pub(crate) fn read_until(out: &mut impl BufRead, text: &str) -> String {
    let mut seen = String::new();
    loop {
        let begin = seen.len();
        assert_ne!(out.read_line(&mut seen).unwrap(), 0, "it ended without saying `{text}`: {seen}");
        if seen[begin..].contains(text) {
            return seen;
        }
    }
}
