//! The process that is killed: it submits and runs work of every shape, and writes down what it did.
//!
//! `victim DIRECTORY LIFE` works until it is killed; `victim DIRECTORY LIFE finish` submits nothing, works until
//! everything has ended, and writes down how.

// It speaks to the test that runs it.
#![allow(clippy::print_stdout, reason = "the test reads its output")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use system_tests::history::{Entry, What};
use turnwise::{Config, Context, Engine, Job, Outcome};

const MEMBERS: u64 = 12;
const LANES: u64 = 4;

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

kinds! { Plain "plain" Laned "lane" Member "member" Then "then" Parent "parent" Child "child" }

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
        // One write for one line: a kill leaves whole lines behind.
        let line = format!("{entry}\n");
        (&self.file).write_all(line.as_bytes()).expect("the log can be written");
        println!("{entry}");
    }

    /// Runs a handler's body between its two lines.
    async fn around(
        &self,
        kind: &str,
        group: u64,
        number: u64,
        ctx: &Context,
        body: impl FnOnce() -> Outcome,
    ) -> Outcome {
        self.write(What::Started, kind, group, number, ctx.job(), ctx.fence());
        for _ in 0..number % 5 {
            tokio::task::yield_now().await;
        }
        let outcome = body();
        self.write(What::Ended, kind, group, number, ctx.job(), ctx.fence());
        outcome
    }
}

fn register(engine: &Engine, log: &Arc<Log>) {
    macro_rules! worker {
        ($name:ident, $slots:expr) => {
            let log_of = log.clone();
            engine
                .worker(move |job: $name, ctx: Context| {
                    let log = log_of.clone();
                    async move { log.around($name::KIND, job.group, job.number, &ctx, || Ok(())).await }
                })
                .slots($slots)
                // Thirty kills in a row are this test's, not the jobs' fault.
                .rescues(1_000);
        };
    }
    worker!(Plain, 8);
    worker!(Laned, 8);
    worker!(Member, 8);
    worker!(Then, 2);
    worker!(Child, 2);
    let log_of = log.clone();
    engine
        .worker(move |job: Parent, ctx: Context| {
            let log = log_of.clone();
            async move {
                let child = Child { group: job.number, number: 0 };
                log.around("parent", job.group, job.number, &ctx, || ctx.submit(child).map(drop)).await
            }
        })
        .slots(4)
        .rescues(1_000);
}

/// Submits until it is killed. Numbers never repeat: a life has its own range.
async fn submit_for_ever(engine: &Engine, log: &Log, last: &mut [u64]) -> anyhow::Result<()> {
    let mut number = u64::from(log.life) * 1_000_000;
    loop {
        number += 1;
        let id = engine.submit(Plain { group: 0, number }).await?;
        log.write(What::Accepted, "plain", 0, number, id, "-");
        for lane in 0..LANES {
            // Every lane counts on from where its accepted jobs ended.
            let next = last[lane as usize] + 1;
            let id = engine.submit(Laned { group: lane, number: next }.lane(format!("lane-{lane}"))).await?;
            last[lane as usize] = next;
            log.write(What::Accepted, "lane", lane, next, id, "-");
        }
        let members = (0..MEMBERS).map(move |n| Member { group: number, number: n });
        let batch =
            engine.batch("members").jobs(members).then(Then { group: number, number: 0 }).submit().await?;
        log.write(What::Accepted, "batch", number, MEMBERS, batch.id, "-");
        let id = engine.submit(Parent { group: 0, number }).await?;
        log.write(What::Accepted, "parent", 0, number, id, "-");
        // Keep a backlog, but one that ends.
        while engine.backlog().await? > 400 {
            engine.next_commit().await;
        }
    }
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
    let lines = BufReader::new(File::open(path)?).lines();
    lines.map(|line| line?.parse().map_err(anyhow::Error::msg)).collect()
}

/// A lane's numbers go on after the largest that was ever started or accepted: an unknown outcome leaves a gap.
fn last_numbers(path: &Path) -> anyhow::Result<Vec<u64>> {
    let mut last = vec![0; LANES as usize];
    if path.exists() {
        for entry in read(path)?.iter().filter(|entry| entry.kind == "lane") {
            let known = &mut last[entry.group as usize];
            // One submission may have been accepted without this process having learnt it.
            *known = (*known).max(entry.number + 1);
        }
    }
    Ok(last)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let directory = PathBuf::from(args.next().context("a directory")?);
    let life: u32 = args.next().context("which life this is")?.parse()?;
    let finishing = args.next().is_some();
    let path = directory.join("log");
    let mut last = last_numbers(&path)?;
    let log = Arc::new(Log::open(&path, life)?);
    let engine = Engine::open(Config::embedded(directory.join("data"))).await?;
    register(&engine, &log);
    let running = engine.start().await?;
    if finishing {
        finish(&engine, &log, &path).await?;
    } else {
        submit_for_ever(&engine, &log, &mut last).await?;
    }
    running.stop().await;
    Ok(())
}
