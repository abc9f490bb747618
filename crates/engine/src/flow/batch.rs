//! Batches: jobs submitted together, and the one job that follows them.

use std::fmt;

use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::name::Name;
use turnwise_drivers::store::{NewBatch, NewJob, NewThen, Submission};

use super::submit::{BatchOf, DEFAULT_OWNER, Parts};
use crate::Error;
use crate::engine::Engine;
use crate::job::{How, Job, Submit};

type MakeJob = Box<dyn FnOnce(&Engine) -> Result<NewJob, Error> + Send>;

/// A batch that is being put together.
#[must_use = "a batch does nothing until it is submitted"]
pub struct Batch<J> {
    engine: Engine,
    name: String,
    owner: Option<String>,
    jobs: Box<dyn Iterator<Item = Submit<J>> + Send>,
    then: Option<(MakeJob, When)>,
}

/// A batch that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHandle {
    /// The batch.
    pub id: BatchId,
    /// The job that follows, if there is one.
    pub then: Option<JobId>,
}

impl fmt::Display for BatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl<J> fmt::Debug for Batch<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("name", &self.name).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl<J: Job> Batch<J> {
    pub(crate) fn new(engine: Engine, name: String) -> Self {
        Batch { engine, name, owner: None, jobs: Box::new(std::iter::empty()), then: None }
    }

    /// Whose turns its jobs take, unless a job says otherwise.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Its jobs; added to those that it has. They are taken one by one while they are submitted, so a long
    /// iterator needs no memory.
    pub fn jobs<I>(mut self, jobs: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Submit<J>> + 'static,
        I::IntoIter: Send + 'static,
    {
        self.jobs = Box::new(self.jobs.chain(jobs.into_iter().map(Into::into)));
        self
    }

    /// What follows when the last job has settled, however it ended.
    pub fn then<K: Job>(self, job: impl Into<Submit<K>>) -> Self {
        self.follow(job.into(), When::Settled)
    }

    /// What follows if every job was done; otherwise the batch is parked and a person or a replay decides.
    pub fn then_if_all_done<K: Job>(self, job: impl Into<Submit<K>>) -> Self {
        self.follow(job.into(), When::AllDone)
    }

    fn follow<K: Job>(mut self, job: Submit<K>, when: When) -> Self {
        let owner = self.owner.clone();
        let make = move |engine: &Engine| {
            let how = How { owner: job.how.owner.clone().or(owner), ..job.how.clone() };
            engine.inner.new_job_of(K::KIND, &job.job, &how, None)
        };
        self.then = Some((Box::new(make), when));
        self
    }

    /// Submits it. A large one goes in parts: it is open until the last part has sealed it, and only a sealed
    /// batch settles. If this fails halfway, the open batch is cancelled.
    pub async fn submit(self) -> Result<BatchHandle, Error> {
        let Batch { engine, name, owner, jobs, then } = self;
        engine.inner.declare_new_kinds().await?;
        let id = engine.inner.next_batch();
        let owner = Name::new(owner.as_deref().unwrap_or(DEFAULT_OWNER))?;
        let then = match then {
            Some((make, when)) => Some(NewThen { job: make(&engine)?, when }),
            None => None,
        };
        let handle = BatchHandle { id, then: then.as_ref().map(|then| then.job.id) };
        let of = BatchOf { id, owner: owner.clone() };
        let open = NewBatch { id, name: Name::new(name)?, owner, then };
        let sent = send_parts(&engine, &of, open, jobs).await;
        if let Err((error, true)) = sent {
            // The first error is what the caller must know.
            let _ = engine.cancel_batch(id).await;
            return Err(error);
        }
        sent.map(|()| handle).map_err(|(error, _)| error)
    }
}

/// Sends the parts; on failure says whether the batch was opened.
async fn send_parts<J: Job>(
    engine: &Engine,
    of: &BatchOf,
    open: NewBatch,
    jobs: Box<dyn Iterator<Item = Submit<J>> + Send>,
) -> Result<(), (Error, bool)> {
    let inner = &engine.inner;
    let mut open = vec![open];
    let mut parts = Parts::new(jobs);
    let mut make = |job: Submit<J>| inner.new_job(&job, Some(of));
    let mut opened = false;
    let mut part = parts.next(&mut make).map_err(|error| (error, opened))?.unwrap_or_default();
    loop {
        let next = parts.next(&mut make).map_err(|error| (error, opened))?;
        let seal = if next.is_none() { vec![of.id] } else { Vec::new() };
        let submission = Submission { open: std::mem::take(&mut open), jobs: part, seal };
        inner.submit_part(submission).await.map_err(|error| (error, opened))?;
        opened = true;
        match next {
            Some(next) => part = next,
            None => return Ok(()),
        }
    }
}
