//! Runs are divided, worked at and merged: however that goes, the digits are the same.

use serde_json::json;
use turnwise::testing::TestEngine;
use turnwise::{Config, Engine, Name, State, Target, minutes, secs};
use turnwise_bingo::{Bingo, Settings, StatusWord, Verdict};

use crate::world::{World, crowded, local, order, scenario, with};

const RUNS: u64 = 500;

#[tokio::test]
async fn local_and_distributed_runs_give_the_same_digits_however_they_are_split() {
    let expected = local(&scenario(), RUNS);
    assert_eq!((expected.verdict, expected.simulated), (Verdict::Completed, RUNS));
    assert!(
        expected.summary.teams.iter().all(|team| team.points.as_ref().unwrap().sd > 0.0),
        "the runs differ"
    );
    for range in [1_000, 100, 33] {
        let world = World::new(range).await;
        let batch = world.play(&scenario(), RUNS).await;
        let results = world.bingo.results(batch).await.unwrap();
        assert_eq!(results.summary, expected.summary, "ranges of {range}");
        assert_eq!((results.verdict, results.simulated, results.failed_runs), (Verdict::Completed, RUNS, 0));
    }
}

#[tokio::test]
async fn a_batch_measures_for_itself_how_large_its_ranges_are() {
    let test = TestEngine::new().await.unwrap();
    let bingo = Bingo::register(&test.engine, Settings::default());
    let running = test.engine.start().await.unwrap();
    let batch = bingo.start(order(&scenario(), RUNS), None).await.unwrap().id;
    test.idle().await.unwrap();
    assert_eq!(bingo.results(batch).await.unwrap().summary, local(&scenario(), RUNS).summary);
    running.stop().await;
}

/// Weak point 1: one row and a part of a message for each run made a ceiling that no worker could lift.
#[tokio::test]
async fn a_batch_costs_jobs_for_its_ranges_and_none_for_its_runs() {
    let world = World::new(250).await;
    let batch = world.play(&scenario(), 2_000).await;
    assert_eq!(world.jobs(batch, "bingo.range").await.len(), 8);
    let view = world.test.engine.batch_view(batch).await.unwrap().unwrap();
    assert_eq!(view.batch.total, 9, "the ranges, and the job that made them");
    let bytes = world.test.engine.job(world.jobs(batch, "bingo.range").await[0].header.id).await.unwrap();
    let bytes = bytes.unwrap().result.unwrap().to_string().len();
    assert!(bytes < 250 * 8, "{bytes} bytes for 250 runs are more than a few for each");
}

/// Weak point 6: a run whose start was never published waited for ever.
#[tokio::test]
async fn a_batch_that_nobody_heard_of_is_done_when_somebody_comes() {
    let test = TestEngine::new().await.unwrap();
    let bingo = Bingo::register(&test.engine, Settings { range: Some(100), ..Settings::default() });
    let batch = bingo.start(order(&scenario(), RUNS), None).await.unwrap().id;
    assert_eq!(bingo.status(batch).await.unwrap().status, StatusWord::Pending);
    let running = test.engine.start().await.unwrap();
    test.idle().await.unwrap();
    assert_eq!(bingo.results(batch).await.unwrap().summary, local(&scenario(), RUNS).summary);
    running.stop().await;
}

/// Weak point 6: results that were only in memory were lost with the process, and their runs never ran again.
#[tokio::test]
async fn a_batch_goes_on_where_it_was_when_the_process_ends_in_its_middle() {
    let home = tempfile::tempdir().unwrap();
    let slow = with("simulation_delay_ms", json!(1));
    let settings = Settings { slots: Some(2), range: Some(20), ..Settings::default() };
    let engine = Engine::open(Config::embedded(home.path())).await.unwrap();
    let bingo = Bingo::register(&engine, settings.clone());
    let running = engine.start().await.unwrap();
    let batch = bingo.start(order(&slow, RUNS), None).await.unwrap().id;
    let ended = async |least: u64| {
        while bingo.status(batch).await.unwrap().ended_runs < least {
            tokio::task::yield_now().await;
        }
    };
    ended(100).await;
    running.stop().await;
    let halfway = bingo.status(batch).await.unwrap();
    assert_eq!(halfway.status, StatusWord::Running);
    assert!((100..RUNS).contains(&halfway.ended_runs), "{halfway:?}");
    drop(bingo);
    engine.close().await;
    let engine = Engine::open(Config::embedded(home.path())).await.unwrap();
    let bingo = Bingo::register(&engine, settings);
    let running = engine.start().await.unwrap();
    engine.drain().await.unwrap();
    assert_eq!(bingo.results(batch).await.unwrap().summary, local(&slow, RUNS).summary);
    running.stop().await;
}

