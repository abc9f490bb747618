//! Cancelling: a waiting job ends at once, a running handler is told and decides how to stop.

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnwise::{Config, Context, Engine, Job, Outcome, State, Stop};

#[derive(Serialize, Deserialize)]
struct Render;

impl Job for Render {
    const KIND: &'static str = "render";
    type Output = ();
}

static STARTED: Notify = Notify::const_new();

async fn render(_job: Render, ctx: Context) -> Outcome {
    STARTED.notify_one();
    ctx.cancelled().await;
    // Put things in order, then say that this is the end.
    Err(Stop::cancel())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let engine = Engine::open(Config::embedded(data.path())).await?;
    engine.worker(render).slots(1);
    let running = engine.start().await?;

    let first = engine.submit(Render).await?;
    STARTED.notified().await;
    let second = engine.submit(Render).await?;
    assert_eq!(engine.cancel(second).await?, State::Cancelled, "it had not begun");
    assert_eq!(engine.cancel(first).await?, State::Running, "it is told, and ends when its handler does");
    assert_eq!(engine.wait(first).await?.state, State::Cancelled);
    running.stop().await;
    Ok(())
}
