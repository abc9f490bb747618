//! Durable steps: a retry resumes after the last step that finished.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use turnwise::{Config, Context, Engine, Job, Outcome, Retry, Stop, millis};

#[derive(Serialize, Deserialize)]
struct Order {
    item: String,
}

impl Job for Order {
    const KIND: &'static str = "order";
    type Output = String;
}

static CHARGED: AtomicU32 = AtomicU32::new(0);

async fn order(job: Order, ctx: Context) -> Outcome<String> {
    let receipt = ctx
        .step("charge", || async {
            CHARGED.fetch_add(1, Ordering::SeqCst);
            Ok(format!("receipt for {}", job.item))
        })
        .await?;
    ctx.progress(0.5, "paid").await?;
    if ctx.attempt() == 1 {
        return Err(Stop::retry("the parcel service is down"));
    }
    Ok(receipt)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let engine = Engine::open(Config::embedded(data.path())).await?;
    engine.worker(order).retry(Retry::fixed(millis(10)).attempts(3));
    let running = engine.start().await?;

    let job = engine.submit(Order { item: "lamp".into() }).await?;
    let done = engine.wait(job).await?;
    assert_eq!(done.result::<Order>()?.as_deref(), Some("receipt for lamp"));
    assert_eq!(done.attempt, 2);
    assert_eq!(CHARGED.load(Ordering::SeqCst), 1, "nobody is charged twice");
    running.stop().await;
    Ok(())
}
