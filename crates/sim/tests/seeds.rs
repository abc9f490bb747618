//! A hundred worlds. The full run is a step of the gate: `cargo xtask sim`.

use turnwise_sim::{Options, run};

#[test]
fn promises_hold_in_every_world() {
    for seed in 0..100 {
        let report = run(Options { seed, ..Options::default() });
        if let Some(broken) = report.broken {
            report.last.iter().for_each(|line| println!("{line}"));
            panic!("seed {seed} breaks promise {}: {}", broken.promise, broken.how);
        }
    }
}
