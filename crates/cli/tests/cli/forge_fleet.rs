//! The forge in global order: two workers, one lease, and a leader that is killed in every phase.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use turnwise_servers::poll::until;

use crate::fleet::Fleet;
use crate::forge::request;
use crate::harness::Up;

const PATIENCE: Duration = Duration::from_secs(120);
/// How long the lease lasts here.
const LEASE: Duration = Duration::from_millis(3_000);
/// What the machine may add to a time that is promised.
const SLACK: Duration = Duration::from_millis(1_500);
const REQUESTS: usize = 50;
const SERVICES: usize = 5;
const PHASES: [&str; 5] =
    ["API_GENERATION", "FRONTEND_GENERATION", "DEVOPS_GENERATION", "GIT_OPERATIONS", "DNS_UPDATE"];

/// A fleet whose first node serves and plans, and whose other nodes work.
struct World {
    fleet: Fleet,
    home: tempfile::TempDir,
    started: usize,
}

/// A node that works, and what it logs.
struct Worker {
    up: Up,
    killed: bool,
}

impl World {
    fn new() -> World {
        World { fleet: Fleet::new(), home: tempfile::tempdir().unwrap(), started: 0 }
    }

    fn forge(&self) -> PathBuf {
        self.home.path().join("forge")
    }

    fn node(&self, name: &str, start: impl FnOnce(&Path, &[(&str, &str)]) -> Up) -> Up {
        let (folder, ttl) = (self.forge(), LEASE.as_millis().to_string());
        let settings = self.fleet.variables(&[
            ("TURNWISE_FORGE_FOLDER", folder.to_str().unwrap()),
            ("TURNWISE_FORGE_ORDER", "global"),
            ("TURNWISE_FORGE_RETRY", "100ms"),
            ("TURNWISE_SESSION", "3s"),
            ("TURNWISE_NODE", name),
            ("COMPUTE_QUEUE_LEADER_KEY", "locks:forge:test"),
            ("COMPUTE_QUEUE_LEADER_TTL_MS", &ttl),
            ("COMPUTE_QUEUE_LEADER_RENEW_MS", "1000"),
        ]);
        start(&self.home.path().join(name), &settings)
    }

    fn api(&self) -> Up {
        let arguments = ["--roles", "api,scheduler", "--log", "json"];
        self.node("api", |data, settings| Up::on(data, &arguments, settings))
    }

    fn worker(&mut self) -> Worker {
        self.started += 1;
        let name = format!("worker-{}", self.started);
        let arguments = ["--roles", "worker", "--log", "json"];
        let up = self.node(&name, |data, settings| Up::without_a_server(data, &arguments, settings));
        Worker { up, killed: false }
    }

    /// A lock of the forge that the test holds.
    fn held(&self, folder: &str, name: &str) -> std::fs::File {
        let folder = self.forge().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let lock = std::fs::File::create(folder.join(name)).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        lock
    }

    /// The requests that are committed for a service, in order.
    fn commits(&self, service: &str) -> Vec<String> {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.forge().join(format!("repositories/{service}.git")))
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
}

impl Worker {
    fn lines(&self) -> Vec<Value> {
        self.up.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn messages(&self) -> Vec<String> {
        self.lines().iter().filter_map(|line| Some(line["message"].as_str()?.to_owned())).collect()
    }

    fn said(&self, message: &str) -> bool {
        self.messages().iter().any(|said| said == message)
    }

    /// Whether it holds the lease, as far as its log tells.
    fn leads(&self) -> bool {
        let messages = self.messages();
        let last = messages.iter().rfind(|message| message.starts_with("Leader election"));
        !self.killed && last.is_some_and(|message| message == "Leader election acquired")
    }

    /// The phase that it is in, if it is in one.
    fn phase(&self) -> Option<&'static str> {
        let messages = self.messages();
        let last = messages.iter().rfind(|message| PHASES.iter().any(|phase| message.starts_with(phase)))?;
        PHASES.into_iter().find(|phase| *last == format!("{phase} Started"))
    }
}

