//! What is not accepted, and that nothing is queued then.

use serde_json::json;
use turnwise::{BatchId, Raw, RawBatch, State, When};
use turnwise_bingo::{Format, Order, StatusWord, Unfit, check, runs_of};

use crate::world::{World, crowded, scenario, with};

fn refused(name: Option<&str>, scenario: &str, runs: u64, seed: &str) -> String {
    Order::new(name, scenario, runs, seed).expect_err("it makes no sense").to_string()
}

#[test]
fn bad_orders_are_refused_with_a_reason() {
    let good = scenario().to_string();
    assert!(Order::new(None, &good, 1, "s").is_ok());
    let cut = refused(None, &good[..good.len() / 2], 1, "s");
    assert!(cut.contains("this is not JSON"), "{cut}");
    assert!(refused(None, "garbage \u{0}\u{1b}[2J", 1, "s").contains("this is not JSON"));
    assert!(refused(None, &format!("{good}{}", " ".repeat(5 << 20)), 1, "s").contains("bytes, at most"));
    assert!(
        refused(None, &with("duration_seconds", json!(-1)).to_string(), 1, "s").contains("duration_seconds")
    );
    let large = json!((0..20_000).map(|n| json!({"key": format!("p{n}"), "name": "P"})).collect::<Vec<_>>());
    assert!(matches!(Order::new(None, &with("players", large).to_string(), 1, "s"), Err(Unfit::Scenario(_))));
    for runs in [0, 100_000_001, u64::MAX] {
        let why = refused(None, &good, runs, "s");
        assert!(
            why.contains(&format!("runs: {runs} is not a number of runs: use a whole number from 1 to")),
            "{why}"
        );
    }
    for text in ["0", "-5", "1e6", "", "ten", "99999999999999999999999"] {
        assert!(runs_of(text).unwrap_err().contains("use a whole number from 1 to 100000000"), "{text}");
    }
    assert_eq!(runs_of("1000000"), Ok(1_000_000));
    for seed in ["", "a\nb", &"x".repeat(257)] {
        assert!(refused(None, &good, 1, seed).contains("seed: it has 1 to 256 bytes"), "{seed:?}");
    }
    assert!(refused(Some("a\tb"), &good, 1, "s").starts_with("name: "));
    assert!(refused(Some(""), &good, 1, "s").starts_with("name: "));
}

#[tokio::test]
async fn batches_that_are_not_there_or_not_ours() {
    let world = World::new(10).await;
    let nobody = BatchId::from_u64(77);
    let errors = [
        world.bingo.status(nobody).await.unwrap_err().to_string(),
        world.bingo.results(nobody).await.unwrap_err().to_string(),
        world.bingo.timeline(nobody, 0).await.unwrap_err().to_string(),
        world.bingo.export(nobody, Format::Csv).await.unwrap_err().to_string(),
        world.bingo.cancel(nobody).await.unwrap_err().to_string(),
    ];
    assert!(errors.iter().all(|error| error.contains(&nobody.to_string())), "{errors:?}");
    let other = RawBatch {
        name: "naps".into(),
        owner: None,
        jobs: vec![Raw::job("bingo.run", json!({"run": 0}))],
        then: None,
        open: false,
    };
    let other = world.test.engine.submit_raw_batch(other).await.unwrap().id;
    world.test.idle().await.unwrap();
    for error in [
        world.bingo.status(other).await.unwrap_err(),
        world.bingo.results(other).await.unwrap_err(),
        world.bingo.timeline(other, 0).await.unwrap_err(),
        world.bingo.cancel(other).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("is no batch of bingo"), "{error}");
    }
    assert!(world.bingo.list(None, |_| true).await.unwrap().batches.is_empty());
}

#[tokio::test]
async fn a_run_that_a_batch_does_not_have() {
    let world = World::new(10).await;
    let batch = world.play(&scenario(), 20).await;
    let error = world.bingo.timeline(batch, 20).await.unwrap_err().to_string();
    assert!(error.contains("has runs 0 to 19, and no 20"), "{error}");
}

#[test]
fn a_check_refuses_what_a_batch_refuses() {
    let long = with("name", json!("🎲".repeat(100))).to_string();
    let large = crowded(64, 64, 1).to_string();
    for (text, place) in [(long, "name"), (large, "teams")] {
        let faults = check(&text).unwrap_err();
        assert_eq!(faults.list()[0].place, place, "{faults}");
        assert_eq!(Order::new(None, &text, 1, "s").unwrap_err(), Unfit::Order(faults.list()[0].clone()));
    }
    assert!(check(&crowded(12, 64, 100).to_string()).is_ok());
}

/// An order is checked wherever it is read: anybody may submit a job of any kind.
#[tokio::test]
async fn an_order_that_nobody_checked_fails_with_a_reason() {
    let world = World::new(10).await;
    for runs in [0, 1_000_000_000_000_000_000_u64] {
        let order = json!({"name": "n", "runs": runs, "seed": "s", "scenario": scenario()});
        let jobs = vec![Raw::job("bingo.plan", json!({})), Raw::job("bingo.run", json!({"run": u64::MAX}))];
        let then = Some((Raw::job("bingo.finish", order), When::Settled));
        let batch = RawBatch { name: "raw".into(), owner: None, jobs, then, open: false };
        let batch = world.test.engine.submit_raw_batch(batch).await.unwrap();
        world.test.idle().await.unwrap();
        let finish = world.test.engine.job(batch.then.unwrap()).await.unwrap().unwrap();
        assert_eq!(finish.state, State::Dead);
        let why = &finish.errors.last().unwrap().error;
        assert!(why.contains(&format!("runs: {runs} is not a number of runs")), "{why}");
        assert_eq!(world.bingo.status(batch.id).await.unwrap().status, StatusWord::Error);
        assert!(world.bingo.timeline(batch.id, 0).await.unwrap_err().to_string().contains("is not a number"));
    }
}
