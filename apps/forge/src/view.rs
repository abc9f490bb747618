//! A request as it is shown: where it stands, phase by phase, and what went wrong on the way.

use serde::Serialize;
use serde_json::Value;
use turnwise::{Engine, Error, Job as _, JobId, JobView, Name, State};
use utoipa::ToSchema;

use crate::fault::Class;
use crate::job::{Generate, in_phase};
use crate::journal::{Journal, Line};
use crate::phase::Phase;
use crate::queue;
use crate::settings::Settings;
use crate::submit::key_of;

/// A request and everything about it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Status {
    /// The job that stands for it.
    pub(crate) job: String,
    /// Its id.
    pub(crate) request: String,
    /// What its log lines carry.
    pub(crate) trace_id: String,
    /// The service.
    pub(crate) service: String,
    /// Whose it is.
    pub(crate) owner: String,
    /// `Queued`, `Processing`, `Retrying`, `Completed`, `Failed` or `Cancelled`. It is `Failed` only when no attempt is left.
    pub(crate) status: &'static str,
    /// The lane that it is in.
    pub(crate) lane: Option<String>,
    /// How many are before it; 0 at the head of its lane, nothing when it has ended.
    pub(crate) position: Option<u64>,
    /// The attempt that runs or ran last.
    pub(crate) attempt: u16,
    /// How many it may have.
    pub(crate) attempts: u16,
    /// When it was accepted, in microseconds since 1970.
    pub(crate) submitted: i64,
    /// When it is due, or since when it stands as it does.
    pub(crate) since: i64,
    /// Its phases, in order.
    pub(crate) phases: Vec<PhaseView>,
    /// What went wrong, oldest first.
    pub(crate) errors: Vec<ErrorView>,
    /// What each phase made, when it is done.
    #[schema(value_type = Option<Object>)]
    pub(crate) result: Option<Value>,
    /// What it said on its way.
    pub(crate) log: Vec<Line>,
}

/// A phase and where it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseView {
    /// Its name.
    pub(crate) phase: &'static str,
    /// `done`, `running`, `failed` or `waiting`.
    pub(crate) state: &'static str,
}

/// An attempt that went wrong.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErrorView {
    /// Which attempt.
    pub(crate) attempt: u16,
    /// The class: `VALIDATION`, `NOT_FOUND`, `AUTHORIZATION`, `TIMEOUT`, `MIGRATION_ISSUES`, `GIT`, `DNS`, `INTERNAL`, or
    /// `STALE` for one whose worker was lost.
    pub(crate) class: &'static str,
    /// In which phase, unless its worker was lost.
    pub(crate) phase: Option<&'static str>,
    /// What happened.
    pub(crate) text: String,
    /// How long the attempt had run, in seconds.
    pub(crate) age_seconds: f64,
    /// When it ended, in microseconds since 1970.
    pub(crate) at: i64,
}

/// A request by its own id, or by that of its job.
pub(crate) async fn find(engine: &Engine, id: &str) -> Result<Option<JobView>, Error> {
    let key = key_of(id);
    // Whatever cannot be a key is nobody's id.
    let holder = if Name::new(&key).is_ok() { engine.holder(Generate::KIND, &key).await? } else { None };
    match holder.or(id.parse::<JobId>().ok()) {
        Some(job) => Ok(engine.job(job).await?.filter(|view| &*view.kind == Generate::KIND)),
        None => Ok(None),
    }
}

/// Everything about a request.
pub(crate) async fn status(engine: &Engine, settings: &Settings, view: &JobView) -> Result<Status, Error> {
    let lane: Option<&Name> = view.lane.as_ref();
    let row = engine.rows(vec![view.id]).await?;
    let position = match row.first() {
        Some(row) => queue::position(engine, row, lane).await?,
        None => None,
    };
    let text = |name: &str| view.payload["request"][name].as_str().unwrap_or_default().to_owned();
    Ok(Status {
        job: view.id.to_string(),
        request: text("id"),
        trace_id: text("trace_id"),
        service: text("service"),
        owner: view.owner.to_string(),
        status: word(view.state),
        lane: lane.map(Name::to_string),
        position,
        attempt: view.attempt,
        attempts: view.attempts,
        submitted: view.submitted.as_micros(),
        since: view.at.as_micros(),
        phases: phases(view),
        errors: errors(view),
        result: view.result.clone(),
        log: Journal::of(&settings.folder, view.id).lines(),
    })
}

/// Where a request stands, in the words that operators know.
pub(crate) fn word(state: State) -> &'static str {
    match state {
        State::Waiting | State::Ready | State::Scheduled => "Queued",
        State::Running => "Processing",
        State::Retrying => "Retrying",
        State::Done => "Completed",
        State::Dead => "Failed",
        State::Cancelled => "Cancelled",
    }
}

/// Its phases. A finished one is a finished step; nothing is guessed from words.
pub(crate) fn phases(view: &JobView) -> Vec<PhaseView> {
    let done = |phase: Phase| view.steps.iter().any(|step| &**step == phase.word());
    let next = Phase::ALL.into_iter().find(|phase| !done(*phase));
    let begun = view.attempt > 0;
    Phase::ALL
        .into_iter()
        .map(|phase| {
            let state = match view.state {
                _ if done(phase) => "done",
                State::Running if next == Some(phase) => "running",
                State::Dead | State::Retrying if begun && next == Some(phase) => "failed",
                _ => "waiting",
            };
            PhaseView { phase: phase.word(), state }
        })
        .collect()
}