fn submit(api: &Up, request: &Value) -> String {
    let sent = ureq::post(api.url("/api/v1/forge/requests")).header("authorization", api.bearer());
    let mut answer = sent.send_json(request).unwrap();
    assert_eq!(answer.status().as_u16(), 202);
    answer.body_mut().read_json::<Value>().unwrap()["job"].as_str().unwrap().to_owned()
}

/// Waits until one of the workers leads.
fn leader(workers: &[Worker]) -> usize {
    until("a leader", PATIENCE, || Ok(workers.iter().position(Worker::leads))).unwrap()
}

/// Waits until everything has ended, and well.
fn all_completed(api: &Up, count: usize) {
    let done = || {
        let line = api.get("/api/v1/forge/queue");
        assert_eq!(line["counts"]["failed"], 0, "{line:#}");
        Ok((line["counts"]["completed"] == count).then_some(()))
    };
    until("completing all requests", PATIENCE, done).unwrap();
}

#[test]
fn a_leader_killed_in_every_phase_costs_time_and_neither_order_nor_effects() {
    let mut world = World::new();
    let api = world.api();
    let mut workers = vec![world.worker(), world.worker()];
    leader(&workers);
    // The last phase is short: it is held up until a leader was killed in it.
    let mut held = Some(world.held("zones", "example.test.lock"));
    let service = |number: usize| format!("service-{}", number % SERVICES);
    let jobs: Vec<String> = (0..REQUESTS)
        .map(|number| submit(&api, &request(&format!("r-{number:02}"), &service(number))))
        .collect();

    let mut left: BTreeSet<&str> = PHASES.into_iter().collect();
    let mut takeovers = Vec::new();
    while !left.is_empty() {
        let leading = leader(&workers);
        let wanted =
            until("a phase", PATIENCE, || Ok(workers[leading].phase().filter(|phase| left.contains(phase))));
        wanted.unwrap();
        workers[leading].up.signal(Signal::KILL);
        let killed = Instant::now();
        workers[leading].up.ended();
        workers[leading].killed = true;
        // It may have gone on between the look and the kill: what its log ends with is what was killed.
        if let Some(phase) = workers[leading].phase() {
            left.remove(phase);
            held = held.filter(|_| phase != "DNS_UPDATE");
        }
        leader(&workers);
        takeovers.push(killed.elapsed());
        workers.push(world.worker());
    }
    println!("takeovers: {takeovers:?}");
    assert!(takeovers.iter().all(|taken| *taken <= LEASE + SLACK), "{takeovers:?}");
    all_completed(&api, REQUESTS);

    for number in 0..SERVICES {
        let wanted: Vec<String> =
            (number..REQUESTS).step_by(SERVICES).map(|at| format!("r-{at:02}")).collect();
        assert_eq!(world.commits(&service(number)), wanted, "each commit once, in order");
    }
    let ended: Vec<i64> =
        jobs.iter().map(|job| api.get(&format!("/api/v1/jobs/{job}"))["at"].as_i64().unwrap()).collect();
    assert!(ended.is_sorted(), "one at a time, in order: {ended:?}");
    let zone = world.forge().join("zones/example.test.zone");
    let judged = Command::new("named-checkzone").arg("example.test").arg(&zone).output().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(
        judged.status.success() && said.contains(&format!("loaded serial {REQUESTS}")),
        "each change once: {said}"
    );
    let records = std::fs::read_to_string(&zone).unwrap();
    assert_eq!(records.lines().filter(|line| line.starts_with("service-")).count(), SERVICES);
    told_in_order(&workers);
    traced(&workers);
}

