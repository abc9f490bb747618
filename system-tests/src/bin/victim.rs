//! The process that is killed: it submits and runs work of every shape, and writes down what it did.
//!
//! `victim DIRECTORY LIFE` works until it is killed; `victim DIRECTORY LIFE finish` submits nothing, works until
//! everything has ended, and writes down how. With servers in the environment it is one of a fleet; `VICTIM_PLACE` then
//! says which, so that no two submit to the same lanes, and `VICTIM_ROLE` whether it is a `worker`, which also submits,
//! or a `scheduler`, which only plans.

// It speaks to the test that runs it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the test reads its output")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use system_tests::history::{self, Entry, What};
use turnwise::{
    Config, Context, Engine, Error, FleetOptions, Job, Outcome, PostgresOptions, RabbitOptions, RedisOptions,
    Retry, Roles, Stop, hours, millis,
};

const MEMBERS: u64 = 12;
const LANES: u64 = 4;
/// Attempts that fail before one does not.
const FAILURES: u16 = 2;

macro_rules! kinds {
    ($($name:ident $kind:literal)*) => {$(
        #[derive(Serialize, Deserialize)]
        struct $name { group: u64, number: u64 }

        impl Job for $name {
            const KIND: &'static str = $kind;
            type Output = ();
        }
    )*};
}

kinds! {
    Plain "plain" Laned "lane" Member "member" Then "then" Parent "parent" Child "child" Once "once" Flaky "flaky"
    Steps "steps" Slow "slow"
}

/// The log, and which life of the process writes it.
struct Log {
    file: File,
    life: u32,
}

impl Log {
    fn open(path: &Path, life: u32) -> anyhow::Result<Self> {
        Ok(Log { file: OpenOptions::new().create(true).append(true).open(path)?, life })
    }

    fn write(
        &self,
        what: What,
        kind: &str,
        group: u64,
        number: u64,
        id: impl std::fmt::Display,
        detail: impl std::fmt::Display,
    ) {
        let (id, detail) = (format!("{id}"), format!("{detail}"));
        let entry = Entry { life: self.life, what, kind: kind.into(), group, number, id, detail };
        (&self.file).write_all(history::line(&entry).as_bytes()).expect("the log can be written");
        println!("{entry}");
    }

    /// A handler begins.
    fn run<'a>(&'a self, kind: &'static str, (group, number): (u64, u64), ctx: &Context) -> Run<'a> {
        let run = Run { log: self, kind, group, number, ctx: ctx.clone(), ended: false };
        run.write(What::Started);
        run
    }
}

/// A handler at work. However it ends, that is written down.
struct Run<'a> {
    log: &'a Log,
    kind: &'static str,
    group: u64,
    number: u64,
    ctx: Context,
    ended: bool,
}

impl Run<'_> {
    fn write(&self, what: What) {
        self.log.write(what, self.kind, self.group, self.number, self.ctx.job(), self.ctx.fence());
    }

    fn end(mut self, outcome: Outcome) -> Outcome {
        self.ended = true;
        outcome
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.write(if self.ended { What::Ended } else { What::Aborted });
    }
}

