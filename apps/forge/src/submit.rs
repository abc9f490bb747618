//! Handing in a request: checked, recognised if it was handed in before, and put at the end of its lane.

use turnwise::{Engine, Error, Job as _, JobId, LaneView, Raw, Refusal, State, hours};

use crate::job::Generate;
use crate::request::Request;
use crate::settings::Settings;

/// How long the id of a request is remembered, whatever became of it.
const REMEMBERED: std::time::Duration = hours(365 * 24);

/// Requests at the end of a lane that are looked at together for one with the same content, and how often.
const PAGE: usize = 100;
const PAGES: usize = 10;

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

/// The series that a request belongs to: those with the same content and the same series are one job, as long as it waits.
/// It is the series of a request at the end of the lane that has not begun, if only the same has come behind it. Otherwise a
/// new one begins here, named after the end of the lane, so that all who see that end begin the same one.
async fn series(engine: &Engine, request: &Request, lane: &str) -> Result<u64, Error> {
    let Some(LaneView { lane: seen }) = engine.lane(lane).await? else { return Ok(0) };
    let content = request.content();
    let mut before = None;
    for _ in 0..PAGES {
        let mut behind: Vec<JobId> = Vec::new();
        for row in engine.behind(lane, before, PAGE).await? {
            behind.push(row.header.id);
            before = row.header.place.map(|place| place.position);
        }
        let whole = behind.len() < PAGE;
        // The head has not begun either, as long as it does not run.
        behind.extend(seen.head.filter(|_| whole));
        for id in behind {
            let Some(view) = engine.job(id).await? else { continue };
            let Ok(other) = serde_json::from_value::<Generate>(view.payload) else { continue };
            if other.request.service != request.service {
                continue;
            }
            let begun = view.state == State::Running || view.state.is_final();
            if begun || other.request.content() != content {
                return Ok(seen.next);
            }
            if let Some(series) = other.series {
                return Ok(series);
            }
        }
        if whole {
            break;
        }
    }
    Ok(seen.next)
}

/// Hands a request in. When this returns, it outlives a crash of anything.
pub async fn submit(engine: &Engine, settings: &Settings, request: Request) -> Result<Accepted, Error> {
    let accepted = engine.time().await?.as_millis() / 1_000;
    let (trace, id, service) = (request.trace_id.clone(), request.id.clone(), request.service.clone());
    let (owner, lane) = (request.owner.clone(), settings.lane(&service));
    // The id decides before the content does, and it stays the same job's even if the content was another's.
    let by_id = key_of(&id);
    let series = if request.collapse { Some(series(engine, &request, &lane).await?) } else { None };
    let by_content = series.map(|series| format!("content/{}/{series}", request.content()));
    let payload = serde_json::to_value(Generate { request, accepted, series })
        .map_err(|error| Error::Config(format!("a request cannot be written: {error}")))?;
    let job = Raw::job(Generate::KIND, payload).owner(&owner).lane(lane).unique_for(by_id, REMEMBERED);
    let job = match by_content {
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
