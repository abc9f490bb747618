//! The gate: the steps that a change must pass, in order. It stops at the first failure and says how to rerun.

mod examples;
mod steps;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use steps::Step;

/// Which steps to take.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Take this step only; may be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave this step out; may be repeated.
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
    /// Add the soak: many more seeds in the simulation.
    #[arg(long)]
    long: bool,
}

/// How a step ended.
struct Taken {
    step: Step,
    time: Duration,
    failure: Option<anyhow::Error>,
}

/// Runs the gate.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let steps = pick(options)?;
    let taken = take(&steps, |step| step.take(root));
    println!("\n{}", summary(&steps, &taken));
    if let Some(Taken { step, failure: Some(failure), .. }) = taken.last() {
        bail!("step `{step}` failed: {failure:#}\nthe step alone:\n    cargo xtask test --only {step}");
    }
    println!("{}", verdict(&steps));
    Ok(())
}

/// The steps that were asked for, in the gate's order.
fn pick(options: &Options) -> Result<Vec<Step>> {
    let Options { only, skip, long } = options;
    let wanted = |step: &Step| if only.is_empty() { *long || step.is_usual() } else { only.contains(step) };
    let steps: Vec<_> = Step::all().filter(wanted).filter(|step| !skip.contains(step)).collect();
    ensure!(!steps.is_empty(), "no step is left: `--skip` takes away all that `--only` names");
    Ok(steps)
}

/// Takes one step after the other, up to the first that fails.
fn take(steps: &[Step], mut perform: impl FnMut(Step) -> Result<()>) -> Vec<Taken> {
    let mut taken = Vec::new();
    for (number, step) in (1..).zip(steps.iter().copied()) {
        println!("[{number}/{}] {step}: {}", steps.len(), step.about());
        let start = Instant::now();
        let failure = perform(step).err();
        let time = start.elapsed();
        let failed = failure.is_some();
        println!("[{number}/{}] {step}: {} after {:.1} s", steps.len(), ending(failed), time.as_secs_f64());
        taken.push(Taken { step, time, failure });
        if failed {
            break;
        }
    }
    taken
}

fn ending(failed: bool) -> &'static str {
    if failed { "FAILED" } else { "passed" }
}

fn summary(steps: &[Step], taken: &[Taken]) -> String {
    let mut table = format!("{:<10} {:>8}\n", "step", "seconds");
    for (index, step) in steps.iter().enumerate() {
        let (seconds, how) = match taken.get(index) {
            Some(taken) => (format!("{:.1}", taken.time.as_secs_f64()), ending(taken.failure.is_some())),
            None => ("-".to_owned(), "not taken"),
        };
        writeln!(table, "{:<10} {seconds:>8}  {how}", step.to_string()).expect("a string takes everything");
    }
    let total: Duration = taken.iter().map(|taken| taken.time).sum();
    write!(table, "{:<10} {:>8.1}", "all", total.as_secs_f64()).expect("a string takes everything");
    table
}

/// A partial run is never called the gate.
fn verdict(steps: &[Step]) -> String {
    let left: Vec<_> = Step::all()
        .filter(|step| step.is_usual() && !steps.contains(step))
        .map(|step| step.to_string())
        .collect();
    if left.is_empty() {
        return "the gate is passed".to_owned();
    }
    format!("these steps passed; the gate also has {}", left.join(", "))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn options(only: &[Step], skip: &[Step], long: bool) -> Options {
        Options { only: only.to_vec(), skip: skip.to_vec(), long }
    }

    #[test]
    fn steps_are_picked_in_the_gates_order() {
        let usual = pick(&options(&[], &[], false)).unwrap();
        assert!(usual.contains(&Step::Sim) && !usual.contains(&Step::Soak));
        assert_eq!(pick(&options(&[], &[], true)).unwrap().last(), Some(&Step::Soak));
        assert_eq!(pick(&options(&[Step::Sim, Step::Fmt], &[], false)).unwrap(), [Step::Fmt, Step::Sim]);
        assert_eq!(pick(&options(&[], &[Step::Fmt], false)).unwrap().len(), usual.len() - 1);
        assert!(pick(&options(&[Step::Fmt], &[Step::Fmt], false)).is_err());
    }

    #[test]
    fn the_first_failure_ends_the_gate() {
        let steps = [Step::Fmt, Step::Tidy, Step::Docs];
        let taken = take(&steps, |step| if step == Step::Tidy { Err(anyhow!("untidy")) } else { Ok(()) });
        assert_eq!(taken.iter().map(|taken| taken.step).collect::<Vec<_>>(), [Step::Fmt, Step::Tidy]);
        let table = summary(&steps, &taken);
        let ends = ["passed", "FAILED", "not taken"];
        assert!(table.lines().skip(1).zip(ends).all(|(line, end)| line.ends_with(end)), "{table}");
        assert_eq!(table.lines().count(), 5, "{table}");
    }

    #[test]
    fn a_partial_run_says_what_it_left_out() {
        let all = pick(&options(&[], &[], false)).unwrap();
        assert_eq!(verdict(&all), "the gate is passed");
        assert!(verdict(&all[..all.len() - 1]).ends_with("also has sim"));
    }
}
