//! Handing in a request: checked, recognised if it was handed in before, and put at the end of its lane.

use turnwise::{Engine, Error, Job as _, JobId, Raw, hours};

use crate::job::Generate;
use crate::request::Request;
use crate::settings::Settings;

/// How long the id of a request is remembered, whatever became of it.
const REMEMBERED: std::time::Duration = hours(365 * 24);

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
    // A job has one key, and here it is the content's: the id is looked for. Two that come at once have the same content.
    if request.collapse
        && let Some(known) = crate::view::find(engine, &request.id).await?
        && known.payload["request"]["id"] == request.id
        && *known.owner == *request.owner
    {
        return Ok(Accepted { job: known.id, existing: true });
    }
    let accepted = engine.time().await?.as_millis() / 1_000;
    let (trace, id, service) = (request.trace_id.clone(), request.id.clone(), request.service.clone());
    let (owner, lane) = (request.owner.clone(), settings.lane(&service));
    let by_content = request.collapse.then(|| format!("content/{}", request.content()));
    let payload = serde_json::to_value(Generate { request, accepted })
        .map_err(|error| Error::Config(format!("a request cannot be written: {error}")))?;
    let job = Raw::job(Generate::KIND, payload).owner(owner).lane(lane);
    let job = match by_content {
        // Whoever asks for the same as somebody who still waits, and both said that this will do.
        Some(key) => job.unique_while_unfinished(key),
        None => job.unique_for(format!("request/{id}"), REMEMBERED),
    };
    let submitted = engine.submit_raw(vec![job]).await?;
    let Some(found) = submitted.first() else {
        return Err(Error::Config("the engine did not answer".into()));
    };
    let (job, existing) = (found.id, found.existing);
    tracing::info!(traceId = %trace, jobId = %job, instanceId = %id, %service, existing, "Job enqueued for computeGenerationQueue");
    Ok(Accepted { job, existing })
}
