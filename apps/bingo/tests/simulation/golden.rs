//! The first runs of every shipped scenario, as a digest. If one of these changes, results that people have
//! published can no longer be repeated: that needs a reason, and a line in the changelog.

use sha2::{Digest, Sha256};
use turnwise_bingo::{Plan, Run, Scratch, Seed, read, shipped};

/// The first eight bytes of the SHA-256 over the first thousand runs.
fn digest(name: &str) -> String {
    let scenario = shipped().iter().find(|shipped| shipped.name == name).unwrap();
    let plan = Plan::new(&read(scenario.text).unwrap());
    let seed = Seed::new("golden");
    let (mut run, mut scratch) = (Run::default(), Scratch::new());
    let mut hash = Sha256::new();
    for index in 0..1_000 {
        plan.run(&seed, index, &mut run, &mut scratch).unwrap();
        hash.update(postcard::to_stdvec(&run).unwrap());
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_first_thousand_runs_of_performance_never_change() {
    assert_eq!(digest("performance"), "f938c0573c5e7a91");
}

#[test]
fn the_first_thousand_runs_of_day_never_change() {
    assert_eq!(digest("day"), "c310e2c540567a6f");
}

#[test]
fn the_first_thousand_runs_of_two_days_never_change() {
    assert_eq!(digest("two-days"), "614425ab0bc1ec21");
}

#[test]
fn the_first_thousand_runs_of_nine_days_never_change() {
    assert_eq!(digest("nine-days"), "d746c6656e7e1f73");
}

#[test]
fn every_shipped_scenario_is_pinned() {
    let names: Vec<&str> = shipped().iter().map(|shipped| shipped.name).collect();
    assert_eq!(names, ["performance", "day", "two-days", "nine-days"], "give a new one its digest above");
}
