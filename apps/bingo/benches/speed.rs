//! Runs per second on one core: `cargo bench -p turnwise-bingo` for every shipped scenario, or with names behind `--` for
//! some of them.

use std::time::{Duration, Instant};

use turnwise_bingo::{Aggregate, Plan, Run, Runs, Scratch, Seed, encode_runs, read};

const SCENARIOS: [(&str, &str); 1] = [("performance", include_str!("../scenarios/performance.json"))];

/// How long each scenario is played.
const LONG: Duration = Duration::from_secs(3);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    for (name, text) in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure(name, &Plan::new(&read(text).expect("shipped scenarios are right")));
        }
    }
}

#[allow(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(name: &str, plan: &Plan) {
    let seed = Seed::new("speed");
    let (mut run, mut scratch) = (Run::default(), Scratch::new());
    let mut simulate =
        |index| plan.run(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
    let alone = rate(&mut simulate);
    let mut aggregate = Aggregate::new(plan);
    let mut kept = Runs::new(plan.teams().len());
    let mut bytes = 0;
    let with_results = rate(&mut |index| {
        plan.run(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
        aggregate.add(&run);
        if kept.len() == 10_000 {
            bytes = encode_runs(&kept).len();
            kept = Runs::new(plan.teams().len());
        }
        kept.push(&run).expect("runs come in order");
    });
    let step_by_step = rate(&mut |index| {
        plan.run_step_by_step(&seed, index, &mut run, &mut scratch).expect("no checked scenario fails");
    });
    println!(
        "{name}: {alone:.0} runs/s, {with_results:.0} with aggregate and kept runs ({bytes} bytes for 10,000 runs), {step_by_step:.0} step by step"
    );
}

fn rate(play: &mut impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < LONG {
        for _ in 0..10 {
            play(runs);
            runs += 1;
        }
    }
    runs as f64 / start.elapsed().as_secs_f64()
}
