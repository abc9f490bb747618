//! `sleep` takes its time: to try out slots, progress, cancelling and stopping.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use turnwise::{Context, Job, Outcome, Stop};

/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Progress is told about so often; each time is a write.
const REPORTS: u32 = 20;
/// But not more often than this.
const QUIET: Duration = Duration::from_millis(500);

/// How long.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sleep {
    ms: u64,
}

impl Job for Sleep {
    const KIND: &'static str = "sleep";
    type Output = ();
}

impl Sleep {
    /// How long, if that is allowed.
    pub(super) fn span(&self) -> Result<Duration, String> {
        super::within("ms", self.ms, LONGEST)
    }
}

pub(crate) async fn sleep(job: Sleep, ctx: Context) -> Outcome {
    let span = job.span().map_err(Stop::never)?;
    let begin = Instant::now();
    let pause = (span / REPORTS).max(QUIET);
    while begin.elapsed() < span {
        let left = span.saturating_sub(begin.elapsed());
        tokio::select! {
            // A cancelled job ends as cancelled; at a shutdown it goes on later, and no attempt is burnt.
            () = ctx.cancelled() => return Err(Stop::snooze(Duration::ZERO)),
            () = tokio::time::sleep(pause.min(left)) => {}
        }
        let slept = begin.elapsed();
        if slept < span {
            let note = format!("{} of {} ms", slept.as_millis(), span.as_millis());
            ctx.progress(slept.as_secs_f32() / span.as_secs_f32(), note).await?;
        }
    }
    Ok(())
}