fn register(engine: &Engine, log: &Arc<Log>) {
    macro_rules! worker {
        ($name:ident, $slots:expr, $log:ident, $job:ident, $ctx:ident => $run:expr) => {
            let log_of = log.clone();
            engine
                .worker(move |$job: $name, $ctx: Context| {
                    let $log = log_of.clone();
                    async move { $run }
                })
                .slots($slots)
                // Servers that go away in the middle of a step are no fault of the job.
                .retry(Retry::fixed(millis(20)).attempts(1_000))
                // Thirty kills in a row are this test's, not the jobs' fault.
                .rescues(1_000);
        };
        ($name:ident, $slots:expr) => {
            worker!($name, $slots, log, job, ctx => {
                let run = log.run($name::KIND, (job.group, job.number), &ctx);
                for _ in 0..job.number % 5 {
                    tokio::task::yield_now().await;
                }
                run.end(Ok(()))
            });
        };
    }
    worker!(Plain, 8);
    worker!(Laned, 8);
    worker!(Member, 8);
    worker!(Then, 2);
    worker!(Child, 2);
    worker!(Once, 2);
    worker!(Parent, 4, log, job, ctx => {
        let run = log.run("parent", (job.group, job.number), &ctx);
        let child = Child { group: job.number, number: 0 };
        run.end(ctx.submit(child).map(drop))
    });
    worker!(Flaky, 4, log, job, ctx => {
        let run = log.run("flaky", (job.group, job.number), &ctx);
        run.end(if ctx.attempt() > FAILURES { Ok(()) } else { Err(Stop::retry("not yet")) })
    });
    worker!(Steps, 4, log, job, ctx => {
        let run = log.run("steps", (job.group, job.number), &ctx);
        for step in 0..3 {
            // Whoever does it gives something else.
            let work = || async { Ok(format!("{}-{}", log.life, ctx.fence())) };
            let given = ctx.step(&format!("step {step}"), work).await?;
            log.write(What::Stepped, "steps", job.group, step, ctx.job(), given);
        }
        run.end(Ok(()))
    });
    // Whenever a process is stopped, it is in the middle of some of these.
    worker!(Slow, 4, log, job, ctx => {
        let run = log.run("slow", (job.group, job.number), &ctx);
        // A job that takes its time.
        let _ = tokio::time::timeout(millis(200), std::future::pending::<()>()).await;
        run.end(Ok(()))
    });
}

/// Writes down how many writes were refused as stale, whenever that changes.
async fn write_refusals(engine: Engine, log: Arc<Log>) {
    let mut known = 0;
    loop {
        engine.next_commit().await;
        let now = engine.refused_stale_writes();
        if now != known {
            known = now;
            log.write(What::Refused, "-", 0, now, "-", "-");
        }
    }
}

