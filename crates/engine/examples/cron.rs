//! A cron job in a named time zone, on a test engine whose clock is moved by hand: nobody waits for tomorrow.

use serde::{Deserialize, Serialize};
use turnwise::testing::TestEngine;
use turnwise::{Context, Job, Missed, Outcome, hours};

#[derive(Serialize, Deserialize)]
struct Report {
    to: String,
}

impl Job for Report {
    const KIND: &'static str = "report";
    type Output = ();
}

async fn report(_job: Report, _ctx: Context) -> Outcome {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let test = TestEngine::new().await?;
    test.engine.worker(report);
    let running = test.engine.start().await?;

    let every_morning = test.engine.schedule("morning-report", "30 7 * * *").zone("Europe/Berlin");
    every_morning.missed(Missed::All).owner("acme").job(Report { to: "ops@example.org".into() }).await?;

    // Three days pass without anybody looking: every tick gets its one job.
    test.advance(hours(72)).await?;
    let owner = test.engine.owners(None, 10).await?.pop().ok_or("no owner")?;
    assert_eq!((owner.done, owner.backlog), (3, 0));
    running.stop().await;
    Ok(())
}
