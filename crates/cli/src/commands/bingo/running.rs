//! `bingo run`: starts a batch, watches it, and prints what it came to.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnwise_bingo::{Order, Progress, Settings, run_here, runs_of};

use super::bar::Bar;
use super::talk::Talk;
use super::{text_of, told};
use crate::client::with_data;
use crate::failure::{refused, usage};
use crate::{Home, show};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Simulate a scenario many times.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The scenario file; `-` reads standard input.
    file: PathBuf,
    /// How many runs.
    #[arg(long, value_name = "N", value_parser = runs_of, allow_negative_numbers = true)]
    runs: u64,
    /// What the luck of every run is made from: the same seed gives the same results [default: a new one].
    #[arg(long)]
    seed: Option<String>,
    /// What people call it [default: the scenario's name].
    #[arg(long)]
    name: Option<String>,
    /// Whose turns it takes [default: default].
    #[arg(long)]
    owner: Option<String>,
    /// On the threads of this process, without an engine: nothing is stored.
    #[arg(long, conflicts_with_all = ["owner", "detach"])]
    local: bool,
    /// Ranges that run at once, if this process does it [default: two for each processor; one for each with --local].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    threads: Option<u32>,
    /// Do not wait for the end; a server must run.
    #[arg(long)]
    detach: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, home: &Home) -> anyhow::Result<ExitCode> {
    let text = text_of(&args.file)?;
    let seed = match &args.seed {
        Some(seed) => seed.clone(),
        None => {
            format!("{:016x}", getrandom::u64().map_err(|_| refused("the system gives no random numbers"))?)
        }
    };
    let order = Order::new(args.name.as_deref(), &text, args.runs, &seed);
    let order = order.map_err(|unfit| usage(format!("{}: {unfit}", args.file.display())))?;
    if args.local {
        return local(args, order);
    }
    let settings = Settings { slots: args.threads, ..Settings::default() };
    let talk = Talk::open(home, Some(settings))?;
    if args.detach && matches!(talk, Talk::Here(_)) {
        return Err(usage(
            "no server runs here that could go on: start one with `turnwise up`, or wait for the end",
        ));
    }
    let id = talk.start(&order, &text, args.owner.as_deref())?;
    let data = home.data()?;
    if args.detach {
        match args.json {
            true => show::json(&json!({"batch": id, "runs": order.runs, "seed": order.seed})),
            false => show::line(format!(
                "batch {id}: {}",
                with_data(&format!("turnwise bingo results {id}"), &data)
            )),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let status = watch(&talk, &id, &order)?;
    let results = talk.results(&id).map_err(|error| match status["message"].as_str() {
        // Without results, what the status says is the better reason.
        Some(message) => refused(message),
        None => error,
    })?;
    let told = report(&status, &results);
    if args.json {
        show::json(&told);
    } else {
        told::results(&told);
        if !talk.is_thrown_away() {
            let more = with_data(&format!("turnwise bingo rerun {id} --run 0"), &data);
            show::line(format!("\nOne run, event by event: {more}"));
        }
    }
    Ok(code(&status))
}

/// Only a batch whose runs were all simulated went well.
fn code(status: &Value) -> ExitCode {
    if status["status"] == "completed" { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Shows how far it is until it has ended.
fn watch(talk: &Talk, id: &str, order: &Order) -> anyhow::Result<Value> {
    let bar = Bar::new(&order.name, order.runs);
    loop {
        let status = talk.status(id)?;
        bar.show(status["ended_runs"].as_u64().unwrap_or(0));
        if !matches!(status["status"].as_str(), Some("pending" | "running")) {
            return Ok(status);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What a batch came to, as `--json` prints it.
pub(super) fn report(status: &Value, results: &Value) -> Value {
    json!({
        "batch": status["id"],
        "name": status["name"],
        "status": status["status"],
        "message": status["message"],
        "seed": status["seed"],
        "runs": status["runs"],
        "simulated": results["simulated"],
        "failed_runs": results["failed_runs"],
        "failures": results["failures"],
        "seconds": status["seconds"],
        "runs_per_s": status["runs_per_s"],
        "simulation_us": results["simulation_us"],
        "teams": results["summary"]["teams"],
    })
}

fn local(args: &Args, order: Order) -> anyhow::Result<ExitCode> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = args.threads.map_or(processors, |threads| threads as usize);
    let (name, seed, runs) = (order.name.clone(), order.seed.clone(), order.runs);
    let (progress, begin) = (Progress::default(), Instant::now());
    let results = std::thread::scope(|scope| {
        let at_work = scope.spawn(|| run_here(order, threads, &progress));
        let bar = Bar::new(&name, runs);
        while !at_work.is_finished() {
            bar.show(progress.ended());
            std::thread::sleep(PAUSE.min(Duration::from_millis(20)));
        }
        at_work.join()
    });
    let results =
        results.map_err(|_| refused("the simulation panicked: please report it with the scenario"))?;
    let seconds = begin.elapsed().as_secs_f64();
    let shown = serde_json::to_value(&results)?;
    let status = json!({
        "id": null, "name": name, "status": shown["verdict"], "message": shown["message"], "seed": seed, "runs": runs,
        "seconds": seconds, "runs_per_s": runs as f64 / seconds,
    });
    let told = report(&status, &shown);
    if args.json {
        show::json(&told);
    } else {
        told::results(&told);
    }
    Ok(code(&status))
}
