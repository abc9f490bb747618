//! A fleet of real processes over real servers, with everything that goes wrong in one: processes killed and stopped in
//! their tracks, servers restarted and flushed, connections cut, slowed and silenced. The history that the handlers wrote
//! is checked by a checker, not by eye.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use system_tests::history::{self, What, faults};
use system_tests::proxy::{Proxy, Way};
use turnwise_servers::poll::until;
use turnwise_servers::{Postgres, RabbitMq, Redis};

/// The first places work, the last ones plan.
const WORKERS: usize = 3;
const PLACES: usize = 5;
/// Jobs that must have been accepted before it ends.
const JOBS: usize = 20_000;
/// The session of a victim.
const SESSION: Duration = Duration::from_secs(3);
/// How long the fleet may take to get over something.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a way is slow or silent.
const SPELL: Duration = Duration::from_secs(2);

/// What goes wrong. Each comes at least once, in an order that a seed gives.
#[derive(Clone, Copy, Debug)]
enum Misfortune {
    WorkerDies,
    LeaderDies,
    LeaderStops,
    WorkerStandsStill,
    RabbitRestarts,
    PostgresRestarts,
    RedisIsFlushed,
    RabbitIs(Way),
    PostgresIs(Way),
}

use Misfortune::{
    LeaderDies, LeaderStops, PostgresIs, PostgresRestarts, RabbitIs, RabbitRestarts, RedisIsFlushed,
    WorkerDies, WorkerStandsStill,
};

const MISFORTUNES: [Misfortune; 16] = [
    WorkerDies,
    WorkerDies,
    WorkerDies,
    LeaderDies,
    LeaderDies,
    LeaderStops,
    WorkerStandsStill,
    WorkerStandsStill,
    RabbitRestarts,
    PostgresRestarts,
    RedisIsFlushed,
    RabbitIs(Way::Cut),
    RabbitIs(Way::Still),
    PostgresIs(Way::Cut),
    PostgresIs(Way::Still),
    PostgresIs(Way::Slow),
];

struct Fleet {
    postgres: Postgres,
    rabbitmq: RabbitMq,
    redis: Redis,
    to_postgres: Proxy,
    to_rabbitmq: Proxy,
    directory: tempfile::TempDir,
    nodes: Vec<Child>,
    life: u32,
    /// The life at each place.
    lives: [u32; PLACES],
    /// Lives that stood still for longer than their sessions.
    stopped: BTreeSet<u32>,
    /// How far the log was read, and how many jobs it says were accepted.
    read: u64,
    accepted: usize,
}

/// The address in a URL.
fn address(url: &str) -> SocketAddr {
    let host = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
    host.and_then(|host| host.parse().ok()).unwrap_or_else(|| panic!("no address in {url}"))
}

impl Fleet {
    fn start() -> Self {
        let (postgres, rabbitmq) = (Postgres::start().unwrap(), RabbitMq::start().unwrap());
        let mut fleet = Fleet {
            to_postgres: Proxy::to(address(&postgres.url())).unwrap(),
            to_rabbitmq: Proxy::to(address(&rabbitmq.url())).unwrap(),
            postgres,
            rabbitmq,
            redis: Redis::start().unwrap(),
            directory: tempfile::tempdir().unwrap(),
            nodes: Vec::new(),
            life: 0,
            lives: [0; PLACES],
            stopped: BTreeSet::new(),
            read: 0,
            accepted: 0,
        };
        for place in 0..PLACES {
            let node = fleet.node(place, false);
            fleet.nodes.push(node);
        }
        fleet
    }