/// Whoever takes over says so in this order, and goes on with the jobs after that.
fn told_in_order(workers: &[Worker]) {
    let wanted = [
        "Leader election acquired",
        "computeGenerationQueue scheduler ready",
        "computeGenerationWorker initialized",
    ];
    let leaders: Vec<&Worker> = workers.iter().filter(|worker| worker.said(wanted[0])).collect();
    assert!(leaders.len() > PHASES.len(), "one after the other led");
    for worker in leaders {
        let messages = worker.messages();
        let begin = messages.iter().position(|message| message == wanted[0]).unwrap();
        assert_eq!(messages[begin..begin + 3], wanted);
        let active = messages.iter().position(|message| message == "computeGenerationWorker job active");
        assert!(active.is_none_or(|active| active > begin + 2), "nothing runs before it leads");
        let lines = worker.lines();
        let acquired = lines.iter().find(|line| line["message"] == wanted[0]).unwrap();
        assert_eq!((&acquired["key"], &acquired["ttlMs"]), (&json!("locks:forge:test"), &json!(3_000)));
        assert!(acquired["leaderId"].is_string() && acquired["traceId"] == "compute-queue", "{acquired}");
    }
}

/// Every request has one trace id, whoever worked for it.
fn traced(workers: &[Worker]) {
    let lines: Vec<Value> = workers.iter().flat_map(Worker::lines).collect();
    for number in 0..REQUESTS {
        let trace = format!("trace-r-{number:02}");
        let of_it: Vec<&Value> = lines.iter().filter(|line| line["traceId"] == trace).collect();
        let completed =
            |phase: &&str| of_it.iter().any(|line| line["message"] == format!("{phase} Completed"));
        let missing: Vec<&&str> = PHASES.iter().filter(|phase| !completed(phase)).collect();
        assert!(missing.is_empty(), "{trace} lacks {missing:?}");
        assert!(
            of_it.iter().any(|line| line["message"] == "computeGenerationWorker job completed"),
            "{trace}"
        );
    }
}

/// A leader that could not reach the lease went on leading, and its work ran on beside that of the next.
#[test]
fn weak_points_1_and_2_a_leader_that_lost_its_lease_is_fenced_and_its_work_is_killed() {
    let mut world = World::new();
    let api = world.api();
    let workers = [world.worker(), world.worker()];
    let old = leader(&workers);
    let new = 1 - old;
    // The phases of this service wait for a lock that the test holds.
    let lock = world.held("repositories", "notes.lock");
    let job = submit(&api, &request("r-1", "notes"));
    submit(&api, &request("r-2", "notes"));
    until("the first phase", PATIENCE, || Ok(workers[old].phase())).unwrap();
    let children =
        until("its process", PATIENCE, || Ok(Some(children_of(&workers[old])).filter(|all| !all.is_empty())));
    let children = children.unwrap();

    workers[old].up.signal(Signal::STOP);
    until("another leader", PATIENCE, || Ok(workers[new].leads().then_some(()))).unwrap();
    until("the same job there", PATIENCE, || Ok(workers[new].phase())).unwrap();
    workers[old].up.signal(Signal::CONT);
    until("the end of the old one", PATIENCE, || Ok(workers[old].said("Leader election lost").then_some(())))
        .unwrap();
    until("the end of its work", PATIENCE, || {
        Ok(children.iter().all(|child| !is_alive(*child)).then_some(()))
    })
    .unwrap();
    drop(lock);
    all_completed(&api, 2);
    assert_eq!(world.commits("notes"), ["r-1", "r-2"]);
    assert!(!workers[old].said("API_GENERATION Completed"), "what it did does not count");
    let lost =
        workers[old].lines().into_iter().find(|line| line["message"] == "Leader election lost").unwrap();
    assert_eq!(
        (&lost["key"], &lost["reason"]),
        (&json!("locks:forge:test"), &json!("lease-extension-failed"))
    );
    let status = api.get(&format!("/api/v1/forge/requests/{job}"));
    let stale = &status["errors"][0];
    assert_eq!(stale["class"], "STALE", "{status:#}");
    assert!(
        stale["age_seconds"].as_f64().unwrap() > 0.0
            && stale["text"].as_str().unwrap().contains("no heartbeat")
    );
}

/// The processes that a worker has started.
fn children_of(worker: &Worker) -> Vec<u32> {
    let id = worker.up.id();
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

fn is_alive(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}
