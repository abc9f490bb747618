//! What one worker or one owner suffers does not stop the others, and more workers do more.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use system_tests::troubles::{Crunch, Keep, Poison, Stuck, config_of};
use turnwise::{Cause, Engine, Event, Job, PostgresOptions, Roles, State, Submit};
use turnwise_servers::{Vhost, shared};

const PATIENCE: Duration = Duration::from_secs(120);
/// The leases and sessions of these tests last so long.
const LEASE: Duration = Duration::from_secs(3);
/// What the machine may add to a time that the engine promises.
const SLACK: Duration = Duration::from_secs(1);

/// A fleet whose api is this process. It leaves nothing behind.
struct Fleet {
    postgres: String,
    vhost: Vhost,
    schema: String,
    directory: tempfile::TempDir,
    api: Engine,
    nodes: Vec<Child>,
}

impl Fleet {
    async fn new() -> Self {
        let (postgres, vhost) = (shared::postgres().unwrap(), shared::vhost().unwrap());
        let schema = format!("troubles_{}", getrandom::u64().unwrap());
        let config = config_of(&postgres, vhost.url(), &schema).node("api");
        let api = Engine::open(config.roles(Roles { api: true, ..Roles::NONE })).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut fleet = Fleet { postgres, vhost, schema, directory, api, nodes: Vec::new() };
        let planner = fleet.command("planner", "scheduler", 1, &[]);
        fleet.start(planner);
        fleet
    }

    /// A node, perhaps inside another program.
    fn command(&self, name: &str, roles: &str, slots: u32, inside: &[&str]) -> Command {
        let own = self.directory.path().join(name);
        std::fs::create_dir_all(&own).unwrap();
        let words: Vec<&str> = inside.iter().copied().chain([env!("CARGO_BIN_EXE_node")]).collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .args([name, roles, &slots.to_string()])
            .arg(&own)
            .env("TURNWISE_POSTGRES", &self.postgres)
            .env("TURNWISE_RABBITMQ", self.vhost.url())
            .env("TURNWISE_SCHEMA", &self.schema);
        command
    }

    /// Starts a node, and waits until it is up. Its place.
    fn start(&mut self, mut command: Command) -> usize {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        self.nodes.push(child);
        self.nodes.len() - 1
    }

    fn worker(&mut self, name: &str, slots: u32) -> usize {
        let worker = self.command(name, "worker", slots, &[]);
        self.start(worker)
    }

    fn kill(&mut self, place: usize) {
        self.nodes[place].kill().unwrap();
        self.nodes[place].wait().unwrap();
    }

    /// Submits a batch and waits for its end. How long it took.
    async fn batch<J: Job>(&self, jobs: impl Iterator<Item = Submit<J>> + Send + 'static) -> Duration {
        let began = Instant::now();
        let batch = self.api.batch("batch").jobs(jobs).submit().await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.api.wait_batch(batch.id)).await.unwrap().unwrap();
        assert_eq!(ended.batch.done, ended.batch.total, "{ended:?}");
        began.elapsed()
    }

    /// The name of the node that leads, and its term.
    async fn leader(&self) -> Option<(String, u64)> {
        let seen = self.api.nodes().await.unwrap();
        let leader = seen.nodes.into_iter().find(|node| node.leads && node.alive)?;
        let lease = seen.leases.into_iter().find(|lease| lease.lease.name.as_str() == "scheduler")?;
        Some((leader.node.to_string(), lease.lease.term))
    }

    /// Waits until somebody else leads than before, under a new term. How long that took.
    async fn succession(&self, before: &(String, u64)) -> Duration {
        let began = Instant::now();
        loop {
            if let Some((name, term)) = self.leader().await
                && name != before.0
            {
                assert!(term > before.1, "an old term leads again");
                return began.elapsed();
            }
            assert!(began.elapsed() < PATIENCE, "nobody leads");
            // The end of a lease is noticed by the store's clock, not by a commit.
            let _ = tokio::time::timeout(Duration::from_millis(20), self.api.next_commit()).await;
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended.
            let _ = node.kill();
            let _ = node.wait();
        }
        let database =
            PostgresOptions { schema: self.schema.clone(), ..PostgresOptions::new(&self.postgres) };
        turnwise::remove_schema(&database).unwrap();
    }
}

