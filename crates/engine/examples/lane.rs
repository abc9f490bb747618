//! A lane: one at a time, in submit order, even when the first one fails and is tried again.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Job, Outcome, Retry, Stop, millis};

#[derive(Serialize, Deserialize)]
struct Deploy {
    version: u32,
}

impl Job for Deploy {
    const KIND: &'static str = "deploy";
    type Output = ();
}

static DEPLOYED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

async fn deploy(job: Deploy, ctx: Context) -> Outcome {
    if job.version == 1 && ctx.attempt() == 1 {
        return Err(Stop::retry("the server is restarting"));
    }
    DEPLOYED.lock().map_err(|_| Stop::dead("poisoned"))?.push(job.version);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let engine = Engine::open(Config::embedded(data.path())).await?;
    // Plenty of slots: the lane alone keeps the order.
    engine.worker(deploy).slots(16).retry(Retry::fixed(millis(20)).attempts(5));
    let running = engine.start().await?;

    engine.submit_all((1..=5).map(|version| Deploy { version }.lane("shop"))).await?;
    engine.drain().await?;
    assert_eq!(*DEPLOYED.lock().map_err(|_| "poisoned")?, [1, 2, 3, 4, 5]);
    running.stop().await;
    Ok(())
}
