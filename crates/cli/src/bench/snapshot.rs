//! `turnwise bench snapshot`: a reader that holds a snapshot keeps the database from removing dead rows. Work must go on
//! beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use serde::Serialize;
use turnwise::{Context, Engine, Meter, Outcome};

use super::{Bench, Noop, Options};

/// How long a rate is measured.
const WINDOW: Duration = Duration::from_secs(30);
/// Jobs submitted at once to replace those that have ended.
const REFILL: usize = 10_000;

#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
    /// How long the snapshot is held, in seconds.
    #[arg(long, default_value_t = 180)]
    hold: u64,
}

#[derive(Debug, Serialize)]
struct Figures {
    ready_jobs: usize,
    held_s: u64,
    life_before_per_s: f64,
    life_held_per_s: f64,
    ratio: f64,
}

/// Jobs that have run, and that were submitted.
#[derive(Default)]
struct Counts {
    ran: AtomicU64,
    submitted: AtomicU64,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    let options = &args.options;
    let Bench { engine, data } = Bench::open(options).await?;
    let database = data.database()?.clone();
    let counts = Arc::<Counts>::default();
    let ran = counts.clone();
    let handler = move |_job: Noop, _ctx: Context| {
        ran.ran.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Outcome::Ok(()))
    };
    engine.worker(handler).slots(options.slots);
    eprintln!("submitting {} jobs", options.jobs);
    submit(&engine, &counts, options.jobs).await?;
    let running = engine.start().await?;
    let refilling = tokio::spawn(refill(engine.clone(), counts.clone(), options.jobs));
    eprintln!("measuring: without a snapshot");
    let before = measured(&counts).await;
    eprintln!("measuring: a snapshot is held for {} s", args.hold);
    let mut meter = tokio::task::spawn_blocking(move || {
        let mut meter = Meter::connect(&database)?;
        meter.hold_snapshot()?;
        Ok::<_, anyhow::Error>(meter)
    })
    .await??;
    tokio::time::sleep(Duration::from_secs(args.hold).saturating_sub(WINDOW)).await;
    let held = measured(&counts).await;
    // It waits for the server, and has a runtime of its own to end.
    tokio::task::spawn_blocking(move || meter.cost().map(drop)).await??;
    refilling.abort();
    running.stop().await;
    engine.close().await;
    let figures = Figures {
        ready_jobs: options.jobs,
        held_s: args.hold,
        life_before_per_s: before,
        life_held_per_s: held,
        ratio: held / before,
    };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        println!("{:<34} {:>12}", "ready jobs", figures.ready_jobs);
        println!("{:<34} {:>10.0}/s", "whole lives", figures.life_before_per_s);
        println!(
            "{:<34} {:>10.0}/s",
            format!("after a snapshot of {} s", figures.held_s),
            figures.life_held_per_s
        );
        println!("{:<34} {:>12.2}", "ratio", figures.ratio);
    }
    Ok(())
}

async fn submit(engine: &Engine, counts: &Counts, jobs: usize) -> anyhow::Result<()> {
    engine.submit_all((0..jobs).map(Noop::new)).await?;
    counts.submitted.fetch_add(jobs as u64, Ordering::Relaxed);
    Ok(())
}

/// Keeps so many jobs ready.
async fn refill(engine: Engine, counts: Arc<Counts>, ready: usize) -> anyhow::Result<()> {
    loop {
        let left = counts.submitted.load(Ordering::Relaxed) - counts.ran.load(Ordering::Relaxed);
        match left < ready as u64 {
            true => submit(&engine, &counts, REFILL).await?,
            false => engine.next_commit().await,
        }
    }
}

/// Jobs per second.
async fn measured(counts: &Counts) -> f64 {
    let (began, ran) = (Instant::now(), counts.ran.load(Ordering::Relaxed));
    tokio::time::sleep(WINDOW).await;
    (counts.ran.load(Ordering::Relaxed) - ran) as f64 / began.elapsed().as_secs_f64()
}