fn errors(view: &JobView) -> Vec<ErrorView> {
    let found = view.errors.iter().map(|error| {
        let age_seconds = error.ended.since(error.started).as_secs_f64();
        let lost = serde_json::to_value(error.failure).is_ok_and(|failure| failure == "lost");
        let (class, text) = if lost { stale(age_seconds) } else { classed(&error.error) };
        let phase = Phase::ALL.map(Phase::word).into_iter().find(|phase| text.ends_with(&in_phase(phase)));
        ErrorView { attempt: error.attempt, class, phase, text, age_seconds, at: error.ended.as_micros() }
    });
    found.collect()
}

/// An attempt whose worker was lost.
fn stale(age: f64) -> (&'static str, String) {
    ("STALE", format!("the worker sent no heartbeat any more, {age:.1} s after this attempt began"))
}

/// The class that an error names, and the rest of it.
fn classed(error: &str) -> (&'static str, String) {
    let rest_of =
        |class: Class| Some((class.word(), error.strip_prefix(class.word())?.strip_prefix(": ")?.to_owned()));
    let unnamed = || (Class::Internal.word(), error.to_owned());
    Class::ALL.into_iter().find_map(rest_of).unwrap_or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use turnwise::hours;
    use turnwise::testing::TestEngine;

    use super::*;
    use crate::request::Request;
    use crate::settings::Program;

    /// A forge whose phases all fail, in a folder that lasts as long as it is kept.
    async fn forge() -> (TestEngine, Settings, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let program = Program { path: "false".into(), arguments: Vec::new() };
        let settings = Settings::new(folder.path(), program);
        let test = TestEngine::new().await.unwrap();
        crate::register(&test.engine, &settings);
        (test, settings, folder)
    }

    /// Waiting counted as being stuck: what had waited for a quarter of an hour was called failed, ran all the same, and
    /// was completed then. And each failed attempt was shown as the end.
    #[tokio::test]
    async fn weak_point_5_who_waits_is_not_stale_and_who_is_retried_has_not_failed() {
        let (test, settings, _folder) = forge().await;
        let mut jobs = Vec::new();
        for number in 0..3 {
            let request = Request { id: format!("r-{number}"), ..crate::sample::request("shop") };
            jobs.push(crate::submit(&test.engine, &settings, request).await.unwrap().job);
        }
        test.time.advance(hours(20));
        let look = async |job: JobId| {
            let view = test.engine.job(job).await.unwrap().unwrap();
            status(&test.engine, &settings, &view).await.unwrap()
        };
        for (position, job) in jobs.iter().enumerate() {
            let seen = look(*job).await;
            assert_eq!((seen.status, seen.position, seen.errors.len()), ("Queued", Some(position as u64), 0));
        }
        let running = test.engine.start().await.unwrap();
        let begin = Instant::now();
        let seen = loop {
            let seen = look(jobs[0]).await;
            if !seen.errors.is_empty() {
                break seen;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it was not tried");
            tokio::task::yield_now().await;
        };
        assert_eq!(
            (seen.status, seen.errors[0].class, seen.errors[0].phase, seen.phases[0].state),
            ("Retrying", "INTERNAL", Some("API_GENERATION"), "failed")
        );
        assert_eq!(look(jobs[1]).await.status, "Queued", "it waits behind the one that is retried");
        let found = find(&test.engine, "r-1").await.unwrap().unwrap();
        assert_eq!(found.id, jobs[1], "by its own id, too");
        running.stop().await;
    }

    /// More than are read at once: positions and counts are still right, and clearing leaves nobody behind.
    #[tokio::test]
    async fn a_long_lane_is_counted_and_cleared_to_its_end() {
        const MANY: usize = turnwise::limits::PAGE_ROWS + 3;
        let (test, settings, _folder) = forge().await;
        let mut jobs = Vec::new();
        for number in 0..MANY {
            let request = Request { id: format!("r-{number}"), ..crate::sample::request("shop") };
            jobs.push(crate::submit(&test.engine, &settings, request).await.unwrap().job);
        }
        for position in [0, 1, 2, 500, MANY - 2, MANY - 1] {
            let view = test.engine.job(jobs[position]).await.unwrap().unwrap();
            let seen = status(&test.engine, &settings, &view).await.unwrap();
            assert_eq!(seen.position, Some(position as u64));
        }
        let cleared = crate::clear(&test.engine, crate::What::Waiting).await.unwrap();
        assert_eq!((cleared.before.waiting, cleared.cleared, cleared.after.waiting), (MANY, MANY, 0));
    }

    #[test]
    fn errors_have_their_class_and_no_guess() {
        assert_eq!(classed("GIT: no api here"), ("GIT", "no api here".to_owned()));
        assert_eq!(classed("the api failed"), ("INTERNAL", "the api failed".to_owned()));
        assert_eq!(stale(7.25).1, "the worker sent no heartbeat any more, 7.2 s after this attempt began");
    }
}
