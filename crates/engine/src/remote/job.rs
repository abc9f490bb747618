//! A job as a program outside gets it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::name::Name;
use turnwise_core::retry::Class;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Failure, Found, Read, Verdict};

use crate::context::Run;
use crate::handler::{failed, unreadable};

/// A job that a remote worker has claimed, with all that it needs to run it. Its arguments are here in full: a worker needs
/// the sensitive ones too. They are not in its `Debug` text.
#[derive(Clone, Serialize)]
pub struct RemoteJob {
    /// Its id.
    pub id: JobId,
    /// Names this claim. It goes with every word about the job; what an older one says is refused.
    pub fence: u32,
    /// Its kind.
    pub kind: Name,
    /// Whose turn it takes.
    pub owner: Name,
    /// Its batch.
    pub batch: Option<BatchId>,
    /// Which attempt this is, from 1.
    pub attempt: u16,
    /// How many it may have.
    pub attempts: u16,
    /// Its arguments.
    pub payload: Value,
    /// When it must have ended, if it must: after that it is a failed attempt.
    pub deadline: Option<Time>,
    /// The steps that are finished, and what each of them gave.
    pub steps: BTreeMap<Name, Value>,
}

impl fmt::Debug for RemoteJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteJob")
            .field("id", &self.id)
            .field("fence", &self.fence)
            .field("kind", &self.kind)
            .field("owner", &self.owner)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// What a claim holds, as the program gets it. The verdict, if it cannot be read.
pub(super) async fn unpack(run: &Run) -> Result<RemoteJob, Verdict> {
    let claimed = &run.claimed;
    let payload = serde_json::from_slice(&claimed.payload).map_err(|error| unreadable(&error))?;
    let steps = if claimed.header.flags.steps { finished_steps(run).await? } else { BTreeMap::new() };
    Ok(RemoteJob {
        id: claimed.header.id,
        fence: claimed.header.fence,
        kind: claimed.line.kind.clone(),
        owner: claimed.line.owner.clone(),
        batch: claimed.line.batch,
        attempt: claimed.header.attempt,
        attempts: claimed.header.attempts,
        payload,
        // Known when its time begins.
        deadline: None,
        steps,
    })
}

async fn finished_steps(run: &Run) -> Result<BTreeMap<Name, Value>, Verdict> {
    let again = |why: &dyn fmt::Display| {
        failed(Class::Retry, Failure::Error, format!("its finished steps could not be read: {why}"))
    };
    let found = run.inner.read(Read::Steps(run.id())).await.map_err(|error| again(&error))?;
    let Found::Steps(steps) = found else {
        return Err(again(&"the store answered another question than was asked"));
    };
    let read = |step: turnwise_drivers::store::StepRecord| {
        let output = serde_json::from_slice(&step.output).map_err(|error| unreadable(&error))?;
        Ok((step.name, output))
    };
    steps.into_iter().map(read).collect()
}
