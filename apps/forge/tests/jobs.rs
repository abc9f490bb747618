//! Requests on their way through real phases: real processes, real git, a real zone file. Each weak point of the system
//! that this one replaces has a test that shows that it cannot happen here; the two that need two processes are in
//! `crates/cli/tests/cli/forge.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use turnwise::{Config, Engine, JobId, JobView, Running, State, millis};
use turnwise_forge::request::Request;
use turnwise_forge::{Program, Settings, What, check};

const PATIENCE: Duration = Duration::from_secs(60);

/// A forge with an engine in memory and a folder of its own.
struct Forge {
    engine: Engine,
    settings: Settings,
    folder: tempfile::TempDir,
}

impl Forge {
    /// One whose phases run as this script, in which `$REAL` is the real program and `$DIR` the folder.
    async fn scripted(script: &str) -> Forge {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("phase.sh");
        let (real, place) = (env!("CARGO_BIN_EXE_turnwise-forge-phase"), folder.path().display());
        std::fs::write(&path, format!("REAL='{real}' DIR='{place}'\n{script}")).unwrap();
        let program = Program { path: "/bin/sh".into(), arguments: vec![path.display().to_string()] };
        let settings = Settings { retry: millis(20), ..Settings::new(folder.path().join("forge"), program) };
        let engine = Engine::open(Config::memory()).await.unwrap();
        Forge { engine, settings, folder }
    }

    async fn new() -> Forge {
        Forge::scripted("exec \"$REAL\"").await
    }

    async fn start(&self) -> Running {
        turnwise_forge::register(&self.engine, &self.settings);
        self.engine.start().await.unwrap()
    }

    async fn submit(&self, request: Request) -> JobId {
        turnwise_forge::submit(&self.engine, &self.settings, request).await.unwrap().job
    }

    async fn ended(&self, job: JobId) -> JobView {
        tokio::time::timeout(PATIENCE, self.engine.wait(job)).await.unwrap().unwrap()
    }

