//! `turnwise bench bingo`: runs of the small performance scenario from submit to aggregates, durable; the same without
//! an engine; and the memory of batches of very different sizes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnwise::Engine;
use turnwise_bingo::{Bingo, Order, Progress, Results, Settings, run_here, shipped};

use super::Options;
use super::data::Data;
use super::machine::{cpu_seconds, memory_mb};

/// What every figure is measured with.
const SCENARIO: &str = "performance";
const SEED: &str = "bench";

#[derive(clap::Args, Clone, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    how: How,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// How often the batch is played without and with an engine, in turns. The speed of a machine differs by a tenth from
    /// minute to minute, so rates are medians, and what the engine adds is told with its error.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pairs: u32,
    /// Measure one pair, and leave out the batch that is ten times larger.
    #[arg(long, conflicts_with = "pairs")]
    quick: bool,
}

#[derive(clap::Args, Clone, Debug)]
struct How {
    /// How many runs.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    runs: u64,
    /// Ranges at once; as many as the application takes by itself unless said.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    slots: Option<u32>,
    /// What the engine stands on: embedded, or fleet with the servers of the usual settings.
    #[arg(long, default_value = "embedded")]
    profile: String,
    /// Where the throw-away data goes; the system's temporary directory unless said.
    #[arg(long)]
    scratch: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Debug)]
pub(super) struct PartArgs {
    #[command(flatten)]
    how: How,
    /// Without an engine.
    #[arg(long)]
    alone: bool,
}

/// What one part measured.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    runs: u64,
    /// From submit to aggregates.
    seconds: f64,
    cpu_seconds: f64,
    /// Processor time of the simulation alone.
    simulation_seconds: f64,
    peak_rss_mb: f64,
    bytes_per_run: f64,
    /// The mean points of the first team: parts that simulate the same must agree.
    mean_points: f64,
}

impl Part {
    /// How much it simulated in a second. Unlike runs in a second it does not depend on how fast the machine is just now.
    fn simulated_part(&self) -> f64 {
        self.simulation_seconds / self.seconds
    }
}

