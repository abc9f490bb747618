//! `turnwise bench jobs`: the life of a job, step by step.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use serde::Serialize;
use turnwise::Engine;

use super::effects::{Delivery, Effects};
use super::machine::{cpu_seconds, memory_mb};
use super::{Bench, Noop, Options, disk, fairness, latency};

/// Single submits, one after the other.
const SINGLE: usize = 4_000;
/// Submits with 100 in flight.
const IN_FLIGHT: usize = 40_000;

#[derive(Debug, Default, Serialize)]
struct Figures {
    submit_single_per_s: f64,
    submit_inflight100_per_s: f64,
    submit_bulk_per_s: f64,
    drain_per_s: f64,
    life_per_s: f64,
    start_p50_ms: f64,
    start_p99_ms: f64,
    bytes_per_job: f64,
    log_bytes_per_job: f64,
    dead_rows_per_job: f64,
    peak_rss_mb: f64,
    cpu_s_per_10k: f64,
    jain: f64,
    small_owner_worst_wait_turns: f64,
    lost: usize,
    doubled: usize,
    disk_syncs_per_s: f64,
    disk_sync_paced_p50_ms: f64,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    note("the disk alone");
    let disk = disk::run(options).await?;
    (figures.disk_syncs_per_s, figures.disk_sync_paced_p50_ms) = (disk.per_s, disk.paced_p50_ms);
    note("submit and drain");
    submit_and_drain(options, &mut figures).await?;
    note("whole life");
    whole_life(options, &mut figures).await?;
    note("start latency");
    (figures.start_p50_ms, figures.start_p99_ms) = latency::run(options).await?;
    note("fairness");
    let fair = fairness::run(options).await?;
    (figures.jain, figures.small_owner_worst_wait_turns) = (fair.jain, fair.worst_wait_turns);
    figures.peak_rss_mb = memory_mb("VmHWM");
    print(&figures, options.json)?;
    anyhow::ensure!(
        figures.lost == 0 && figures.doubled == 0,
        "jobs were lost or ran twice: this is a fault"
    );
    Ok(())
}

/// Says on stderr what is being measured, so that nobody thinks it hangs.
fn note(what: &str) {
    eprintln!("measuring: {what}");
}

fn rate(jobs: usize, since: Instant) -> f64 {
    jobs as f64 / since.elapsed().as_secs_f64()
}

fn count(figures: &mut Figures, delivery: &Delivery) {
    figures.lost += delivery.lost;
    figures.doubled += delivery.doubled;
}

/// Submits in three ways with nobody working, then lets a crew drain everything.
async fn submit_and_drain(options: &Options, figures: &mut Figures) -> anyhow::Result<()> {
    let bench = Bench::open(options).await?;
    let before = bench.data.cost().await?;
    let engine = &bench.engine;
    let cpu = cpu_seconds();
    let (single, in_flight) = (SINGLE.min(options.jobs / 10), IN_FLIGHT.min(options.jobs / 4));
    let start = Instant::now();
    for n in 0..single {
        engine.submit(Noop::new(n)).await?;
    }
    figures.submit_single_per_s = rate(single, start);
    let start = Instant::now();
    submit_in_flight(engine, single..single + in_flight).await?;
    figures.submit_inflight100_per_s = rate(in_flight, start);
    let bulk = single + in_flight..options.jobs;
    let start = Instant::now();
    let count_bulk = bulk.len();
    engine.submit_all(bulk.map(Noop::new)).await?;
    figures.submit_bulk_per_s = rate(count_bulk, start);
    let effects = Arc::new(Effects::new(options.jobs));
    bench.work(options.slots, &effects);
    let start = Instant::now();
    let running = engine.start().await?;
    engine.drain().await?;
    figures.drain_per_s = rate(options.jobs, start);
    figures.cpu_s_per_10k = (cpu_seconds() - cpu) / (options.jobs as f64 / 10_000.0);
    running.stop().await;
    count(figures, &effects.check());
    let Bench { engine, data } = bench;
    engine.close().await;
    let cost = data.cost().await?;
    let per_job = |count: u64| count as f64 / options.jobs as f64;
    figures.bytes_per_job = per_job(cost.bytes);
    figures.log_bytes_per_job = per_job(cost.log_bytes - before.log_bytes);
    figures.dead_rows_per_job = per_job(cost.dead_rows - before.dead_rows);
    Ok(())
}

/// Keeps 100 calls in flight.
async fn submit_in_flight(engine: &Engine, jobs: Range<usize>) -> anyhow::Result<()> {
    let mut submits =
        futures_util::stream::iter(jobs.map(|n| engine.submit(Noop::new(n)))).buffer_unordered(100);
    while let Some(submitted) = submits.next().await {
        submitted?;
    }
    Ok(())
}

/// Submits while the crew works.
async fn whole_life(options: &Options, figures: &mut Figures) -> anyhow::Result<()> {
    let bench = Bench::open(options).await?;
    let effects = Arc::new(Effects::new(options.jobs));
    bench.work(options.slots, &effects);
    let running = bench.engine.start().await?;
    let start = Instant::now();
    bench.engine.submit_all((0..options.jobs).map(Noop::new)).await?;
    bench.engine.drain().await?;
    figures.life_per_s = rate(options.jobs, start);
    running.stop().await;
    count(figures, &effects.check());
    Ok(())
}

fn print(figures: &Figures, json: bool) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    let rows = [
        ("submit, one at a time", format!("{:.0} jobs/s", figures.submit_single_per_s)),
        ("submit, 100 in flight", format!("{:.0} jobs/s", figures.submit_inflight100_per_s)),
        ("submit, bulk", format!("{:.0} jobs/s", figures.submit_bulk_per_s)),
        ("drain", format!("{:.0} jobs/s", figures.drain_per_s)),
        ("whole life", format!("{:.0} jobs/s", figures.life_per_s)),
        ("start latency at 200/s, p50", format!("{:.2} ms", figures.start_p50_ms)),
        ("start latency at 200/s, p99", format!("{:.2} ms", figures.start_p99_ms)),
        ("bytes on disk per job", format!("{:.0}", figures.bytes_per_job)),
        ("bytes logged by the server per job", format!("{:.0}", figures.log_bytes_per_job)),
        ("rows left dead per job", format!("{:.1}", figures.dead_rows_per_job)),
        ("peak memory", format!("{:.0} MB", figures.peak_rss_mb)),
        ("CPU per 10,000 jobs", format!("{:.2} s", figures.cpu_s_per_10k)),
        ("fairness (Jain's index)", format!("{:.4}", figures.jain)),
        ("worst wait of a small owner", format!("{:.2} turns", figures.small_owner_worst_wait_turns)),
        ("lost / doubled", format!("{} / {}", figures.lost, figures.doubled)),
        ("the disk alone, syncs", format!("{:.0} /s", figures.disk_syncs_per_s)),
        ("the disk alone at 200/s, p50", format!("{:.2} ms", figures.disk_sync_paced_p50_ms)),
    ];
    for (what, figure) in rows {
        println!("{what:<34} {figure:>16}");
    }
    Ok(())
}
