//! A first job: a type, a handler, a result that outlives a crash.

use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Job, Outcome, Retry, secs};

#[derive(Serialize, Deserialize)]
struct Resize {
    url: String,
    width: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Size {
    width: u32,
    height: u32,
}

impl Job for Resize {
    const KIND: &'static str = "resize";
    type Output = Size;
}

async fn resize(job: Resize, _ctx: Context) -> Outcome<Size> {
    // `?` on any error means: try again as the policy says.
    let scale: u32 = "2".parse()?;
    Ok(Size { width: job.width, height: job.width / scale })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let engine = Engine::open(Config::embedded(data.path())).await?;
    engine.worker(resize).slots(4).retry(Retry::exponential(secs(5)).attempts(3));
    let running = engine.start().await?;

    let job =
        engine.submit(Resize { url: "https://example.org/cat.png".into(), width: 640 }.owner("acme")).await?;
    let done = engine.wait(job).await?;
    assert_eq!(done.result::<Resize>()?, Some(Size { width: 640, height: 320 }));

    // The same unique key within its window answers with the same job.
    let once = || Resize { url: "x".into(), width: 1 }.unique_for("x@1", secs(3600));
    assert_eq!(engine.submit(once()).await?, engine.submit(once()).await?);

    running.stop().await;
    Ok(())
}
