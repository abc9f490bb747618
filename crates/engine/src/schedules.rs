//! Cron: each tick of a schedule submits one job, once, whoever else is trying to.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use turnwise_core::cron::{Cron, Missed, Overlap, SCHEDULE_BYTES, tick_key};
use turnwise_core::ids::JobId;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_core::unique::Window;
use turnwise_drivers::store::{Found, Read, Schedule as Stored, Submission, Sweep, Unit};

use crate::Error;
use crate::engine::{Engine, Inner, odd_answer};
use crate::flow::submit::DEFAULT_OWNER;
use crate::job::{How, Job};
use crate::view::redacted;

/// How long a tick's key is kept: longer than any tick can be late.
const KEY: Duration = Duration::from_secs(366 * 24 * 3600);

/// A schedule that is being put together.
#[derive(Debug)]
#[must_use = "a schedule does nothing until it is saved"]
pub struct Schedule {
    engine: Engine,
    name: String,
    line: String,
    zone: String,
    missed: Missed,
    overlap: Overlap,
    owner: String,
}

/// A schedule as it is. Sensitive fields of its payload are not in it.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleView {
    /// Its name.
    pub name: Name,
    /// Its cron line.
    pub line: String,
    /// The time zone that the line is read in.
    pub zone: String,
    /// What about ticks that nobody was there for.
    pub missed: Missed,
    /// What about a tick while the job of the last one is unfinished.
    pub overlap: Overlap,
    /// The kind of its jobs.
    pub kind: Name,
    /// Whose turns they take.
    pub owner: Name,
    /// Their arguments.
    pub payload: Value,
    /// Up to when its ticks were dealt with.
    pub last: Time,
    /// When its next tick comes; nothing if none does.
    pub next: Option<Time>,
    /// The job of its last tick.
    pub job: Option<JobId>,
}

impl Engine {
    /// Begins a schedule: a cron line of five fields (six with seconds), in UTC unless said.
    pub fn schedule(&self, name: impl Into<String>, line: impl Into<String>) -> Schedule {
        Schedule {
            engine: self.clone(),
            name: name.into(),
            line: line.into(),
            zone: "UTC".into(),
            missed: Missed::default(),
            overlap: Overlap::default(),
            owner: DEFAULT_OWNER.into(),
        }
    }

    /// Every schedule, by name.
    pub async fn schedules(&self) -> Result<Vec<ScheduleView>, Error> {
        let now = self.time().await?;
        let kinds = self.kinds().await?;
        let mut schedules = self.inner.schedules().await?;
        schedules.sort_by(|one, other| one.name.cmp(&other.name));
        let view = |stored: Stored| {
            let kind = kinds.iter().find(|kind| kind.name == stored.kind);
            ScheduleView {
                line: stored.cron.line().to_owned(),
                zone: stored.cron.zone().to_owned(),
                next: stored.cron.next_after(stored.last.max(now)),
                name: stored.name,
                missed: stored.missed,
                overlap: stored.overlap,
                payload: redacted(stored.payload, kind.map(Arc::as_ref)),
                kind: stored.kind,
                owner: stored.owner,
                last: stored.last,
                job: stored.job,
            }
        };
        Ok(schedules.into_iter().map(view).collect())
    }

    /// Removes a schedule.
    pub async fn unschedule(&self, name: &str) -> Result<(), Error> {
        self.inner.commit_one(Unit::Schedule(Name::new(name)?, None)).await.map(drop)
    }
}