#[derive(Debug, Serialize)]
struct Figures {
    runs: u64,
    pairs: usize,
    processors: usize,
    runs_per_s: f64,
    alone_runs_per_s: f64,
    /// How much longer a batch takes with an engine than without, and the standard error of that, which one pair cannot tell.
    engine_adds: f64,
    engine_adds_error: Option<f64>,
    /// How much less of its time a slot simulates than a thread without an engine. That the simulation itself is slower beside
    /// an engine is not in it.
    slots_wait_share: f64,
    /// The part of the process's processor time that is not simulation.
    engine_cpu_share: f64,
    bytes_per_run: f64,
    peak_rss_mb: f64,
    peak_rss_hundredth_mb: f64,
    peak_rss_tenfold_mb: Option<f64>,
    tenfold_runs_per_s: Option<f64>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let measure = |runs: u64, alone: bool| {
        eprintln!("measuring: {runs} runs{}", if alone { " without an engine" } else { "" });
        in_a_process(&How { runs, ..args.how.clone() }, alone)
    };
    let runs = args.how.runs;
    let pairs = (0..if args.quick { 1 } else { args.pairs })
        .map(|pair| {
            // Neither is always the one that comes after the other.
            let first = measure(runs, pair % 2 == 0)?;
            let second = measure(runs, pair % 2 != 0)?;
            Ok(if pair % 2 == 0 { (first, second) } else { (second, first) })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let small = measure((runs / 100).max(1), false)?;
    let large = if args.quick { None } else { Some(measure(runs * 10, false)?) };
    anyhow::ensure!(
        pairs.iter().all(|(alone, whole)| alone.mean_points.to_bits() == whole.mean_points.to_bits()),
        "the engine gave other results than the simulation alone: this is a fault"
    );
    let middle = |figure: &dyn Fn(&Part, &Part) -> f64| {
        let mut figures: Vec<f64> = pairs.iter().map(|(alone, whole)| figure(alone, whole)).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let (engine_adds, engine_adds_error) = added(&pairs);
    let figures = Figures {
        runs,
        pairs: pairs.len(),
        processors: processors(),
        runs_per_s: middle(&|_, whole| runs as f64 / whole.seconds),
        alone_runs_per_s: middle(&|alone, _| runs as f64 / alone.seconds),
        engine_adds,
        engine_adds_error,
        slots_wait_share: middle(&|alone, whole| 1.0 - whole.simulated_part() / alone.simulated_part()),
        engine_cpu_share: middle(&|_, whole| 1.0 - whole.simulation_seconds / whole.cpu_seconds),
        bytes_per_run: middle(&|_, whole| whole.bytes_per_run),
        peak_rss_mb: middle(&|_, whole| whole.peak_rss_mb),
        peak_rss_hundredth_mb: small.peak_rss_mb,
        peak_rss_tenfold_mb: large.as_ref().map(|large| large.peak_rss_mb),
        tenfold_runs_per_s: large.as_ref().map(|large| large.runs as f64 / large.seconds),
    };
    print(&figures, args.json)
}

/// By how much the second of a pair takes longer than the first: the geometric mean of all pairs, and its standard error.
fn added(pairs: &[(Part, Part)]) -> (f64, Option<f64>) {
    let logs: Vec<f64> = pairs.iter().map(|(alone, whole)| (whole.seconds / alone.seconds).ln()).collect();
    let many = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / many;
    let error = (logs.len() > 1).then(|| {
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (many - 1.0);
        (spread / many).sqrt()
    });
    (mean.exp_m1(), error)
}

/// Measures in a process of its own.
fn in_a_process(how: &How, alone: bool) -> anyhow::Result<Part> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "bingo-part", "--runs", &how.runs.to_string(), "--profile", &how.profile]);
    if let Some(slots) = how.slots {
        command.args(["--slots", &slots.to_string()]);
    }
    if let Some(scratch) = &how.scratch {
        command.arg("--scratch").arg(scratch);
    }
    if alone {
        command.arg("--alone");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "the measured process failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("the measured process said something else")
}

pub(super) async fn part(args: &PartArgs) -> anyhow::Result<()> {
    let text = shipped().iter().find(|one| one.name == SCENARIO).context("the scenario is not shipped")?.text;
    let order = Order::new(None, text, args.how.runs, SEED)?;
    let part = if args.alone { alone(order) } else { whole(order, &args.how).await? };
    println!("{}", serde_json::to_string(&part)?);
    Ok(())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn alone(order: Order) -> Part {
    let runs = order.runs;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let results = run_here(order, processors(), &Progress::default());
    Part {
        runs,
        seconds: begin.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds() - cpu,
        simulation_seconds: simulation_seconds(&results),
        peak_rss_mb: memory_mb("VmHWM"),
        bytes_per_run: 0.0,
        mean_points: mean_points(&results),
    }
}

fn simulation_seconds(results: &Results) -> f64 {
    results.simulation_us as f64 / 1e6
}

fn mean_points(results: &Results) -> f64 {
    let points = results.summary.teams.first().and_then(|team| team.points.as_ref());
    points.map_or(0.0, |points| points.mean)
}

async fn whole(order: Order, how: &How) -> anyhow::Result<Part> {
    let runs = order.runs;
    let options =
        Options { jobs: 0, slots: 0, json: true, profile: how.profile.clone(), scratch: how.scratch.clone() };
    let data = Data::new(&options)?;
    let engine = Engine::open(data.config()).await?;
    let bingo = Bingo::register(&engine, Settings { slots: how.slots, ..Settings::default() });
    let running = engine.start().await?;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let handle = bingo.start(order, None).await?;
    engine.wait(handle.then.context("a batch has a continuation")?).await?;
    let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let results = bingo.results(handle.id).await?;
    anyhow::ensure!(results.simulated == runs, "{} of {runs} runs were simulated", results.simulated);
    running.stop().await;
    drop(bingo);
    engine.close().await;
    Ok(Part {
        runs,
        seconds,
        cpu_seconds: cpu,
        simulation_seconds: simulation_seconds(&results),
        peak_rss_mb: memory_mb("VmHWM"),
        bytes_per_run: data.cost().await?.bytes as f64 / runs as f64,
        mean_points: mean_points(&results),
    })
}

fn print(figures: &Figures, json: bool) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let error = figures.engine_adds_error.map_or("unknown".into(), percent);
    let or_none = |figure: Option<String>| figure.unwrap_or_else(|| "not measured".into());
    let rows = [
        ("runs, submit to aggregates", format!("{:.0} runs/s", figures.runs_per_s)),
        ("the same without an engine", format!("{:.0} runs/s", figures.alone_runs_per_s)),
        ("time that the engine adds", format!("{} ± {error}", percent(figures.engine_adds))),
        ("of it, slots that do not simulate", percent(figures.slots_wait_share)),
        ("processor time that is not simulation", percent(figures.engine_cpu_share)),
        ("bytes on disk per run", format!("{:.1}", figures.bytes_per_run)),
        ("peak memory, a hundredth of the runs", format!("{:.0} MB", figures.peak_rss_hundredth_mb)),
        ("peak memory", format!("{:.0} MB", figures.peak_rss_mb)),
        (
            "peak memory, ten times the runs",
            or_none(figures.peak_rss_tenfold_mb.map(|memory| format!("{memory:.0} MB"))),
        ),
        ("ten times the runs", or_none(figures.tenfold_runs_per_s.map(|rate| format!("{rate:.0} runs/s")))),
    ];
    for (what, figure) in rows {
        println!("{what:<38} {figure:>16}");
    }
    Ok(())
}