/// Submits until it is killed. Numbers never repeat: a life has its own range. What a server that is away does not
/// answer may have been accepted or not: its numbers are not used again.
async fn submit_for_ever(
    engine: &Engine,
    log: &Log,
    mut last: LaneNumbers,
    lanes: Range<u64>,
) -> anyhow::Result<()> {
    let mut number = u64::from(log.life) * 1_000_000;
    loop {
        number += 1;
        match submit_some(engine, log, &mut last, lanes.clone(), number).await {
            Ok(()) => {}
            Err(Error::Store(error)) if error.is_passing() => {
                eprintln!("life {}: {error}", log.life);
                // Not at once again: the server needs its time.
                let _ = tokio::time::timeout(Duration::from_millis(50), engine.next_commit()).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The largest number of each lane.
type LaneNumbers = BTreeMap<u64, u64>;

async fn submit_some(
    engine: &Engine,
    log: &Log,
    last: &mut LaneNumbers,
    lanes: Range<u64>,
    number: u64,
) -> Result<(), Error> {
    let id = engine.submit(Plain { group: 0, number }).await?;
    log.write(What::Accepted, "plain", 0, number, id, "-");
    for lane in lanes {
        // Every lane counts on from where it ended.
        let known = last.entry(lane).or_default();
        *known += 1;
        let next = *known;
        let id = engine.submit(Laned { group: lane, number: next }.lane(format!("lane-{lane}"))).await?;
        log.write(What::Accepted, "lane", lane, next, id, "-");
    }
    let members = (0..MEMBERS).map(move |n| Member { group: number, number: n });
    let batch =
        engine.batch("members").jobs(members).then(Then { group: number, number: 0 }).submit().await?;
    log.write(What::Accepted, "batch", number, MEMBERS, batch.id, "-");
    let id = engine.submit(Parent { group: 0, number }).await?;
    log.write(What::Accepted, "parent", 0, number, id, "-");
    let id = engine.submit(Flaky { group: 0, number }).await?;
    log.write(What::Accepted, "flaky", 0, number, id, "-");
    let id = engine.submit(Steps { group: 0, number }).await?;
    log.write(What::Accepted, "steps", 0, number, id, "-");
    let id = engine.submit(Slow { group: 0, number }).await?;
    log.write(What::Accepted, "slow", 0, number, id, "-");
    // Everybody submits the same keys.
    let key = number % 1_000_000;
    let id = engine.submit(Once { group: key, number }.unique_for(key.to_string(), hours(1))).await?;
    log.write(What::Accepted, "once", key, number, id, "-");
    // Keep a backlog, but one that ends.
    while engine.backlog().await? > 400 {
        // A server that is away tells of no commit.
        let _ = tokio::time::timeout(Duration::from_secs(1), engine.next_commit()).await;
    }
    Ok(())
}

/// Waits until everything has ended and writes down how.
async fn finish(engine: &Engine, log: &Log, path: &Path) -> anyhow::Result<()> {
    engine.drain().await?;
    for entry in read(path)?.iter().filter(|entry| entry.what == What::Accepted && entry.kind != "batch") {
        let id = entry.id.parse().context("an id in the log")?;
        let state = engine.job(id).await?.map_or("missing".to_string(), |job| job.state.to_string());
        log.write(What::Final, &entry.kind, entry.group, entry.number, &entry.id, state);
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
    history::read(&std::fs::read_to_string(path)?).map_err(anyhow::Error::msg)
}

/// A lane's numbers go on after the largest that was ever started or accepted: an unknown outcome leaves a gap.
fn last_numbers(path: &Path) -> anyhow::Result<LaneNumbers> {
    let mut last = LaneNumbers::new();
    if path.exists() {
        for entry in read(path)?.iter().filter(|entry| entry.kind == "lane") {
            let known = last.entry(entry.group).or_default();
            // One submission may have been accepted without this process having learnt it.
            *known = (*known).max(entry.number + 1);
        }
    }
    Ok(last)
}

/// The servers of a fleet, if there are any.
fn fleet() -> Option<Config> {
    let named = |variable: &str| std::env::var(variable).ok();
    let prefix = "victim".to_owned();
    let servers = FleetOptions {
        postgres: PostgresOptions {
            schema: prefix.clone(),
            ..PostgresOptions::new(named("TURNWISE_POSTGRES")?)
        },
        rabbitmq: RabbitOptions {
            url: named("TURNWISE_RABBITMQ")?,
            prefix: Some(prefix.clone()),
            ca_file: None,
        },
        redis: named("TURNWISE_REDIS").map(|url| RedisOptions { url, prefix, ca_file: None }),
    };
    // Short enough for a test that waits for the dead to be taken for dead.
    let span = Duration::from_secs(3);
    Some(Config::fleet(servers).session(span).scheduler_lease(span))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let directory = PathBuf::from(args.next().context("a directory")?);
    let life: u32 = args.next().context("which life this is")?.parse()?;
    let finishing = args.next().is_some();
    let path = directory.join("log");
    let last = last_numbers(&path)?;
    let place: u64 = std::env::var("VICTIM_PLACE").ok().and_then(|place| place.parse().ok()).unwrap_or(0);
    let log = Arc::new(Log::open(&path, life)?);
    let config = fleet().unwrap_or_else(|| Config::embedded(directory.join("data")));
    let plans = std::env::var("VICTIM_ROLE").is_ok_and(|role| role == "scheduler");
    let roles = match std::env::var("VICTIM_ROLE").as_deref() {
        Ok("scheduler") => Roles { scheduler: true, ..Roles::NONE },
        Ok("worker") => Roles { worker: true, ..Roles::NONE },
        _ => Roles { scheduler: true, worker: true, ..Roles::NONE },
    };
    let engine = Engine::open(config.node(format!("victim-{place}")).roles(roles)).await?;
    register(&engine, &log);
    let running = engine.start().await?;
    tokio::spawn(write_refusals(engine.clone(), log.clone()));
    if plans {
        std::future::pending::<()>().await;
    } else if finishing {
        finish(&engine, &log, &path).await?;
    } else {
        submit_for_ever(&engine, &log, last, place * LANES..(place + 1) * LANES).await?;
    }
    running.stop().await;
    Ok(())
}
