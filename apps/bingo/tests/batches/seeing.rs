//! What there is to see of a batch: weak point 9 had no percentiles, no comparison, no export and no rerun.

use std::future::{Future as _, poll_fn};
use std::task::Poll;

use serde_json::{Value, json};
use turnwise::{Name, Raw, RawBatch, When};
use turnwise_bingo::{Format, TeamComparison, compare};

use crate::world::{World, scenario, with};

async fn exported(world: &World, batch: turnwise::BatchId, format: Format) -> String {
    let mut export = world.bingo.export(batch, format).await.unwrap();
    let mut text = String::new();
    while let Some(part) = export.next().await.unwrap() {
        text.push_str(&part);
    }
    text
}

#[tokio::test]
async fn every_run_is_exported_and_can_be_told_again() {
    let world = World::new(16).await;
    let batch = world.play(&scenario(), 100).await;
    let csv = exported(&world, batch, Format::Csv).await;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "run,team,points,tiles,row_reached,win_share");
    assert_eq!(lines.len(), 1 + 2 * 100);
    let json = exported(&world, batch, Format::Json).await;
    let runs: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 100);
    for index in [0, 41, 99] {
        let timeline = world.bingo.timeline(batch, index).await.unwrap();
        let kept = &runs[usize::try_from(index).unwrap()];
        assert_eq!(kept["run"], index);
        for (told, kept) in timeline.run.teams.iter().zip(kept["teams"].as_array().unwrap()) {
            let points = (told.points, told.tiles, told.row_reached);
            assert_eq!(
                json!([points.0, points.1, points.2]),
                json!([kept["points"], kept["tiles"], kept["row_reached"]])
            );
        }
        assert!(timeline.teams.iter().all(|team| !team.moments.is_empty()));
    }
    let mean: f64 = runs.iter().map(|run| run["teams"][0]["points"].as_f64().unwrap()).sum::<f64>() / 100.0;
    let summary = world.summary(batch).await;
    let points = summary.teams[0].points.as_ref().unwrap();
    assert!((points.mean - mean).abs() < 1e-9, "the aggregates are those of the runs");
    assert!(points.p5 <= points.p95);
}

/// Weak point 8: whoever asked how far a batch was made the server load every run. Here they can be gone.
#[tokio::test]
async fn status_and_results_need_none_of_the_runs() {
    let world = World::new(16).await;
    let batch = world.play(&scenario(), 100).await;
    let (status, results) =
        (world.bingo.status(batch).await.unwrap(), world.bingo.results(batch).await.unwrap());
    let ranges: Vec<_> = world.jobs(batch, "bingo.range").await.iter().map(|row| row.header.id).collect();
    assert_eq!(world.test.engine.forget(ranges.clone()).await.unwrap(), ranges.len());
    assert!(world.bingo.export(batch, Format::Csv).await.is_err(), "the single runs are gone");
    assert_eq!(world.bingo.results(batch).await.unwrap().summary, results.summary);
    let after = serde_json::to_value(world.bingo.status(batch).await.unwrap()).unwrap();
    assert_eq!(after, serde_json::to_value(status).unwrap());
    assert_eq!(after["ended_runs"], 100);
}

#[tokio::test]
async fn two_batches_are_compared_team_by_team() {
    let world = World::new(100).await;
    let first = world.play(&scenario(), 300).await;
    let longer = world.play(&with("duration_seconds", json!(8_000)), 300).await;
    let again = world.play(&scenario(), 300).await;
    let results = async |batch| world.bingo.results(batch).await.unwrap();
    let same = compare(&results(first).await, &results(again).await);
    let alike =
        |team: &TeamComparison| (team.points.difference, team.points.clear) == (Some(0.0), Some(false));
    assert!(same.teams.iter().all(alike), "{same:?}");
    let more = compare(&results(first).await, &results(longer).await);
    assert_eq!(more.teams.len(), 2);
    let higher = |team: &TeamComparison| team.points.clear == Some(true) && team.points.low > Some(0.0);
    assert!(more.teams.iter().all(higher), "{more:?}");
    let few = world.play(&with("duration_seconds", json!(8_000)), 2).await;
    let few = compare(&results(first).await, &results(few).await);
    assert!(few.teams.iter().all(|team| team.points.clear.is_none() && team.points.low.is_none()), "{few:?}");
    let mut other = scenario();
    other["teams"][1]["key"] = json!("c");
    let other = world.play(&other, 50).await;
    let compared = compare(&results(first).await, &results(other).await);
    assert_eq!((compared.only_first, compared.only_second), (vec!["b".to_owned()], vec!["c".to_owned()]));
}

#[tokio::test]
async fn batches_are_listed_for_those_who_may_see_them() {
    let world = World::new(100).await;
    let batch = world.play(&scenario(), 100).await;
    let listed = world.bingo.list(None, |_| true).await.unwrap();
    assert_eq!(listed.batches.len(), 1);
    assert_eq!((listed.batches[0].id.clone(), listed.batches[0].runs), (batch.to_string(), 100));
    assert_eq!(listed.batches[0].scenario, "Small performance scenario");
    // Batches of others do not hide it, even if they have ours for an end.
    for number in 0..250 {
        let broken = (number == 7).then(|| (Raw::job("bingo.finish", json!({})), When::Settled));
        let jobs = vec![Raw::job("bingo.run", json!({"run": 0}))];
        let other = RawBatch { name: "other".into(), owner: None, jobs, then: broken, open: false };
        world.test.engine.submit_raw_batch(other).await.unwrap();
    }
    let again = world.bingo.list(None, |_| true).await.unwrap();
    assert_eq!((again.batches.len(), again.next), (1, None));
    assert_eq!(again.batches[0].id, batch.to_string());
    let acme = Name::new("acme").unwrap();
    assert!(world.bingo.list(None, |owner| *owner != acme).await.unwrap().batches.is_empty());
}

/// A run with many attempts would keep the server from answering anybody else.
#[test]
fn a_run_is_not_told_on_a_thread_that_answers() {
    let threads = 4;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(threads).build().unwrap();
    runtime.block_on(async {
        let world = World::new(100).await;
        let batch = world.play(&scenario(), 10).await;
        let expected = world.bingo.timeline(batch, 3).await.unwrap();
        // While all threads that may block do, there is nobody to tell it.
        let (begun, begin) = std::sync::mpsc::channel();
        let gate = std::sync::Arc::new(std::sync::Barrier::new(threads + 1));
        for _ in 0..threads {
            let (begun, gate) = (begun.clone(), gate.clone());
            tokio::task::spawn_blocking(move || {
                begun.send(()).unwrap();
                gate.wait();
            });
        }
        (0..threads).for_each(|_| begin.recv().unwrap());
        let mut telling = std::pin::pin!(world.bingo.timeline(batch, 3));
        for _ in 0..10 {
            let poll = poll_fn(|cx| Poll::Ready(telling.as_mut().poll(cx).is_pending()));
            assert!(poll.await, "nobody can have told it");
            tokio::task::yield_now().await;
        }
        gate.wait();
        assert_eq!(telling.await.unwrap(), expected);
    });
}

/// Telling takes turns, however many ask.
#[tokio::test]
async fn many_runs_are_told_at_once() {
    let world = World::new(100).await;
    let batch = world.play(&scenario(), 40).await;
    let telling: Vec<_> = (0..40)
        .map(|run| {
            let bingo = world.bingo.clone();
            tokio::spawn(async move { bingo.timeline(batch, run).await.unwrap().run.index })
        })
        .collect();
    for (run, told) in telling.into_iter().enumerate() {
        assert_eq!(told.await.unwrap(), run as u64);
    }
}
