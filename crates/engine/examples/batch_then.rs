//! A batch, and the one job that follows when its last job has settled.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Job, Outcome, Stop};

#[derive(Serialize, Deserialize)]
struct Thumbnail {
    page: u64,
}

impl Job for Thumbnail {
    const KIND: &'static str = "thumbnail";
    type Output = ();
}

#[derive(Serialize, Deserialize)]
struct Publish {
    album: String,
}

impl Job for Publish {
    const KIND: &'static str = "publish";
    type Output = u64;
}

static MADE: AtomicU64 = AtomicU64::new(0);

async fn thumbnail(job: Thumbnail, _ctx: Context) -> Outcome {
    if job.page == 13 {
        return Err(Stop::never("page 13 does not exist"));
    }
    MADE.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

async fn publish(_job: Publish, _ctx: Context) -> Outcome<u64> {
    Ok(MADE.load(Ordering::SeqCst))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let engine = Engine::open(Config::embedded(data.path())).await?;
    engine.worker(thumbnail).slots(8);
    engine.worker(publish);
    let running = engine.start().await?;

    let batch = engine
        .batch("thumbnails")
        .owner("acme")
        .jobs((0..100).map(|page| Thumbnail { page }))
        .then(Publish { album: "summer".into() })
        .submit()
        .await?;
    let view = engine.wait_batch(batch.id).await?;
    assert_eq!((view.batch.done, view.batch.dead), (99, 1));

    let published = engine.wait(batch.then.ok_or("no continuation")?).await?;
    assert_eq!(published.result::<Publish>()?, Some(99));
    running.stop().await;
    Ok(())
}
