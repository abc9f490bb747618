//! Handing in a request: checked, recognised if it was handed in before, and put at the end of its lane.

use turnwise::{Engine, Error, Job as _, JobId, Raw, Refusal, hours};

use crate::job::Generate;
use crate::request::Request;
use crate::settings::Settings;

/// How long the id of a request is remembered, whatever became of it.
const REMEMBERED: std::time::Duration = hours(365 * 24);

/// The unique key that stands for the id of a request.
pub(crate) fn key_of(id: &str) -> String {
    format!("request/{id}")
}

/// A request that was accepted, or was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The job that stands for it.
    pub job: JobId,
    /// Whether it was there already.
    pub existing: bool,
}

/// Hands a request in. When this returns, it outlives a crash of anything.
pub async fn submit(engine: &Engine, settings: &Settings, request: Request) -> Result<Accepted, Error> {
    let accepted = engine.time().await?.as_millis() / 1_000;
    let (trace, id, service) = (request.trace_id.clone(), request.id.clone(), request.service.clone());
    let (owner, lane) = (request.owner.clone(), settings.lane(&service));
    // The id decides before the content does, and it stays the same job's even if the content was another's.
    let by_id = key_of(&id);
    let by_content = request.collapse.then(|| format!("content/{}", request.content()));
    let payload = serde_json::to_value(Generate { request, accepted })
        .map_err(|error| Error::Config(format!("a request cannot be written: {error}")))?;
    let job = Raw::job(Generate::KIND, payload).owner(&owner).lane(lane).unique_for(by_id, REMEMBERED);
    let job = match by_content {
        // Whoever asks for the same as somebody who still waits, and both said that this will do.
        Some(key) => job.unique_while_unfinished(key),
        None => job,
    };
    let submitted = engine.submit_raw(vec![job]).await?;
    let Some(found) = submitted.first() else {
        return Err(Error::Config("the engine did not answer".into()));
    };
    let (job, existing) = (found.id, found.existing);
    if existing && engine.rows(vec![job]).await?.first().is_some_and(|row| *row.line.owner != *owner) {
        let why =
            format!("request `{id}` belongs to another owner: ids are shared by all, choose another one");
        return Err(Refusal::Invalid(why).into());
    }
    tracing::info!(traceId = %trace, jobId = %job, instanceId = %id, %service, existing, "Job enqueued for computeGenerationQueue");
    Ok(Accepted { job, existing })
}
