//! `turnwise bench backlog`: a million ready jobs must cost neither memory nor time.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Outcome};

use super::machine::memory_mb;
use super::{Bench, Noop, Options};

/// What a deep backlog is compared with.
const SHALLOW: usize = 50_000;

#[derive(ClapArgs, Debug)]
pub(crate) struct ReopenArgs {
    directory: PathBuf,
    #[arg(long)]
    slots: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Reopened {
    first_claim_ms: f64,
    rss_mb: f64,
    drain_per_s: f64,
}

#[derive(Debug, Serialize)]
struct Figures {
    jobs: usize,
    reopen_to_first_claim_ms: f64,
    rss_mb: f64,
    drain_per_s: f64,
    drain_50k_per_s: f64,
    drain_ratio: f64,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let shallow = measure(options, SHALLOW).await?;
    let deep = measure(options, options.jobs).await?;
    let figures = Figures {
        jobs: options.jobs,
        reopen_to_first_claim_ms: deep.first_claim_ms,
        rss_mb: deep.rss_mb,
        drain_per_s: deep.drain_per_s,
        drain_50k_per_s: shallow.drain_per_s,
        drain_ratio: deep.drain_per_s / shallow.drain_per_s,
    };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        println!("{:<34} {:>12}", "ready jobs", figures.jobs);
        println!("{:<34} {:>9.1} ms", "reopen to first claim", figures.reopen_to_first_claim_ms);
        println!("{:<34} {:>9.1} MB", "resident memory, while draining", figures.rss_mb);
        println!("{:<34} {:>10.0}/s", "drain", figures.drain_per_s);
        println!("{:<34} {:>10.0}/s", "drain of 50,000", figures.drain_50k_per_s);
        println!("{:<34} {:>12.2}", "ratio", figures.drain_ratio);
    }
    Ok(())
}

/// Submits, closes, and lets a fresh process reopen and drain.
async fn measure(options: &Options, jobs: usize) -> anyhow::Result<Reopened> {
    let Bench { engine, data } = Bench::open(options).await?;
    engine.submit_all((0..jobs).map(Noop::new)).await?;
    engine.close().await;
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "reopen"])
        .arg(data.directory()?)
        .args(["--slots", &options.slots.to_string()])
        .output()
        .context("the second process did not start")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The second process.
pub(super) async fn reopen(args: &ReopenArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let first: Arc<OnceLock<Instant>> = Arc::default();
    let engine = Engine::open(Config::embedded(&args.directory)).await?;
    let seen = first.clone();
    let handler = move |_job: Noop, _ctx: Context| {
        seen.get_or_init(Instant::now);
        std::future::ready(Outcome::Ok(()))
    };
    engine.worker(handler).slots(args.slots);
    let backlog = engine.backlog().await?;
    let drain = Instant::now();
    let running = engine.start().await?;
    engine.drain().await?;
    let drain_per_s = backlog as f64 / drain.elapsed().as_secs_f64();
    running.stop().await;
    let first = first.get().context("no job started")?;
    let reopened = Reopened {
        first_claim_ms: (*first - start).as_secs_f64() * 1_000.0,
        rss_mb: memory_mb("VmHWM"),
        drain_per_s,
    };
    println!("{}", serde_json::to_string(&reopened)?);
    Ok(())
}