/// What cannot be caught in the process is found by halves.
#[tokio::test]
async fn a_range_that_took_too_long_is_divided() {
    let world = World::new(RUNS).await;
    let slow = with("simulation_delay_ms", json!(2));
    let batch = world.start(&slow, RUNS).await;
    while !world.jobs(batch, "bingo.range").await.iter().any(|row| row.header.state == State::Running) {
        tokio::task::yield_now().await;
    }
    world.test.time.advance(minutes(11));
    world.end(batch).await;
    let ranges = world.jobs(batch, "bingo.range").await;
    assert_eq!(ranges.len(), 3, "the range and its two halves");
    assert!(ranges.iter().all(|row| row.header.state == State::Done));
    assert_eq!(world.summary(batch).await, local(&slow, RUNS).summary);
}

/// Weak point 8: the status was flipped before the aggregates were written, so a crash left a batch without them.
#[tokio::test]
async fn a_batch_has_ended_when_its_aggregates_are_there_and_not_before() {
    let world = World::new(100).await;
    let finish = Target::Kind(Name::new("bingo.finish").unwrap());
    world.test.engine.pause(finish.clone()).await.unwrap();
    let batch = world.start(&scenario(), RUNS).await;
    world.test.idle().await.unwrap();
    let status = world.bingo.status(batch).await.unwrap();
    assert_eq!((status.status, status.ended_runs, status.pending_jobs), (StatusWord::Running, RUNS, 0));
    assert!(world.bingo.results(batch).await.unwrap_err().to_string().contains("no results yet"));
    world.test.engine.resume(finish).await.unwrap();
    world.test.idle().await.unwrap();
    assert_eq!(world.bingo.status(batch).await.unwrap().status, StatusWord::Completed);
    assert_eq!(world.summary(batch).await.runs, RUNS);
}

/// Weak point 9: a batch could not be cancelled.
#[tokio::test]
async fn a_cancelled_batch_stops_and_keeps_what_it_has() {
    let world = World::new(10).await;
    let batch = world.start(&with("simulation_delay_ms", json!(1)), 100_000).await;
    while world.bingo.status(batch).await.unwrap().ended_runs < 20 {
        tokio::task::yield_now().await;
    }
    world.bingo.cancel(batch).await.unwrap();
    world.end(batch).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!(results.verdict, Verdict::Cancelled);
    assert!((20..100_000).contains(&results.simulated), "{}", results.simulated);
    assert_eq!(results.summary.runs, results.simulated, "what was simulated is in the aggregates");
    let status = world.bingo.status(batch).await.unwrap();
    assert_eq!(status.status, StatusWord::Cancelled);
    assert!(status.message.unwrap().contains("of 100000 runs were simulated"));
}

#[tokio::test]
async fn what_does_not_fit_into_a_result_is_divided() {
    let mut crowded = with("duration_seconds", json!(300));
    for (tile, required) in [1, 1, 2, 2].into_iter().enumerate() {
        crowded["rows"][0]["tiles"][tile]["required"] = json!(required);
    }
    let team = crowded["teams"][0].clone();
    let teams = (0..64).map(|number| {
        let mut team = team.clone();
        (team["key"], team["name"]) = (json!(format!("t{number}")), json!(format!("Team {number}")));
        team["players"] = json!([format!("p{number}")]);
        team
    });
    crowded["teams"] = teams.collect();
    crowded["players"] = (0..64).map(|n| json!({"key": format!("p{n}"), "name": format!("P {n}")})).collect();
    let runs = 20_000;
    let world = World::new(runs).await;
    let batch = world.play(&crowded, runs).await;
    let results = world.bingo.results(batch).await.unwrap();
    assert_eq!((results.verdict, results.simulated), (Verdict::Completed, runs));
    let ranges = world.jobs(batch, "bingo.range").await.len();
    assert!(ranges > 1, "{ranges}");
    assert_eq!(results.summary, local(&crowded, runs).summary);
}

/// Names were stored for each team, and a batch with long ones could never be merged.
#[tokio::test]
async fn the_largest_scenario_that_is_accepted_can_be_merged() {
    for (teams, rows) in [(12, 64), (64, 12)] {
        let large = crowded(teams, rows, 100);
        let world = World::new(20).await;
        let batch = world.play(&large, 40).await;
        let results = world.bingo.results(batch).await.unwrap();
        assert_eq!((results.verdict, results.simulated), (Verdict::Completed, 40));
        assert_eq!(results.summary, local(&large, 40).summary);
        assert_eq!(results.summary.teams[0].tile_times[0].tile.name.chars().count(), 100);
    }
}

/// The engine closes although handlers of the application need it.
#[tokio::test]
async fn the_engine_can_be_closed() {
    let engine = Engine::open(Config::memory()).await.unwrap();
    let bingo = Bingo::register(&engine, Settings::default());
    let running = engine.start().await.unwrap();
    let batch = bingo.start(order(&scenario(), 10), None).await.unwrap();
    engine.wait(batch.then.unwrap()).await.unwrap();
    running.stop().await;
    drop(bingo);
    tokio::time::timeout(secs(30), engine.close()).await.expect("nobody holds it");
}
