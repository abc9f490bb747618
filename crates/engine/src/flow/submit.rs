//! Work comes. Ids are made here, before the commit, so that an unknown outcome can be sent again.

use serde::Serialize;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::unique::Unique;
use turnwise_drivers::store::{LaneChoice, NewJob, Receipt, Submission, Submitted, Unit};

use crate::Error;
use crate::engine::Inner;
use crate::job::{How, Job, Submit};
use crate::meter;

/// The owner of whoever does not say.
pub(crate) const DEFAULT_OWNER: &str = "default";

impl Inner {
    /// A job as the store takes it.
    pub(crate) fn new_job<J: Job>(
        &self,
        submit: &Submit<J>,
        batch: Option<&BatchOf>,
    ) -> Result<NewJob, Error> {
        self.new_job_of(J::KIND, &submit.job, &submit.how, batch)
    }

    /// A job of a kind that is known by name only.
    pub(crate) fn new_job_of(
        &self,
        kind: &str,
        payload: &impl Serialize,
        how: &How,
        batch: Option<&BatchOf>,
    ) -> Result<NewJob, Error> {
        let payload = serde_json::to_vec(payload).map_err(Error::json("a payload"))?;
        let owner = match (&how.owner, batch) {
            (Some(owner), _) => self.name(owner)?,
            (None, Some(batch)) => batch.owner.clone(),
            (None, None) => self.name(DEFAULT_OWNER)?,
        };
        let lane = match &how.lane {
            Some((name, on_dead)) => Some(LaneChoice { name: Name::new(name)?, on_dead: *on_dead }),
            None => None,
        };
        let unique =
            how.unique.iter().map(|(key, window)| Ok(Unique { key: Name::new(key)?, window: *window }));
        let unique = unique.collect::<Result<Vec<_>, Error>>()?;
        Ok(NewJob {
            id: self.next_job(),
            kind: self.name(kind)?,
            owner,
            priority: how.priority()?,
            batch: batch.map(|batch| batch.id),
            limit_key: how.limit_key.as_ref().map(Name::new).transpose()?,
            lane,
            start: how.start,
            attempts: how.attempts,
            unique,
            payload: payload.into(),
        })
    }

    /// Submits jobs in parts that each fit into a commit.
    pub(crate) async fn submit_all<J: Job>(
        &self,
        jobs: impl Iterator<Item = Submit<J>>,
    ) -> Result<Vec<JobId>, Error> {
        self.declare_new_kinds().await?;
        let mut accepted = Vec::new();
        let mut parts = Parts::new(jobs);
        while let Some(jobs) = parts.next(|job| self.new_job(&job, None))? {
            let submitted = self.submit_part(Submission { jobs, ..Submission::default() }).await?;
            accepted.extend(submitted.into_iter().map(|submitted| submitted.id));
        }
        Ok(accepted)
    }

    /// Submits one part.
    pub(crate) async fn submit_part(&self, submission: Submission) -> Result<Vec<Submitted>, Error> {
        let kinds: Vec<Name> = submission.jobs.iter().map(|job| job.kind.clone()).collect();
        let traced = self.submitting(&submission, None);
        match self.commit_one(Unit::Submit(submission)).await? {
            Receipt::Submitted(submitted) => {
                meter::submitted(kinds.iter().zip(&submitted));
                self.submitted(traced, Some(&submitted));
                Ok(submitted)
            }
            other => Err(Error::Config(format!("the store answered a submission with {other:?}"))),
        }
    }
}

/// The batch that a job belongs to.
pub(crate) struct BatchOf {
    pub(crate) id: BatchId,
    pub(crate) owner: Name,
}

/// Cuts a stream of jobs into parts that each fit into a commit.
pub(crate) struct Parts<I> {
    jobs: I,
}

impl<T, I: Iterator<Item = T>> Parts<I> {
    pub(crate) fn new(jobs: I) -> Self {
        Parts { jobs }
    }

    pub(crate) fn next(
        &mut self,
        mut make: impl FnMut(T) -> Result<NewJob, Error>,
    ) -> Result<Option<Vec<NewJob>>, Error> {
        let mut part = Vec::new();
        let mut bytes = 0;
        // A part ends before the next job could overflow it, whatever that job's size.
        while part.len() < limits::JOBS_PER_SUBMIT && bytes + limits::PAYLOAD_BYTES <= limits::SUBMIT_BYTES {
            let Some(job) = self.jobs.next() else { break };
            let job = make(job)?;
            bytes += job.payload.len();
            part.push(job);
        }
        Ok((!part.is_empty()).then_some(part))
    }
}
