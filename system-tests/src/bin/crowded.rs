//! The process whose disk runs full: `crowded DIRECTORY`, where the directory is on a small disk of its own.
//!
//! It fills the disk, submits until that is refused, makes room, goes on, and checks that everything that was accepted
//! ran once and nothing else did.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Error, Job, Outcome, StoreError};

#[derive(Serialize, Deserialize)]
struct Bulky {
    number: u64,
    padding: String,
}

impl Job for Bulky {
    const KIND: &'static str = "bulky";
    type Output = ();
}

fn bulky(number: u64) -> Bulky {
    Bulky { number, padding: "x".repeat(900) }
}

type Ran = Arc<Mutex<Vec<u64>>>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let directory: PathBuf = std::env::args_os().nth(1).context("usage: crowded DIRECTORY")?.into();
    let ran = Ran::default();
    let engine = Engine::open(Config::embedded(directory.join("data"))).await?;
    let writes = ran.clone();
    engine
        .worker(move |job: Bulky, _ctx: Context| {
            writes.lock().unwrap_or_else(PoisonError::into_inner).push(job.number);
            std::future::ready(Outcome::Ok(()))
        })
        .slots(8);
    let mut accepted = BTreeSet::new();
    let running = engine.start().await?;
    submit(&engine, &mut accepted, 50).await?;
    let filler = fill(&directory)?;
    let refused = submit(&engine, &mut accepted, u64::MAX).await;
    match refused {
        Err(Error::Store(StoreError::Full)) => {}
        other => anyhow::bail!("a full disk was answered with {other:?}"),
    }
    std::fs::remove_file(filler)?;
    // The engine is the same one: nobody restarted anything.
    submit(&engine, &mut accepted, 50).await.context("there is room again")?;
    engine.drain().await?;
    running.stop().await;
    engine.close().await;
    let mut ran = std::mem::take(&mut *ran.lock().unwrap_or_else(PoisonError::into_inner));
    let runs = ran.len();
    ran.sort_unstable();
    ran.dedup();
    ensure!(ran.len() == runs, "{} jobs ran twice", runs - ran.len());
    ensure!(ran.iter().copied().eq(accepted.iter().copied()), "what ran is not what was accepted");
    ensure!(runs >= 100, "only {runs} jobs: this was no test");
    Ok(())
}

/// Submits so many jobs one after the other, or until one is refused.
async fn submit(engine: &Engine, accepted: &mut BTreeSet<u64>, count: u64) -> Result<(), Error> {
    for _ in 0..count {
        let number = accepted.last().map_or(0, |last| last + 1);
        engine.submit(bulky(number)).await?;
        accepted.insert(number);
    }
    Ok(())
}

/// Takes whatever room there is.
fn fill(directory: &Path) -> std::io::Result<PathBuf> {
    let path = directory.join("filler");
    let mut file = File::create(&path)?;
    let block = [7; 4_096];
    loop {
        match file.write_all(&block) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(path),
            Err(error) => return Err(error),
        }
    }
}
