//! The first runs of every shipped scenario, as a digest. If one of these changes, results that people have
//! published can no longer be repeated: that needs a reason, and a line in the changelog.

use sha2::{Digest, Sha256};
use turnwise_bingo::{Plan, Run, Scratch, Seed, read, shipped};

/// The first eight bytes of the SHA-256 over the first thousand runs.
fn digest(plan: &Plan) -> String {
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
fn the_first_thousand_runs_never_change() {
    let expected = [("performance", ""), ("day", ""), ("two-days", ""), ("nine-days", "")];
    let found: Vec<(&str, String)> = shipped()
        .iter()
        .map(|shipped| (shipped.name, digest(&Plan::new(&read(shipped.text).unwrap()))))
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, digest)| (*name, digest.as_str())).collect();
    assert_eq!(found, expected);
}