impl Schedule {
    /// The named time zone that the line is read in, such as `Europe/Berlin`.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = zone.into();
        self
    }

    /// What about ticks that nobody was there for.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// What about a tick while the job of the last one is unfinished.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    /// Whose turns its jobs take.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Saves it: from now on each tick submits this job. Saving it again replaces it.
    pub async fn job<J: Job>(self, job: J) -> Result<(), Error> {
        let payload = serde_json::to_value(&job).map_err(Error::json("a payload"))?;
        self.raw(J::KIND, payload).await
    }

    /// Saves it with a job whose kind is known by name only. The kind must be declared.
    pub async fn raw(self, kind: &str, payload: Value) -> Result<(), Error> {
        let inner = &self.engine.inner;
        inner.declare_new_kinds().await?;
        if self.name.len() > SCHEDULE_BYTES {
            return Err(Error::Config(format!(
                "a schedule's name may have {SCHEDULE_BYTES} bytes: use a shorter one"
            )));
        }
        // It would be refused at every tick.
        let size = serde_json::to_vec(&payload).map_err(Error::json("a payload"))?.len();
        Refusal::unless_within("a payload, in bytes,", size, limits::PAYLOAD_BYTES)?;
        let name = Name::new(&self.name)?;
        let cron = Cron::parse(&self.line, &self.zone).map_err(|bad| Error::Config(bad.to_string()))?;
        // A program that saves its schedules at every start goes on where it was: ticks that were missed meanwhile
        // are still missed. A changed line begins now.
        let before =
            inner.schedules().await?.into_iter().find(|known| known.name == name && known.cron == cron);
        let stored = Stored {
            name: name.clone(),
            cron,
            missed: self.missed,
            overlap: self.overlap,
            kind: Name::new(kind)?,
            owner: Name::new(&self.owner)?,
            payload,
            last: match &before {
                Some(before) => before.last,
                None => inner.store_time().await?,
            },
            job: before.and_then(|before| before.job),
        };
        inner.commit_one(Unit::Schedule(name, Some(stored))).await?;
        inner.hub.schedules.notify_one();
        Ok(())
    }
}

impl Inner {
    async fn schedules(&self) -> Result<Vec<Stored>, Error> {
        match self.read(Read::Schedules).await? {
            Found::Schedules(schedules) => Ok(schedules),
            _ => Err(odd_answer()),
        }
    }
}

/// Submits the jobs of every tick that has come. When the next one comes.
pub(crate) async fn tick(
    inner: &Arc<Inner>,
    schedules: Vec<Stored>,
    now: Time,
) -> Result<Option<Time>, Error> {
    let mut first = None;
    for schedule in schedules {
        let due = schedule.cron.due(schedule.last, now, schedule.missed);
        first = first.into_iter().chain(due.next).min();
        // A tick that is skipped as missed is dealt with too.
        let passed = schedule.cron.next_after(schedule.last).is_some_and(|next| next <= now);
        if passed {
            let name = schedule.name.clone();
            match submit_ticks(inner, schedule, &due.ticks, now).await {
                // The other schedules do not wait for this one; its ticks come again.
                Err(Error::Refused(refusal)) => {
                    tracing::warn!(schedule = %name, %refusal, "the job of a tick was refused");
                }
                other => other?,
            }
        }
    }
    Ok(first)
}

async fn submit_ticks(inner: &Arc<Inner>, schedule: Stored, ticks: &[Time], now: Time) -> Result<(), Error> {
    let mut jobs = Vec::new();
    if schedule.overlap == Overlap::Allow || !is_unfinished(inner, schedule.job).await? {
        let ticks = if schedule.overlap == Overlap::Skip { &ticks[..ticks.len().min(1)] } else { ticks };
        for tick in ticks {
            let how = How {
                owner: Some(schedule.owner.as_str().to_owned()),
                unique: vec![(tick_key(&schedule.name, *tick), Window::For(KEY))],
                ..How::default()
            };
            jobs.push(inner.new_job_of(&schedule.kind, &schedule.payload, &how, None)?);
        }
    }
    // In one commit: a note that is lost would let the next tick overlap with this one's job. The note is passed over
    // if the jobs are refused (a quota), or if somebody else was faster; then their keys answer with his jobs.
    let key = jobs.last().and_then(|job| job.unique.first()).map(|unique| unique.key.clone());
    let ticked = Sweep::Ticked { schedule: schedule.name, from: schedule.last, to: now, key };
    let submit = Unit::Submit(Submission { jobs, ..Submission::default() });
    for outcome in inner.commit(vec![submit, Unit::Sweep(ticked)]).await? {
        outcome?;
    }
    Ok(())
}