    /// Waits until a job is in a state.
    async fn reaches(&self, job: JobId, state: State) -> JobView {
        let begin = Instant::now();
        loop {
            let view = self.engine.job(job).await.unwrap().unwrap();
            if view.state == state {
                return view;
            }
            assert!(begin.elapsed() < PATIENCE, "it is not {state}: {view:?}");
            let _ = tokio::time::timeout(millis(50), self.engine.next_commit()).await;
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The requests that are committed for a service, in order.
    fn commits(&self, service: &str) -> Vec<String> {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.path(&format!("forge/repositories/{service}.git")))
            .args([
                "log",
                "--reverse",
                "--format=%(trailers:key=Turnwise-Request,valueonly,separator=%x2C)",
                "main",
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn zone(&self) -> String {
        std::fs::read_to_string(self.path("forge/zones/example.test.zone")).unwrap()
    }
}

fn request(id: &str, service: &str) -> Request {
    check::request(&json!({
        "id": id, "trace_id": format!("trace-{id}"), "service": service, "owner": "acme",
        "entities": [{"name": "note", "fields": [{"name": "title", "type": "text"}]}],
    }))
    .unwrap()
}

#[tokio::test]
async fn a_request_becomes_a_commit_and_a_name() {
    let forge = Forge::new().await;
    let running = forge.start().await;
    let job = forge.submit(request("r-1", "notes")).await;
    let view = forge.ended(job).await;
    assert_eq!(view.state, State::Done, "{:?}", view.errors);
    let steps: Vec<&str> = view.steps.iter().map(|step| &**step).collect();
    let phases =
        ["API_GENERATION", "FRONTEND_GENERATION", "DEVOPS_GENERATION", "GIT_OPERATIONS", "DNS_UPDATE"];
    assert_eq!(steps, phases);
    assert_eq!(forge.commits("notes"), ["r-1"]);
    assert!(forge.zone().contains("notes IN A 127.0.0.1\n"));
    assert!(forge.zone().contains("_forge.notes IN TXT \"request=r-1\" \"sequence=1\" \"fence=1\"\n"));
    running.stop().await;
}

/// A race against a timer left the work running beside the next job.
#[tokio::test]
async fn weak_point_3_a_timeout_stops_the_work_for_real_and_is_not_retried() {
    let mut forge = Forge::scripted("sleep 600 & echo $! > \"$DIR/pid\"; wait").await;
    forge.settings.timeout = millis(500);
    let running = forge.start().await;
    let job = forge.submit(request("r-1", "notes")).await;
    let view = forge.ended(job).await;
    assert_eq!((view.state, view.attempt), (State::Dead, 1));
    assert!(view.errors[0].error.starts_with("TIMEOUT: "), "{:?}", view.errors);
    let pid: u32 = std::fs::read_to_string(forge.path("pid")).unwrap().trim().parse().unwrap();
    let begin = Instant::now();
    while is_alive(pid) {
        assert!(begin.elapsed() < PATIENCE, "what the phase started lives on");
        tokio::task::yield_now().await;
    }
    running.stop().await;
}

/// A process that has ended and was not collected yet is no more alive than one that is gone.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains("(sleep)") && !stat.contains(") Z")
}

/// A retry went to another queue, and whoever came later overtook.
#[tokio::test]
async fn weak_point_4_a_retry_lets_nobody_overtake() {
    let forge = Forge::scripted(&failing_on(4, "GIT")).await;
    turnwise_forge::register(&forge.engine, &forge.settings);
    for id in ["r-1", "r-2", "r-3"] {
        forge.submit(request(id, "notes")).await;
    }
    let running = forge.engine.start().await.unwrap();
    tokio::time::timeout(PATIENCE, forge.engine.drain()).await.unwrap().unwrap();
    assert_eq!(forge.commits("notes"), ["r-1", "r-2", "r-3"]);
    running.stop().await;
}

/// The n-th phase fails, once.
fn failing_on(number: u32, class: &str) -> String {
    format!(
        "n=$(($(cat \"$DIR/count\" 2>/dev/null || echo 0) + 1)); echo $n > \"$DIR/count\"\n\
         [ $n = {number} ] && {{ echo '{{\"Err\":{{\"class\":\"{class}\",\"text\":\"broken\"}}}}'; exit 0; }}\n\
         exec \"$REAL\""
    )
}

/// Each request got an id of its own, so that none was ever recognised, and what had failed was erased.
#[tokio::test]
async fn weak_point_6_the_same_id_is_the_same_job_and_failures_are_kept() {
    let forge = Forge::scripted(&failing_on(1, "VALIDATION")).await;
    let running = forge.start().await;
    let first =
        turnwise_forge::submit(&forge.engine, &forge.settings, request("r-1", "notes")).await.unwrap();
    assert!(!first.existing);
    let dead = forge.ended(first.job).await;
    assert_eq!(
        (dead.state, dead.errors[0].error.as_str()),
        (State::Dead, "VALIDATION: broken (in API_GENERATION)")
    );
    let again =
        turnwise_forge::submit(&forge.engine, &forge.settings, request("r-1", "notes")).await.unwrap();
    assert_eq!((again.job, again.existing), (first.job, true));
    forge.engine.replay(first.job).await.unwrap();
    assert_eq!(forge.ended(first.job).await.state, State::Done);
    assert_eq!(forge.commits("notes"), ["r-1"]);
    running.stop().await;
}

#[tokio::test]
async fn the_same_content_is_collapsed_while_it_waits_if_both_ask() {
    let forge = Forge::new().await;
    turnwise_forge::register(&forge.engine, &forge.settings);
    let asking = |id: &str| Request { collapse: true, ..request(id, "notes") };
    let first = forge.submit(asking("r-1")).await;
    assert_eq!(forge.submit(asking("r-2")).await, first);
    assert_ne!(forge.submit(request("r-3", "notes")).await, first, "it did not ask");
    assert_ne!(forge.submit(Request { port: 9_000, ..asking("r-4") }).await, first, "it is another content");
    let running = forge.engine.start().await.unwrap();
    tokio::time::timeout(PATIENCE, forge.engine.drain()).await.unwrap().unwrap();
    assert_ne!(forge.submit(asking("r-5")).await, first, "the first does not wait any more");
    assert_eq!(forge.submit(asking("r-1")).await, first, "an id stays the same job");
    assert_eq!(
        forge.submit(Request { port: 9_001, ..asking("r-2") }).await,
        first,
        "and so does one that was collapsed"
    );
    running.stop().await;
}

/// Whoever asks last must find what he asked for: nothing is collapsed across another request, or into one that has begun.
#[tokio::test]
async fn nothing_is_collapsed_across_another_content_or_into_what_runs() {
    let forge = Forge::scripted("[ -e \"$DIR/open\" ] || read -r _ < \"$DIR/gate\"; exec \"$REAL\"").await;
    assert!(Command::new("mkfifo").arg(forge.path("gate")).status().unwrap().success());
    turnwise_forge::register(&forge.engine, &forge.settings);
    let asking = |id: &str, port| Request { port, collapse: true, ..request(id, "notes") };
    let first = forge.submit(asking("r-1", 1)).await;
    assert_eq!(forge.submit(asking("r-2", 1)).await, first);
    let other = forge.submit(asking("r-3", 2)).await;
    let back = forge.submit(asking("r-4", 1)).await;
    assert!(back != first && back != other, "the port would stay 2");
    assert_eq!(forge.submit(asking("r-5", 1)).await, back, "nothing is between these two");
    assert_ne!(forge.submit(request("r-6", "wiki")).await, back);
    let running = forge.engine.start().await.unwrap();
    let head = forge.submit(asking("r-7", 1)).await;
    assert_eq!(head, back);
    let alone = forge.submit(Request { collapse: true, ..request("r-8", "blog") }).await;
    forge.reaches(alone, State::Running).await;
    let next = forge.submit(Request { collapse: true, ..request("r-9", "blog") }).await;
    assert_ne!(next, alone, "it has begun");
    assert_eq!(forge.submit(Request { collapse: true, ..request("r-10", "blog") }).await, next);
    std::fs::write(forge.path("open"), "").unwrap();
    // Opened for both, it waits for no reader; and whoever still comes to it finds a line.
    let mut gate = std::fs::OpenOptions::new().read(true).write(true).open(forge.path("gate")).unwrap();
    gate.write_all(&[b'\n'; 64]).unwrap();
    tokio::time::timeout(PATIENCE, forge.engine.drain()).await.unwrap().unwrap();
    assert_eq!(forge.commits("notes"), ["r-1", "r-3", "r-4"]);
    running.stop().await;
}

/// A phase that dies itself, as when memory runs out: what it had started went on with the lock of the repository in its
/// hands, and the retry waited for it.
#[tokio::test]
async fn what_a_dead_phase_has_started_dies_with_it() {
    let script = "[ -e \"$DIR/pid\" ] || { sleep 600 > /dev/null 2>&1 & echo $! > \"$DIR/pid\"; kill -9 $$; }\n\
                  exec \"$REAL\"";
    let forge = Forge::scripted(script).await;
    let running = forge.start().await;
    let view = forge.ended(forge.submit(request("r-1", "notes")).await).await;
    assert_eq!((view.state, view.attempt), (State::Done, 2), "{:?}", view.errors);
    assert!(view.errors[0].error.contains("SIGKILL"), "{:?}", view.errors);
    let pid: u32 = std::fs::read_to_string(forge.path("pid")).unwrap().trim().parse().unwrap();
    assert!(!is_alive(pid), "the attempt ended before what it had started");
    running.stop().await;
}

/// Both are decided where the job is accepted: looking first and submitting then would let two through.
#[tokio::test]
async fn requests_that_come_at_once_are_one_by_id_and_by_content() {
    let forge = Forge::new().await;
    turnwise_forge::register(&forge.engine, &forge.settings);
    let same_id =
        (0..20).map(|port| Request { port: 9_000 + port, collapse: true, ..request("r-1", "notes") });
    let same_content =
        (0..20).map(|number| Request { collapse: true, ..request(&format!("s-{number}"), "wiki") });
    for requests in [same_id.collect::<Vec<_>>(), same_content.collect()] {
        let submits = requests.into_iter().map(|request| forge.submit(request));
        let jobs = join_all(submits).await;
        assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
    }
}

#[tokio::test]
async fn an_id_of_another_owner_is_refused() {
    let forge = Forge::new().await;
    turnwise_forge::register(&forge.engine, &forge.settings);
    forge.submit(request("r-1", "notes")).await;
    let other = Request { owner: "somebody-else".into(), ..request("r-1", "notes") };
    let refused = turnwise_forge::submit(&forge.engine, &forge.settings, other).await.unwrap_err();
    assert!(refused.to_string().contains("`r-1` belongs to another owner"), "{refused}");
}

/// A retry began again with the first phase.
#[tokio::test]
async fn weak_point_7_a_retry_goes_on_at_the_phase_that_was_not_finished() {
    let forge = Forge::scripted(&failing_on(4, "GIT")).await;
    let running = forge.start().await;
    let view = forge.reaches(forge.submit(request("r-1", "notes")).await, State::Done).await;
    assert_eq!(view.attempt, 2);
    assert_eq!(view.errors[0].error, "GIT: broken (in GIT_OPERATIONS)", "the phase is known, not guessed");
    // Three phases, the fourth twice, the fifth.
    assert_eq!(std::fs::read_to_string(forge.path("count")).unwrap().trim(), "6");
    running.stop().await;
}

/// One worker for everything: services that had nothing to do with each other waited for each other.
#[tokio::test]
async fn weak_point_8_other_services_run_side_by_side() {
    let forge = Forge::scripted("[ -e \"$DIR/open\" ] || read -r _ < \"$DIR/gate\"; exec \"$REAL\"").await;
    assert!(Command::new("mkfifo").arg(forge.path("gate")).status().unwrap().success());
    let running = forge.start().await;
    let one = forge.submit(request("r-1", "notes")).await;
    let behind = forge.submit(request("r-2", "notes")).await;
    let other = forge.submit(request("r-3", "wiki")).await;
    forge.reaches(one, State::Running).await;
    forge.reaches(other, State::Running).await;
    assert_eq!(forge.engine.job(behind).await.unwrap().unwrap().state, State::Waiting);
    std::fs::write(forge.path("open"), "").unwrap();
    let gate = forge.path("gate");
    // A line for each that stands there, and held open until all have passed: whoever comes late passes too.
    let opened = tokio::task::spawn_blocking(move || {
        let mut gate = std::fs::OpenOptions::new().write(true).open(gate)?;
        gate.write_all(b"pass\npass\npass\n")?;
        std::io::Result::Ok(gate)
    });
    let gate = opened.await.unwrap().unwrap();
    for job in [one, behind, other] {
        assert_eq!(forge.ended(job).await.state, State::Done);
    }
    drop(gate);
    running.stop().await;
}

#[tokio::test]
async fn the_class_alone_decides_whether_it_is_tried_again() {
    for (class, attempts) in [
        ("VALIDATION", 1),
        ("NOT_FOUND", 1),
        ("AUTHORIZATION", 1),
        ("TIMEOUT", 1),
        ("MIGRATION_ISSUES", 1),
        ("GIT", 2),
        ("DNS", 2),
        ("INTERNAL", 2),
    ] {
        let forge = Forge::scripted(&failing_on(1, class)).await;
        let running = forge.start().await;
        let job = forge.submit(request("r-1", "notes")).await;
        assert_eq!(forge.ended(job).await.attempt, attempts, "{class}");
        running.stop().await;
    }
}

#[tokio::test]
async fn what_always_fails_ends_after_ten_attempts() {
    let mut forge = Forge::scripted("echo complaint >&2; exit 3").await;
    forge.settings.retry = millis(1);
    let running = forge.start().await;
    let job = forge.submit(request("r-1", "notes")).await;
    let view = forge.ended(job).await;
    assert_eq!((view.state, view.attempt), (State::Dead, 10));
    assert!(view.errors[0].error.contains("complaint"), "{:?}", view.errors[0]);
    running.stop().await;
}

#[tokio::test]
async fn a_cancelled_request_is_killed_with_all_that_it_started() {
    let forge =
        Forge::scripted("sleep 600 & echo $! > \"$DIR/half\"; mv \"$DIR/half\" \"$DIR/pid\"; wait").await;
    let running = forge.start().await;
    let job = forge.submit(request("r-1", "notes")).await;
    let begin = Instant::now();
    while !forge.path("pid").exists() {
        assert!(begin.elapsed() < PATIENCE, "no phase began");
        tokio::task::yield_now().await;
    }
    forge.engine.cancel(job).await.unwrap();
    assert_eq!(forge.ended(job).await.state, State::Cancelled);
    let pid: u32 = std::fs::read_to_string(forge.path("pid")).unwrap().trim().parse().unwrap();
    while is_alive(pid) {
        assert!(begin.elapsed() < PATIENCE, "what the phase started lives on");
        tokio::task::yield_now().await;
    }
    running.stop().await;
}

#[tokio::test]
async fn clearing_counts_before_and_after_and_touches_nothing_that_runs() {
    let forge = Forge::scripted("read -r _ < \"$DIR/gate\"; exec \"$REAL\"").await;
    assert!(Command::new("mkfifo").arg(forge.path("gate")).status().unwrap().success());
    let running = forge.start().await;
    let head = forge.submit(request("r-1", "notes")).await;
    forge.reaches(head, State::Running).await;
    for id in ["r-2", "r-3", "r-4"] {
        forge.submit(request(id, "notes")).await;
    }
    let cleared = turnwise_forge::clear(&forge.engine, What::Waiting).await.unwrap();
    assert_eq!((cleared.before.waiting, cleared.after.waiting, cleared.cleared), (3, 0, 3));
    assert_eq!((cleared.before.active, cleared.after.active), (1, 1));
    forge.engine.cancel(head).await.unwrap();
    assert_eq!(forge.ended(head).await.state, State::Cancelled);
    running.stop().await;
}

#[tokio::test]
async fn failed_and_completed_requests_are_forgotten_when_asked() {
    let forge = Forge::scripted(&failing_on(1, "VALIDATION")).await;
    let running = forge.start().await;
    let dead = forge.submit(request("r-1", "notes")).await;
    assert_eq!(forge.ended(dead).await.state, State::Dead);
    let done = forge.submit(request("r-2", "notes")).await;
    assert_eq!(forge.ended(done).await.state, State::Done);
    let failed = turnwise_forge::clear(&forge.engine, What::Failed).await.unwrap();
    assert_eq!((failed.before.failed, failed.after.failed, failed.after.completed), (1, 0, 1));
    let completed = turnwise_forge::clear(&forge.engine, What::Completed).await.unwrap();
    assert_eq!((completed.before.completed, completed.after.completed, completed.cleared), (1, 0, 1));
    assert_eq!(forge.commits("notes"), ["r-2"], "commits stay");
    running.stop().await;
}

/// Whoever is killed cannot kill anybody: the phase sees that its input has ended, and takes its group along.
#[test]
fn a_phase_ends_with_whoever_ordered_it() {
    let folder = tempfile::tempdir().unwrap();
    let repositories = folder.path().join("repositories");
    std::fs::create_dir_all(&repositories).unwrap();
    // Somebody holds the lock of the service, so that the phase would wait for ever.
    let lock = std::fs::File::create(repositories.join("notes.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let order = json!({
        "phase": "API_GENERATION", "request": request("r-1", "notes"), "accepted": 0, "fence": 1,
        "folder": folder.path(), "origin": "example.test.", "address": "127.0.0.1", "server": null, "made": {},
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_turnwise-forge-phase"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{order}").unwrap();
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.signal(), Some(9), "{}", String::from_utf8_lossy(&ended.stdout));
}