fn keep(numbers: std::ops::Range<u64>, owner: &'static str) -> impl Iterator<Item = Submit<Keep>> + Send {
    numbers.map(move |number| Keep { number }.owner(owner))
}

/// Who ran what is told by the events.
#[tokio::test]
async fn a_drained_worker_leaves_everything_to_the_others() {
    let mut fleet = Fleet::new().await;
    fleet.worker("one", 4);
    fleet.worker("two", 4);
    for (number, (drained, other)) in [("one", "two"), ("two", "one")].into_iter().enumerate() {
        fleet.api.drain_node(drained).await.unwrap();
        if number > 0 {
            fleet.api.resume_node(other).await.unwrap();
        }
        let from = fleet.api.latest().await.unwrap();
        let number = number as u64 * 40;
        fleet.batch(keep(number..number + 40, "all")).await;
        let seen = fleet.api.nodes().await.unwrap();
        let session = seen.nodes.iter().find(|node| *node.node == *other).unwrap().session;
        let (events, _) = fleet.api.events(from, 1_000).await.unwrap();
        let claims = events.iter().filter_map(|stored| match &stored.event {
            Event::Job { cause: Cause::Claimed { session, .. }, .. } => Some(*session),
            _ => None,
        });
        let claims: Vec<_> = claims.collect();
        assert!(
            claims.len() >= 40 && claims.iter().all(|by| *by == session),
            "only {other} may begin: {claims:?}"
        );
    }
}

/// The tests run beside it would take the processors that it measures: see `.config/nextest.toml`.
#[tokio::test]
async fn two_workers_are_almost_twice_as_fast_as_one() {
    let mut fleet = Fleet::new().await;
    let crunches = |count| (0..count).map(|number| Crunch { number, ms: 200 }.into());
    fleet.worker("one", 1);
    // The first jobs find everything cold.
    fleet.batch(crunches(5)).await;
    let alone = fleet.batch(crunches(30)).await;
    fleet.worker("two", 1);
    fleet.batch(crunches(5)).await;
    let together = fleet.batch(crunches(30)).await;
    let ratio = alone.as_secs_f64() / together.as_secs_f64();
    println!("one worker {alone:?}, two {together:?}: {ratio:.2} times as fast");
    assert!(ratio >= 1.8, "two workers were only {ratio:.2} times as fast as one");
}

#[tokio::test]
async fn a_poison_job_kills_its_workers_and_ends_dead() {
    let mut fleet = Fleet::new().await;
    fleet.worker("healthy", 2);
    let sick = fleet.worker("sick", 2);
    let poison = fleet.api.submit(Poison {}).await.unwrap();
    let others = fleet.api.batch("others").jobs(keep(0..200, "ada")).submit().await.unwrap();
    // Whoever dies is started again, as a service manager does it.
    let began = Instant::now();
    let dead = loop {
        let job = fleet.api.job(poison).await.unwrap().unwrap();
        if job.state == State::Dead {
            break job;
        }
        assert!(began.elapsed() < PATIENCE, "{job:?}");
        for place in [1, sick] {
            if fleet.nodes[place].try_wait().unwrap().is_some() {
                // It may meet the poison before it can say that it is up.
                fleet.nodes[place] =
                    fleet.command("again", "worker", 2, &[]).stdout(Stdio::null()).spawn().unwrap();
            }
        }
        // A dead worker is noticed by the store's clock, not by a commit.
        let _ = tokio::time::timeout(Duration::from_millis(100), fleet.api.next_commit()).await;
    };
    assert_eq!(dead.errors.len(), 4, "three rescues, and the one that was too many: {dead:?}");
    let ended = tokio::time::timeout(PATIENCE, fleet.api.wait_batch(others.id)).await.unwrap().unwrap();
    assert_eq!((ended.batch.done, ended.batch.total), (200, 200));
}

