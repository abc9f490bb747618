//! The real process is killed with SIGKILL at random moments under load, again and again, and the history that its
//! handlers wrote outside the engine is checked by a checker, not by eye.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use system_tests::history::{What, faults, read};

const KILLS: u32 = 32;

/// Starts the process.
fn victim(directory: &Path, life: u32, finish: bool) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_victim"));
    command.arg(directory).arg(life.to_string()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    if finish {
        command.arg("finish");
    }
    command.spawn().expect("the victim starts")
}

/// A number from a seed: which seed is printed, so that a failure can be repeated.
fn chance(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn killed_again_and_again_it_keeps_its_promises() {
    let seed = std::env::var("TURNWISE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| std::process::id().into());
    println!("to choose the same moments again: TURNWISE_SEED={seed}");
    let mut state = seed;
    let directory = tempfile::tempdir().unwrap();
    for life in 1..=KILLS {
        let mut child = victim(directory.path(), life, false);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // After so many lines it dies, wherever it is: in a commit, in a handler, while it opens its store.
        for _ in 0..chance(&mut state) % 600 {
            if lines.next().is_none() {
                panic!("life {life} ended by itself: {:?}", child.wait());
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut last = victim(directory.path(), KILLS + 1, true);
    for _ in BufReader::new(last.stdout.take().unwrap()).lines() {}
    assert!(last.wait().unwrap().success());
    let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
    let entries = read(&log).unwrap();
    let accepted = entries.iter().filter(|entry| entry.what == What::Accepted).count();
    assert!(accepted > 500, "only {accepted} were accepted: this is no load");
    let found = faults(&entries, &BTreeSet::new());
    assert!(found.is_empty(), "seed {seed}:\n{}", found.join("\n"));
}
