//! `echo` gives its payload back: to try things out, and to measure.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Context, Job, Outcome};

/// Anything.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Echo(Value);

impl Job for Echo {
    const KIND: &'static str = "echo";
    type Output = Value;
}

pub(crate) async fn echo(job: Echo, _ctx: Context) -> Outcome<Value> {
    Ok(job.0)
}
