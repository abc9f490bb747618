//! Runs that fail: found, tried again on their own, told at last; and the others stand.

use serde_json::json;
use turnwise::{Name, State, Target};
use turnwise_bingo::{Format, StatusWord, Verdict};

use crate::world::{World, local, scenario, with};

const RUNS: u64 = 300;

/// Weak point 8: one failed run of a million, and there were no aggregates at all.
#[tokio::test]
async fn failed_runs_are_told_with_their_seed_and_the_others_have_their_aggregates() {
    let troubled = with("trouble", json!({"runs": [41, 7, 250]}));
    let world = World::new(64).await;
    let batch = world.play(&troubled, RUNS).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.verdict, results.simulated, results.failed_runs), (Verdict::Error, RUNS - 3, 3));
    assert_eq!(results.summary.runs, RUNS - 3);
    let failed: Vec<u64> = results.failures.iter().map(|failure| failure.run).collect();
    assert_eq!(failed, [7, 41, 250]);
    for failure in &results.failures {
        assert_eq!((failure.count, failure.attempts, failure.seed.as_str()), (1, 5, "a seed"));
        assert!(
            failure.error.contains(&format!("run {} of seed `a seed` failed", failure.run)),
            "{failure:?}"
        );
    }
    let status = world.bingo.status(batch).await.unwrap();
    assert_eq!((status.status, status.failed_runs, status.ended_runs), (StatusWord::Error, 3, RUNS));
    assert!(status.message.unwrap().starts_with("3 of 300 runs failed: run 7 of seed `a seed` failed"));
    let expected = local(&troubled, RUNS);
    assert_eq!(results.summary, expected.summary, "without an engine it is the same");
    assert_eq!(results.failures, expected.failures);
}

#[tokio::test]
async fn a_run_that_goes_well_at_last_leaves_no_trace_in_the_digits() {
    // It fails in its range and four times on its own.
    let troubled = with("trouble", json!({"runs": [0, 130, 299], "attempts": 5}));
    let world = World::new(64).await;
    let batch = world.play(&troubled, RUNS).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.verdict, results.simulated, results.failed_runs), (Verdict::Completed, RUNS, 0));
    assert_eq!(results.summary, local(&scenario(), RUNS).summary);
    let alone = world.jobs(batch, "bingo.run").await;
    assert_eq!(
        alone.iter().map(|row| (row.header.state, row.header.attempt)).collect::<Vec<_>>(),
        [(State::Done, 5); 3]
    );
    let mut export = world.bingo.export(batch, Format::Csv).await.unwrap();
    let mut text = String::new();
    while let Some(part) = export.next().await.unwrap() {
        text.push_str(&part);
    }
    let runs: Vec<u64> = text
        .lines()
        .skip(1)
        .step_by(2)
        .map(|line| line.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(runs, (0..RUNS).collect::<Vec<_>>(), "they are exported where they belong");
}

#[tokio::test]
async fn many_failures_are_counted_and_the_first_are_told() {
    let troubled = with("trouble", json!({"runs": (0..200).rev().collect::<Vec<u64>>()}));
    let world = World::new(150).await;
    let batch = world.play(&troubled, RUNS).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.failed_runs, results.simulated), (200, 100));
    let told: Vec<u64> = results.failures.iter().map(|failure| failure.run).collect();
    assert_eq!(told, (0..100).collect::<Vec<_>>());
}

/// A range of which hardly anything went well was one failure, so what a batch came to depended on how it was divided.
#[tokio::test]
async fn a_range_with_many_failed_runs_is_divided_until_each_has_its_own_chance() {
    let troubled = with("trouble", json!({"runs": (100..700).collect::<Vec<u64>>(), "attempts": 1}));
    let world = World::new(1_000).await;
    let batch = world.play(&troubled, 1_000).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.verdict, results.failed_runs, results.simulated), (Verdict::Completed, 0, 1_000));
    assert_eq!(results.summary, local(&troubled, 1_000).summary);
    assert_eq!(world.jobs(batch, "bingo.range").await.len(), 3, "the range and its two halves");
}

#[tokio::test]
async fn ranges_that_somebody_cancelled_are_told_as_such() {
    let world = World::new(50).await;
    let ranges = Target::Kind(Name::new("bingo.range").unwrap());
    world.test.engine.pause(ranges.clone()).await.unwrap();
    let batch = world.start(&scenario(), RUNS).await;
    world.test.idle().await.unwrap();
    let range = world.jobs(batch, "bingo.range").await[0].header.id;
    world.test.engine.cancel(range).await.unwrap();
    world.test.engine.resume(ranges).await.unwrap();
    world.end(batch).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.verdict, results.failed_runs, results.simulated), (Verdict::Error, 0, RUNS - 50));
    let message = results.message.unwrap();
    assert!(message.starts_with("50 of 300 runs were cancelled with their jobs"), "{message}");
    assert!(!message.contains("not kept"), "{message}");
}

#[tokio::test]
async fn a_batch_without_a_single_run_has_no_figures() {
    let troubled = with("trouble", json!({"runs": [0, 1]}));
    let world = World::new(50).await;
    let batch = world.play(&troubled, 2).await;
    let results = serde_json::to_value(world.bingo.results(batch).await.unwrap()).unwrap();
    let team = &results["summary"]["teams"][0];
    assert_eq!((&results["simulated"], &team["name"]), (&json!(0), &json!("Team A")));
    for nothing in [&team["points"], &team["tiles"], &team["row_reached"], &team["wins"]] {
        assert_eq!(*nothing, json!(null));
    }
    assert_eq!((&team["rows"][0]["share"], &team["histogram"]), (&json!(null), &json!([])));
}