#[tokio::test]
async fn a_stuck_owner_stops_nobody_else() {
    let mut fleet = Fleet::new().await;
    fleet.worker("one", 2);
    fleet.worker("two", 2);
    let stuck = (0..100).map(|_| Submit::from(Stuck {}).limit_key("stuck").owner("stuck"));
    fleet.api.submit_all(stuck).await.unwrap();
    fleet.batch(keep(0..100, "ada")).await;
    let left = fleet.api.backlog().await.unwrap();
    assert!(left > 0, "nobody was stuck");
}

#[tokio::test]
async fn a_full_disk_of_one_worker_stops_nobody_else() {
    let mut fleet = Fleet::new().await;
    let small = fleet.directory.path().join("small");
    std::fs::create_dir_all(&small).unwrap();
    // Room for three files: a disk that exists for this process alone, and goes with it.
    let script = format!("mount -t tmpfs -o size=1m tmpfs '{}' && exec \"$@\"", small.display());
    let inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
    let small = fleet.command("small", "worker", 2, &inside);
    fleet.start(small);
    let spacious = fleet.worker("spacious", 2);
    fleet.batch(keep(0..100, "ada")).await;
    let written = |name: &str| files(&fleet.directory.path().join(name));
    assert!(written("spacious") >= 90, "{} files", written("spacious"));
    assert!(fleet.nodes[spacious].try_wait().unwrap().is_none());
    assert!(fleet.nodes[1].try_wait().unwrap().is_none(), "a full disk ended its worker");
    fleet.kill(1);
}

fn files(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[tokio::test]
async fn another_scheduler_takes_over_in_time() {
    let mut fleet = Fleet::new().await;
    let second = fleet.command("second", "scheduler", 1, &[]);
    let second = fleet.start(second);
    fleet.worker("worker", 2);
    fleet.batch(keep(0..20, "ada")).await;
    let first = fleet.leader().await.unwrap();
    assert_eq!(first.0, "planner");
    fleet.kill(0);
    let took = fleet.succession(&first).await;
    println!("after a kill: {took:?}");
    assert!(took <= LEASE + SLACK, "{took:?}");
    fleet.batch(keep(20..40, "ada")).await;
    // Whoever says farewell hands over at once.
    let third = fleet.command("third", "scheduler", 1, &[]);
    fleet.start(third);
    let before = fleet.leader().await.unwrap();
    assert_eq!(before.0, "second");
    kill_process(Pid::from_child(&fleet.nodes[second]), Signal::TERM).unwrap();
    let took = fleet.succession(&before).await;
    println!("after a farewell: {took:?}");
    assert!(took <= SLACK, "{took:?}");
    assert!(fleet.nodes[second].wait().unwrap().success());
    fleet.batch(keep(40..60, "ada")).await;
}

#[tokio::test]
async fn the_jobs_of_a_dead_worker_are_rescued_in_time() {
    let mut fleet = Fleet::new().await;
    let worker = fleet.worker("mortal", 1);
    let job = fleet.api.submit(Crunch { number: 0, ms: 60_000 }).await.unwrap();
    let began = Instant::now();
    while fleet.api.job(job).await.unwrap().unwrap().state != State::Running {
        assert!(began.elapsed() < PATIENCE);
        let _ = tokio::time::timeout(Duration::from_millis(100), fleet.api.next_commit()).await;
    }
    fleet.kill(worker);
    let died = Instant::now();
    while fleet.api.job(job).await.unwrap().unwrap().errors.is_empty() {
        assert!(died.elapsed() < PATIENCE, "it was never rescued");
        let _ = tokio::time::timeout(Duration::from_millis(20), fleet.api.next_commit()).await;
    }
    let took = died.elapsed();
    println!("rescued after {took:?}");
    assert!(took <= LEASE + SLACK, "{took:?}");
}
