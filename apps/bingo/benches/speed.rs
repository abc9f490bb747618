//! Runs per second on one core: `cargo bench -p turnwise-bingo` for every shipped scenario, or with names behind `--` for
//! some of them. Rates are by the processor time of the thread, so that a busy machine does not change them; the share of
//! a core that the bench got is told beside it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use turnwise_bingo::{Aggregate, Plan, Run, Runs, Scratch, Seed, encode_runs, read, shipped};

/// How long each scenario is played.
const LONG: Duration = Duration::from_secs(3);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    for scenario in shipped() {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == scenario.name) {
            measure(scenario.name, &Plan::new(&read(scenario.text).expect("shipped scenarios are right")));
        }
    }
}

#[allow(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(name: &str, plan: &Plan) {
    let seed = Seed::new("speed");
    let (mut run, mut scratch) = (Run::default(), Scratch::new());
    let mut simulate =
        |index| plan.run(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
    let (start, busy) = (Instant::now(), processor_seconds());
    let alone = rate(&mut simulate);
    let share = 100.0 * (processor_seconds() - busy) / start.elapsed().as_secs_f64();
    let mut aggregate = Aggregate::new(plan);
    let mut kept = Runs::new(plan.teams().len());
    let with_results = rate(&mut |index| {
        plan.run(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
        aggregate.add(&run);
        if kept.len() == 10_000 {
            kept = Runs::new(plan.teams().len());
        }
        kept.push(&run).expect("runs come in order");
    });
    let bytes = encode_runs(&kept).len();
    let many = kept.len();
    let step_by_step = rate(&mut |index| {
        plan.run_step_by_step(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
    });
    println!("{name}: {alone:.0} runs/s ({share:.0} % of a core were free for it)");
    println!(
        "  {with_results:.0} runs/s with aggregate and kept runs; the last {many} of them are {bytes} bytes"
    );
    println!("  {step_by_step:.0} runs/s step by step");
}

/// Runs for each second of processor time.
fn rate(play: &mut impl FnMut(u64)) -> f64 {
    let (start, busy) = (Instant::now(), processor_seconds());
    let mut runs = 0;
    while start.elapsed() < LONG {
        for _ in 0..10 {
            play(runs);
            runs += 1;
        }
    }
    runs as f64 / (processor_seconds() - busy)
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
