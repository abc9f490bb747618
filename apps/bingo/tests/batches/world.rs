//! A small event whose runs differ, and an engine that plays it.

use serde_json::{Value, json};
use turnwise::testing::TestEngine;
use turnwise::{BatchId, Filter, JobRow, Running, secs};
use turnwise_bingo::{Bingo, Order, Progress, Results, Settings, Summary, run_here, shipped};

/// The performance scenario, cut off while teams are still at work.
pub(crate) fn scenario() -> Value {
    let text = shipped().iter().find(|one| one.name == "performance").unwrap().text;
    let mut scenario: Value = serde_json::from_str(text).unwrap();
    scenario["duration_seconds"] = json!(6_000);
    scenario
}

/// The same with something said differently.
pub(crate) fn with(field: &str, value: Value) -> Value {
    let mut scenario = scenario();
    scenario[field] = value;
    scenario
}

/// Many teams on a large board, whose names have so many characters of four bytes.
pub(crate) fn crowded(teams: usize, rows: usize, name: usize) -> Value {
    let mut crowded = scenario();
    let name = "🎲".repeat(name);
    let row = crowded["rows"][0].clone();
    let rows = (0..rows).map(|number| {
        let mut row = row.clone();
        for (place, tile) in row["tiles"].as_array_mut().unwrap().iter_mut().enumerate() {
            tile["key"] = json!(format!("{:k<64}", format!("t-{number}-{place}-")));
            (tile["name"], tile["required"]) = (json!(name), json!(1));
        }
        row
    });
    crowded["rows"] = rows.collect();
    let team = |number: usize| {
        let (key, player) = (format!("{:k<64}", format!("t{number}-")), format!("p{number}"));
        json!({"key": key, "name": name, "players": [player], "strategy": {"name": "Greedy"}})
    };
    crowded["teams"] = (0..teams).map(team).collect();
    crowded["players"] = (0..teams).map(|n| json!({"key": format!("p{n}"), "name": "P"})).collect();
    crowded
}

pub(crate) fn order(scenario: &Value, runs: u64) -> Order {
    Order::new(None, &scenario.to_string(), runs, "a seed").unwrap()
}

/// What the same order gives without an engine.
pub(crate) fn local(scenario: &Value, runs: u64) -> Results {
    run_here(order(scenario, runs), 2, &Progress::default())
}

/// Bingo on an engine whose time stands still.
pub(crate) struct World {
    pub(crate) test: TestEngine,
    pub(crate) bingo: Bingo,
    _running: Running,
}

impl World {
    /// Ranges have so many runs.
    pub(crate) async fn new(range: u64) -> World {
        let test = TestEngine::new().await.unwrap();
        let settings = Settings { slots: Some(2), range: Some(range), ..Settings::default() };
        let bingo = Bingo::register(&test.engine, settings);
        let running = test.engine.start().await.unwrap();
        World { test, bingo, _running: running }
    }

    pub(crate) async fn start(&self, scenario: &Value, runs: u64) -> BatchId {
        self.bingo.start(order(scenario, runs), Some("acme")).await.unwrap().id
    }

    /// Starts a batch and waits for its end, moving time on for what waits to be tried again.
    pub(crate) async fn play(&self, scenario: &Value, runs: u64) -> BatchId {
        let batch = self.start(scenario, runs).await;
        self.end(batch).await;
        batch
    }

    pub(crate) async fn end(&self, batch: BatchId) {
        self.test.idle().await.unwrap();
        while self.bingo.results(batch).await.is_err() {
            self.test.advance(secs(5)).await.unwrap();
        }
    }

    pub(crate) async fn summary(&self, batch: BatchId) -> Summary {
        self.bingo.results(batch).await.unwrap().summary
    }

    /// The jobs of a batch of one kind.
    pub(crate) async fn jobs(&self, batch: BatchId, kind: &str) -> Vec<JobRow> {
        let filter = Filter { batch: Some(batch), limit: 1_000, ..Filter::default() };
        let (rows, more) = self.test.engine.jobs(filter).await.unwrap();
        assert!(more.is_none(), "one page is enough for a test");
        rows.into_iter().filter(|row| &*row.line.kind == kind).collect()
    }
}
