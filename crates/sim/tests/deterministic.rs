//! The same seed gives the same world, to the letter.

use turnwise_sim::{Options, run};

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in (0..2_000).step_by(67) {
        let [one, two] = [(), ()].map(|()| run(Options { seed, ..Options::default() }));
        assert_eq!(one.hash, two.hash, "seed {seed}");
        assert_eq!((one.commits, one.polls, one.faults), (two.commits, two.polls, two.faults), "seed {seed}");
    }
}

#[test]
fn seeds_differ() {
    let hashes: std::collections::BTreeSet<u64> =
        (0..10).map(|seed| run(Options { seed, ..Options::default() }).hash).collect();
    assert_eq!(hashes.len(), 10);
}