    fn node(&mut self, place: usize, finish: bool) -> Child {
        self.life += 1;
        self.lives[place] = self.life;
        let through = |url: String, proxy: &Proxy| {
            let direct = address(&url).to_string();
            url.replace(&direct, &proxy.address().to_string())
        };
        let role = match place {
            _ if finish => "both",
            ..WORKERS => "worker",
            _ => "scheduler",
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_victim"));
        command
            .arg(self.directory.path())
            .arg(self.life.to_string())
            .args(finish.then_some("finish"))
            .env("VICTIM_PLACE", place.to_string())
            .env("VICTIM_ROLE", role)
            .env("TURNWISE_POSTGRES", through(self.postgres.url(), &self.to_postgres))
            .env("TURNWISE_RABBITMQ", through(self.rabbitmq.url(), &self.to_rabbitmq))
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

    /// What the database answers to whoever asks it directly.
    fn ask(&self, sql: &str) -> anyhow::Result<String> {
        let asked =
            Command::new("psql").args(["-qAtc", sql, &self.postgres.url()]).output().context("psql")?;
        ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        Ok(String::from_utf8(asked.stdout)?.trim().to_owned())
    }

    /// The place of the leading scheduler.
    fn leader(&self) -> usize {
        let asked =
            "SELECT substring(holder FROM 'victim-([0-9]+)') FROM victim.lease WHERE name = 'scheduler'";
        self.ask(asked).unwrap().parse().unwrap()
    }

    /// Lets something go wrong, and mends it.
    fn suffer(&mut self, misfortune: Misfortune, place: usize) {
        match misfortune {
            WorkerDies => {
                self.kill(place);
                self.work(300, Some(place));
                self.nodes[place] = self.node(place, false);
            }
            LeaderDies => {
                let leader = self.leader();
                self.kill(leader);
                self.work(300, Some(leader));
                self.nodes[leader] = self.node(leader, false);
            }
            // It wakes up and does not know that another leads.
            LeaderStops => self.stand_still(self.leader()),
            // It wakes up with claims that are not its own any more.
            WorkerStandsStill => self.stand_still(place),
            RabbitRestarts => self.rabbitmq.restart().unwrap(),
            PostgresRestarts => self.postgres.restart().unwrap(),
            RedisIsFlushed => self.redis.flush().unwrap(),
            RabbitIs(way) => spell(&self.to_rabbitmq, way),
            PostgresIs(way) => spell(&self.to_postgres, way),
        }
    }

    fn stand_still(&mut self, place: usize) {
        self.stopped.insert(self.lives[place]);
        self.signal(place, Signal::STOP);
        pass("its session", SESSION + Duration::from_secs(2));
        self.signal(place, Signal::CONT);
    }

    /// Jobs that were accepted. Reads only what is new: the log grows long.
    fn accepted(&mut self) -> usize {
        let mut news = String::new();
        if let Ok(mut log) = File::open(self.directory.path().join("log")) {
            log.seek(SeekFrom::Start(self.read)).unwrap();
            log.read_to_string(&mut news).unwrap();
        }
        // The last line may be half written by somebody who is writing it now.
        let whole = news.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        for entry in history::read(&news[..whole]).unwrap() {
            self.accepted += match entry.kind.as_str() {
                _ if entry.what != What::Accepted => 0,
                "batch" => entry.number as usize + 1,
                "parent" => 2,
                _ => 1,
            };
        }
        self.accepted
    }

    /// Lets the fleet work until so many more jobs were accepted. Nobody may end by himself; a place may be empty.
    fn work(&mut self, more: usize, empty: Option<usize>) {
        let goal = self.accepted() + more;
        let worked = until("accepting further jobs", PATIENCE, || {
            for (place, node) in self.nodes.iter_mut().enumerate().filter(|(place, _)| Some(*place) != empty)
            {
                ensure!(node.try_wait()?.is_none(), "node {place} ended by itself");
            }
            Ok((self.accepted() >= goal).then_some(()))
        });
        worked.unwrap();
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

/// Lets time pass: it is what the misfortune consists of.
fn pass(what: &str, span: Duration) {
    let began = Instant::now();
    until(what, PATIENCE, || Ok((began.elapsed() > span).then_some(()))).unwrap();
}

fn spell(proxy: &Proxy, way: Way) {
    proxy.set(way);
    pass("a bad spell", SPELL);
    proxy.set(Way::Open);
}

/// The next number from a seed.
fn chance(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn whatever_goes_wrong_a_fleet_keeps_its_promises() {
    let seed = std::env::var("TURNWISE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| std::process::id().into());
    println!("to choose the same misfortunes again: TURNWISE_SEED={seed}");
    let mut state = seed;
    let mut misfortunes = MISFORTUNES;
    for last in (1..misfortunes.len()).rev() {
        misfortunes.swap(last, chance(&mut state) as usize % (last + 1));
    }
    let mut fleet = Fleet::start();
    fleet.work(500, None);
    let began = Instant::now();
    for misfortune in misfortunes {
        let place = chance(&mut state) as usize % WORKERS;
        println!(
            "{:>5.1} s, {} jobs: {misfortune:?} at {place}",
            began.elapsed().as_secs_f32(),
            fleet.accepted()
        );
        fleet.suffer(misfortune, place);
        fleet.work(600, None);
    }
    let rest = JOBS.saturating_sub(fleet.accepted());
    fleet.work(rest, None);
    (0..PLACES).for_each(|place| fleet.kill(place));
    println!("{:>5.1} s: {} jobs, all killed", began.elapsed().as_secs_f32(), fleet.accepted());
    let last = fleet.node(0, true);
    fleet.nodes[0] = last;
    let ended = until("finishing what was accepted", PATIENCE, || Ok(fleet.nodes[0].try_wait()?)).unwrap();
    assert!(ended.success());
    println!("{:>5.1} s: finished", began.elapsed().as_secs_f32());
    let log = std::fs::read_to_string(fleet.directory.path().join("log")).unwrap();
    let entries = history::read(&log).unwrap();
    let refused = entries.iter().filter(|entry| entry.what == What::Refused).count();
    assert!(refused > 0, "nobody who stood still tried to write");
    assert!(fleet.accepted() >= JOBS);
    let found = faults(&entries, &fleet.stopped);
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}
