//! Runs worlds, one seed after the other, until one breaks a promise.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use turnwise_sim::plan::Faults;
use turnwise_sim::{Options, Plant, Report, run};

/// Runs the whole engine from seeds, with faults, and checks its promises.
#[derive(Parser)]
#[command(name = "turnwise-sim", version)]
struct Cli {
    /// How many seeds to run.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Run this one only.
    #[arg(long)]
    seed: Option<u64>,
    /// Print everything that happens.
    #[arg(long)]
    trace: bool,
    /// Plant a fault: fence-unchecked, retry-frees-lane, events-counted, ticket-trusted.
    #[arg(long, value_name = "FAULT")]
    plant: Option<Plant>,
    /// Go on after a failure, and list them all.
    #[arg(long)]
    all: bool,
}

#[derive(Default)]
struct Sum {
    seeds: u64,
    failed: u64,
    jobs: u64,
    commits: u64,
    span: Duration,
    faults: Faults,
}

#[allow(clippy::print_stdout, reason = "a program for the terminal")]
fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.trace {
        let plain = tracing_subscriber::fmt().without_time().with_target(false);
        plain.with_max_level(tracing_subscriber::filter::LevelFilter::WARN).init();
    }
    let (from, count) = cli.seed.map_or((cli.from, cli.seeds), |seed| (seed, 1));
    let start = Instant::now();
    let mut sum = Sum::default();
    let mut told = Instant::now();
    for seed in from..from + count {
        let report = run(Options { seed, plant: cli.plant, print: cli.trace });
        sum.seeds += 1;
        sum.jobs += report.jobs;
        sum.commits += report.commits;
        sum.span += report.span;
        sum.faults.add(&report.faults);
        if report.broken.is_some() {
            sum.failed += 1;
            failed(&cli, &report);
            if !cli.all {
                break;
            }
        }
        if told.elapsed() > Duration::from_secs(10) {
            println!("{} of {count} seeds, {:.0} s", sum.seeds, start.elapsed().as_secs_f64());
            told = Instant::now();
        }
    }
    summary(&sum, start.elapsed());
    if sum.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[allow(clippy::print_stdout, reason = "a program for the terminal")]
fn failed(cli: &Cli, report: &Report) {
    let Some(broken) = &report.broken else { return };
    if cli.all {
        println!("seed {}: promise {}: {}", report.seed, broken.promise, broken.how);
        return;
    }
    if !cli.trace {
        report.last.iter().for_each(|line| println!("{line}"));
    }
    println!("\nseed {} breaks promise {}: {}", report.seed, broken.promise, broken.how);
    let plant = cli.plant.map(|plant| format!(" --plant {}", plant.name())).unwrap_or_default();
    println!("replay it with\n    cargo xtask sim --seed {} --trace{plant}", report.seed);
}

#[allow(clippy::print_stdout, reason = "a program for the terminal")]
fn summary(sum: &Sum, taken: Duration) {
    let faults: Vec<String> = sum.faults.0.iter().map(|(what, count)| format!("{count} {what}")).collect();
    println!(
        "{} seeds, {} failed, {} jobs, {} commits, {:.1} simulated hours in {:.1} s; {}",
        sum.seeds,
        sum.failed,
        sum.jobs,
        sum.commits,
        sum.span.as_secs_f64() / 3_600.0,
        taken.as_secs_f64(),
        faults.join(", ")
    );
}
