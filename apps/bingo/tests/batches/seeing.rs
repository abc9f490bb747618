//! What there is to see of a batch: weak point 9 had no percentiles, no comparison, no export and no rerun.

use serde_json::{Value, json};
use turnwise::Name;
use turnwise_bingo::{Format, compare};

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
    assert!((summary.teams[0].points.mean - mean).abs() < 1e-9, "the aggregates are those of the runs");
    assert!(summary.teams[0].points.p5 <= summary.teams[0].points.p95);
}

#[tokio::test]
async fn two_batches_are_compared_team_by_team() {
    let world = World::new(100).await;
    let first = world.play(&scenario(), 300).await;
    let longer = world.play(&with("duration_seconds", json!(8_000)), 300).await;
    let again = world.play(&scenario(), 300).await;
    let results = async |batch| world.bingo.results(batch).await.unwrap();
    let same = compare(&results(first).await, &results(again).await);
    assert!(same.teams.iter().all(|team| team.points.difference == 0.0 && !team.points.clear), "{same:?}");
    let more = compare(&results(first).await, &results(longer).await);
    assert_eq!(more.teams.len(), 2);
    assert!(more.teams.iter().all(|team| team.points.clear && team.points.low > 0.0), "{more:?}");
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
    let acme = Name::new("acme").unwrap();
    assert!(world.bingo.list(None, |owner| *owner != acme).await.unwrap().batches.is_empty());
}
