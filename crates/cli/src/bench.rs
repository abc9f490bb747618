//! Measures the engine on this machine, durable and checked: every job ran, no effect twice.

mod api;
mod backlog;
mod bingo;
mod data;
mod disk;
mod effects;
mod fairness;
mod jobs;
mod latency;
mod machine;
mod snapshot;
mod watchers;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args as ClapArgs, Subcommand};
use serde::{Deserialize, Serialize};
use turnwise::{Context, Engine, Job, Outcome};

use data::Data;
use effects::Effects;

/// What to measure.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Submit, drain, whole life, start latency, size, memory, fairness.
    Jobs(Options),
    /// A deep backlog: reopen to first claim, memory, and the drain rate against a shallow one.
    Backlog(Options),
    /// A reader that holds a snapshot of the database: how much slower is work beside it? For --profile fleet.
    Snapshot(snapshot::Args),
    /// The HTTP API: submits, lists, and what thousands of watchers cost.
    Api(Options),
    /// Bingo: runs a second from submit to aggregates, what the engine adds to the simulation, memory.
    Bingo(bingo::Args),
    /// One part of `bingo`, in a process of its own so that its memory is its own.
    #[command(hide = true)]
    BingoPart(bingo::PartArgs),
    /// One part of `backlog`, in a process of its own so that its memory is its own.
    #[command(hide = true)]
    Reopen(backlog::ReopenArgs),
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Options {
    /// How many jobs.
    #[arg(long, default_value_t = 200_000)]
    jobs: usize,
    /// How many handlers run at once.
    #[arg(long, default_value_t = 256)]
    slots: u32,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// What the engine stands on: embedded, or fleet with the servers of the usual settings.
    #[arg(long, default_value = "embedded")]
    profile: String,
    /// Where the throw-away data goes; the system's temporary directory unless said.
    #[arg(long)]
    scratch: Option<PathBuf>,
}

impl Options {
    fn throw_away(&self) -> anyhow::Result<tempfile::TempDir> {
        let directory = match &self.scratch {
            Some(path) => tempfile::tempdir_in(path),
            None => tempfile::tempdir(),
        };
        directory.context("a throw-away directory cannot be made: choose one with --scratch")
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match args.what {
        What::Jobs(options) => runtime.block_on(jobs::run(&options)),
        What::Snapshot(args) => runtime.block_on(snapshot::run(&args)),
        What::Backlog(options) => runtime.block_on(backlog::run(&options)),
        What::Api(options) => runtime.block_on(api::run(&options)),
        What::Bingo(args) => bingo::run(&args),
        What::BingoPart(args) => runtime.block_on(bingo::part(&args)),
        What::Reopen(args) => runtime.block_on(backlog::reopen(&args)),
    }
}

/// A job that does nothing but leave a mark; about 100 bytes of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Noop {
    n: usize,
    note: String,
}

impl Job for Noop {
    const KIND: &'static str = "noop";
    type Output = ();
}

impl Noop {
    fn new(n: usize) -> Self {
        let note = "a job of about one hundred bytes, as the peers were measured with, padded".into();
        Noop { n, note }
    }
}

/// An engine on throw-away data.
struct Bench {
    engine: Engine,
    data: Data,
}

impl Bench {
    async fn open(options: &Options) -> anyhow::Result<Self> {
        let data = Data::new(options)?;
        let engine = Engine::open(data.config()).await?;
        engine.declare(turnwise::Kind::new(turnwise::Name::new(Noop::KIND)?)).await?;
        Ok(Bench { engine, data })
    }

    /// Registers the handler that leaves marks.
    fn work(&self, slots: u32, effects: &Arc<Effects>) {
        let effects = effects.clone();
        let handler = move |job: Noop, _ctx: Context| {
            effects.mark(job.n);
            std::future::ready(Outcome::Ok(()))
        };
        self.engine.worker(handler).slots(slots);
    }
}