async fn is_unfinished(inner: &Inner, job: Option<JobId>) -> Result<bool, Error> {
    let Some(job) = job else { return Ok(false) };
    match inner.read(Read::Jobs(vec![job])).await? {
        Found::Jobs(rows) => Ok(rows.first().is_some_and(|row| !row.header.state.is_final())),
        _ => Err(odd_answer()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwise_core::kind::Kind;
    use turnwise_core::time::{hours, minutes};

    use super::*;
    use crate::testing::TestEngine;

    async fn engine_with(kind: &str) -> TestEngine {
        let test = TestEngine::new().await.unwrap();
        let kind = Kind { sensitive: vec!["password".into()], ..Kind::new(Name::new(kind).unwrap()) };
        test.engine.declare(kind).await.unwrap();
        test
    }

    #[tokio::test]
    async fn a_schedule_is_shown_as_it_is() {
        let test = engine_with("report").await;
        let engine = &test.engine;
        let start = engine.time().await.unwrap();
        let payload = json!({"to": "ada", "password": "CRON-CANARY"});
        let nightly = engine.schedule("nightly", "0  3 * * *").zone("europe/berlin").owner("acme");
        nightly.missed(Missed::All).overlap(Overlap::Skip).raw("report", payload).await.unwrap();
        engine.schedule("hourly", "0 * * * *").raw("report", json!(7)).await.unwrap();
        let [hourly, nightly] = &engine.schedules().await.unwrap()[..] else { panic!("two were saved") };
        assert_eq!((hourly.name.as_str(), nightly.name.as_str()), ("hourly", "nightly"));
        assert_eq!((nightly.line.as_str(), nightly.zone.as_str()), ("0 3 * * *", "Europe/Berlin"));
        assert_eq!((nightly.missed, nightly.overlap), (Missed::All, Overlap::Skip));
        assert_eq!((nightly.kind.as_str(), nightly.owner.as_str()), ("report", "acme"));
        assert_eq!(nightly.payload["to"], "ada");
        assert!(!serde_json::to_string(nightly).unwrap().contains("CANARY"), "{nightly:?}");
        // The test begins at midnight UTC, an hour after midnight in Berlin.
        assert_eq!((nightly.last, nightly.next, nightly.job), (start, Some(start + hours(2)), None));
        assert_eq!((hourly.payload.clone(), hourly.owner.as_str()), (json!(7), DEFAULT_OWNER));
    }

    #[tokio::test]
    async fn its_ticks_submit_jobs_of_a_kind_that_is_known_by_name_only() {
        let test = engine_with("report").await;
        let running = test.engine.start().await.unwrap();
        test.engine.schedule("hourly", "30 * * * *").raw("report", json!({"n": 1})).await.unwrap();
        test.advance(hours(1)).await.unwrap();
        let now = test.engine.time().await.unwrap();
        let view = test.engine.schedules().await.unwrap().remove(0);
        assert_eq!(view.next, Some(now + minutes(30)));
        let job = test.engine.job(view.job.unwrap()).await.unwrap().unwrap();
        assert_eq!((job.kind.as_str(), job.payload["n"].as_i64()), ("report", Some(1)));
        running.stop().await;
    }

    #[tokio::test]
    async fn what_could_never_be_submitted_is_refused() {
        let test = engine_with("report").await;
        let refused = test.engine.schedule("s", "* * * * *").raw("nobody", json!(1)).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::UnknownKind(_)))), "{refused:?}");
        let long = json!("x".repeat(limits::PAYLOAD_BYTES));
        let refused = test.engine.schedule("s", "* * * * *").raw("report", long).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::TooLarge { .. }))), "{refused:?}");
        assert!(test.engine.schedules().await.unwrap().is_empty());
    }
}
