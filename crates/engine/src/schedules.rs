//! Cron: each tick of a schedule submits one job, once, whoever else is trying to.

use std::sync::Arc;
use std::time::Duration;

use turnwise_core::cron::{Cron, Missed, Overlap, SCHEDULE_BYTES, tick_key};
use turnwise_core::ids::JobId;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_core::unique::Window;
use turnwise_drivers::store::{Found, Read, Schedule as Stored, Submission, Sweep, Unit};

use crate::Error;
use crate::engine::{Engine, Inner, odd_answer};
use crate::flow::submit::DEFAULT_OWNER;
use crate::job::{How, Job};

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
        let inner = &self.engine.inner;
        inner.declare_new_kinds().await?;
        if self.name.len() > SCHEDULE_BYTES {
            return Err(Error::Config(format!(
                "a schedule's name may have {SCHEDULE_BYTES} bytes: use a shorter one"
            )));
        }
        let name = Name::new(&self.name)?;
        let cron = Cron::parse(&self.line, &self.zone).map_err(|bad| Error::Config(bad.to_string()))?;
        // A program that saves its schedules at every start goes on where it was: ticks that were missed meanwhile
        // are still missed. A changed line begins now.
        let Found::Schedules(known) = inner.read(Read::Schedules).await? else { return Err(odd_answer()) };
        let before = known.into_iter().find(|known| known.name == name && known.cron == cron);
        let stored = Stored {
            name: name.clone(),
            cron,
            missed: self.missed,
            overlap: self.overlap,
            kind: Name::new(J::KIND)?,
            owner: Name::new(&self.owner)?,
            payload: serde_json::to_value(&job).map_err(Error::json("a payload"))?,
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
                unique: Some((tick_key(&schedule.name, *tick), Window::For(KEY))),
                ..How::default()
            };
            jobs.push(inner.new_job_of(&schedule.kind, &schedule.payload, &how, None)?);
        }
    }
    // In one commit: a note that is lost would let the next tick overlap with this one's job. The note is passed over
    // if the jobs are refused (a quota), or if somebody else was faster; then their keys answer with his jobs.
    let key = jobs.last().and_then(|job| job.unique.as_ref()).map(|unique| unique.key.clone());
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
