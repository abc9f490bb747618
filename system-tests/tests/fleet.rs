//! A fleet of real processes over real servers, with everything that goes wrong in one: processes killed and stopped in
//! their tracks, servers restarted and flushed. The history that the handlers wrote is checked by a checker, not by eye.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::process::{Pid, Signal, kill_process};
use system_tests::history::{Entry, What, faults};
use turnwise_servers::poll::until;
use turnwise_servers::{Postgres, RabbitMq, Redis};

const PLACES: usize = 3;
/// Jobs that must have been accepted before it ends.
const JOBS: usize = 20_000;
/// Misfortunes, at least.
const ROUNDS: u64 = 14;
/// The session of a victim.
const SESSION: Duration = Duration::from_secs(3);
/// How long the fleet may take to get over something.
const PATIENCE: Duration = Duration::from_secs(120);

struct Fleet {
    postgres: Postgres,
    rabbitmq: RabbitMq,
    redis: Redis,
    directory: tempfile::TempDir,
    nodes: Vec<Child>,
    life: u32,
}

impl Fleet {
    fn start() -> Self {
        let mut fleet = Fleet {
            postgres: Postgres::start().unwrap(),
            rabbitmq: RabbitMq::start().unwrap(),
            redis: Redis::start().unwrap(),
            directory: tempfile::tempdir().unwrap(),
            nodes: Vec::new(),
            life: 0,
        };
        for place in 0..PLACES {
            let node = fleet.node(place, false);
            fleet.nodes.push(node);
        }
        fleet
    }

    fn node(&mut self, place: usize, finish: bool) -> Child {
        self.life += 1;
        let mut command = Command::new(env!("CARGO_BIN_EXE_victim"));
        command
            .arg(self.directory.path())
            .arg(self.life.to_string())
            .args(finish.then_some("finish"))
            .env("VICTIM_PLACE", place.to_string())
            .env("TURNWISE_POSTGRES", self.postgres.url())
            .env("TURNWISE_RABBITMQ", self.rabbitmq.url())
            .env("TURNWISE_REDIS", self.redis.url())
            .stdout(Stdio::null());
        command.spawn().unwrap()
    }

    fn kill(&mut self, place: usize) {
        self.nodes[place].kill().unwrap();
        self.nodes[place].wait().unwrap();
    }

    fn signal(&self, place: usize, signal: Signal) {
        let pid = Pid::from_child(&self.nodes[place]);
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended.
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

fn history(directory: &Path) -> Vec<Entry> {
    let log = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
    // The last line may be half written by somebody who is writing it now.
    log.lines().filter_map(|line| line.parse().ok()).collect()
}

fn accepted(directory: &Path) -> usize {
    let weight = |entry: &Entry| match entry.kind.as_str() {
        "batch" => entry.number as usize + 1,
        "parent" => 2,
        _ => 1,
    };
    history(directory).iter().filter(|entry| entry.what == What::Accepted).map(weight).sum()
}

/// Lets the fleet work until so many more jobs were accepted. Nobody may end by himself; a place may be empty.
fn work(fleet: &mut Fleet, more: usize, empty: Option<usize>) {
    let goal = accepted(fleet.directory.path()) + more;
    let worked = until("accepting further jobs", PATIENCE, || {
        for (place, node) in fleet.nodes.iter_mut().enumerate().filter(|(place, _)| Some(*place) != empty) {
            ensure!(node.try_wait()?.is_none(), "node {place} ended by itself");
        }
        Ok((accepted(fleet.directory.path()) >= goal).then_some(()))
    });
    worked.unwrap();
}

#[test]
#[ignore = "it fails now and then, and it is not known yet why (issue 3): run it with --run-ignored all"]
fn whatever_goes_wrong_a_fleet_keeps_its_promises() {
    let mut fleet = Fleet::start();
    work(&mut fleet, 500, None);
    let mut round = 0;
    while round < ROUNDS || accepted(fleet.directory.path()) < JOBS {
        let place = round as usize % PLACES;
        match round % 7 {
            // The leader dies sooner or later: every place is hit.
            0 | 2 | 4 => {
                fleet.kill(place);
                work(&mut fleet, 300, Some(place));
                fleet.nodes[place] = fleet.node(place, false);
            }
            // Longer than its session: it wakes up with claims that are not its own any more.
            1 => {
                fleet.signal(place, Signal::STOP);
                let stopped = Instant::now();
                let over = || Ok((stopped.elapsed() > SESSION + Duration::from_secs(2)).then_some(()));
                until("its session", PATIENCE, over).unwrap();
                fleet.signal(place, Signal::CONT);
            }
            3 => fleet.rabbitmq.restart().unwrap(),
            5 => fleet.postgres.restart().unwrap(),
            _ => fleet.redis.flush().unwrap(),
        }
        work(&mut fleet, 600, None);
        round += 1;
    }
    (0..PLACES).for_each(|place| fleet.kill(place));
    let last = fleet.node(0, true);
    fleet.nodes[0] = last;
    let ended = until("finishing what was accepted", PATIENCE, || Ok(fleet.nodes[0].try_wait()?)).unwrap();
    assert!(ended.success());
    let entries = history(fleet.directory.path());
    assert!(accepted(fleet.directory.path()) >= JOBS);
    let found = faults(&entries);
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}
