//! The store's conformance suite over every driver, and the random lives that two drivers share.
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::sync::Arc;

use turnwise_drivers::conformance::store::differ::live_the_same;
use turnwise_drivers::conformance::store::world::{Factory, ManualClock, World};
use turnwise_drivers::memory::MemoryStore;
use turnwise_drivers::sqlite::{SqliteOptions, SqliteStore};
use turnwise_drivers::store_conformance;

struct Memory;

impl Factory for Memory {
    async fn fresh() -> World {
        let clock = Arc::new(ManualClock::default());
        World::new(clock.clone(), false, move || Arc::new(MemoryStore::new(clock.clone())))
    }
}

struct Sqlite;

impl Factory for Sqlite {
    async fn fresh() -> World {
        let clock = Arc::new(ManualClock::default());
        let directory = directory();
        World::new(clock.clone(), true, move || {
            let options = SqliteOptions { directory: directory.path().join("data"), most_bytes: None };
            Arc::new(SqliteStore::open(&options, clock.clone()).unwrap())
        })
    }
}

/// A directory that is gone after the test; in memory where there is such a place, because hundreds of lives
/// need not wait for a disk. That commits reach the disk is proved by the tests that kill processes.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

store_conformance!(memory, Memory);
store_conformance!(sqlite, Sqlite);

macro_rules! lives {
    ($($test:ident $seeds:expr;)*) => {$(
        #[tokio::test]
        async fn $test() {
            live_the_same::<Memory, Sqlite>($seeds).await;
        }
    )*};
}

// In parts, so that they run beside each other.
lives! {
    memory_and_sqlite_live_the_same_1 0..75;
    memory_and_sqlite_live_the_same_2 75..150;
    memory_and_sqlite_live_the_same_3 150..225;
    memory_and_sqlite_live_the_same_4 225..300;
}

/// A rule that is written but not listed would prove nothing.
#[test]
fn every_rule_is_listed() {
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance/store");
    let list = std::fs::read_to_string(format!("{suite}.rs")).unwrap();
    let listed: Vec<&str> = list.split_whitespace().collect();
    let mut rules = 0;
    for file in std::fs::read_dir(suite).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
        let text = std::fs::read_to_string(file.path()).unwrap();
        for line in text.lines().filter(|line| line.ends_with("world: World) {")) {
            let Some(rule) = line.strip_prefix("pub async fn ") else { continue };
            let rule = rule.split('(').next().unwrap_or(rule);
            assert!(listed.contains(&rule), "{} is in no list: {}", rule, file.path().display());
            rules += 1;
        }
    }
    assert!(rules > 100);
}
