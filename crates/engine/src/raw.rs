//! Jobs whose kind is known by name only: for programs that pass other people's work on, such as the command
//! line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use turnwise_core::batch::When;
use turnwise_core::ids::BatchId;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::schedule::Target;
use turnwise_drivers::store::{Found, NewBatch, NewJob, NewThen, Read, Submission, Submitted};

use crate::engine::{Engine, odd_answer};
use crate::flow::submit::{BatchOf, DEFAULT_OWNER, Parts};
use crate::job::{How, Submit};
use crate::{BatchHandle, Error};

/// The arguments of a job, and the name of its kind.
#[derive(Clone, Debug)]
pub struct Raw {
    kind: String,
    payload: Value,
    batch: Option<BatchId>,
}

impl Raw {
    /// A job of this kind. What is said further on the returned submission is the same as for any job.
    pub fn job(kind: impl Into<String>, payload: Value) -> Submit<Raw> {
        Submit { job: Raw { kind: kind.into(), payload, batch: None }, how: How::default() }
    }
}

impl Submit<Raw> {
    /// The open batch that it joins. It takes the turns of the batch's owner unless it says otherwise.
    pub fn batch(mut self, batch: BatchId) -> Self {
        self.job.batch = Some(batch);
        self
    }
}

/// A batch of jobs whose kinds are known by name only.
#[derive(Clone, Debug)]
pub struct RawBatch {
    /// What people call it.
    pub name: String,
    /// Whose turns its jobs take, unless a job says otherwise.
    pub owner: Option<String>,
    /// Its jobs.
    pub jobs: Vec<Submit<Raw>>,
    /// What follows, and when.
    pub then: Option<(Submit<Raw>, When)>,
    /// Takes more jobs until [`Engine::seal_batch`]; only a sealed batch settles.
    pub open: bool,
}

impl Engine {
    /// Submits jobs whose kinds are known by name only, in parts that each fit into a commit. For each job,
    /// which one stands for it and whether that was there already.
    pub async fn submit_raw(&self, jobs: Vec<Submit<Raw>>) -> Result<Vec<Submitted>, Error> {
        self.inner.declare_new_kinds().await?;
        let owners = self.owners_of(jobs.iter().filter_map(|job| job.job.batch)).await?;
        let make = |job: Submit<Raw>| {
            let of = job.job.batch.and_then(|id| Some(BatchOf { id, owner: owners.get(&id)?.clone() }));
            self.inner.new_job_of(&job.job.kind, &job.job.payload, &job.how, of.as_ref())
        };
        let mut accepted = Vec::with_capacity(jobs.len());
        for jobs in cut(jobs, make)? {
            accepted.extend(self.inner.submit_part(Submission { jobs, ..Submission::default() }).await?);
        }
        Ok(accepted)
    }

    /// Submits a batch. Unless it stays open it is sealed with its last part; if that fails halfway, it is
    /// cancelled.
    pub async fn submit_raw_batch(&self, batch: RawBatch) -> Result<BatchHandle, Error> {
        let RawBatch { name, owner, jobs, then, open } = batch;
        self.inner.declare_new_kinds().await?;
        let id = self.inner.next_batch();
        let owner = Name::new(owner.as_deref().unwrap_or(DEFAULT_OWNER))?;
        let then = match then {
            Some((job, when)) => {
                let how = How {
                    owner: Some(job.how.owner.clone().unwrap_or_else(|| owner.clone().into())),
                    ..job.how
                };
                Some(NewThen {
                    job: self.inner.new_job_of(&job.job.kind, &job.job.payload, &how, None)?,
                    when,
                })
            }
            None => None,
        };
        let handle = BatchHandle { id, then: then.as_ref().map(|then| then.job.id) };
        let of = BatchOf { id, owner: owner.clone() };
        let opening = NewBatch { id, name: Name::new(name)?, owner, then };
        let make =
            |job: Submit<Raw>| self.inner.new_job_of(&job.job.kind, &job.job.payload, &job.how, Some(&of));
        let mut parts = cut(jobs, make)?;
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let mut opening = vec![opening];
        let last = parts.len() - 1;
        for (number, jobs) in parts.into_iter().enumerate() {
            let seal = if number == last && !open { vec![id] } else { Vec::new() };
            let part = Submission { open: std::mem::take(&mut opening), jobs, seal };
            if let Err(error) = self.inner.submit_part(part).await {
                if number > 0 {
                    // The first error is what the caller must know.
                    let _ = self.cancel_batch(id).await;
                }
                return Err(error);
            }
        }
        Ok(handle)
    }

    /// A batch that was left open takes no more jobs, and may settle.
    pub async fn seal_batch(&self, batch: BatchId) -> Result<(), Error> {
        let seal = Submission { seal: vec![batch], ..Submission::default() };
        self.inner.submit_part(seal).await.map(drop)
    }

    /// The kinds, owners and batches that are paused.
    pub async fn pauses(&self) -> Result<BTreeSet<Target>, Error> {
        match self.inner.read(Read::Pauses).await? {
            Found::Pauses(pauses) => Ok(pauses.0),
            _ => Err(odd_answer()),
        }
    }

    /// The owners of batches that must be there.
    async fn owners_of(
        &self,
        batches: impl Iterator<Item = BatchId>,
    ) -> Result<BTreeMap<BatchId, Name>, Error> {
        let mut owners = BTreeMap::new();
        for id in batches.collect::<BTreeSet<_>>() {
            let view = self.batch_view(id).await?.ok_or(Refusal::UnknownBatch(id))?;
            owners.insert(id, view.batch.owner);
        }
        Ok(owners)
    }
}

/// Cuts jobs into parts. Each is looked at before the first part is sent: a bad one leaves nothing behind.
fn cut(
    jobs: Vec<Submit<Raw>>,
    make: impl Fn(Submit<Raw>) -> Result<NewJob, Error>,
) -> Result<Vec<Vec<NewJob>>, Error> {
    let mut cut = Parts::new(jobs.into_iter());
    let mut parts = Vec::new();
    while let Some(part) = cut.next(&make)? {
        parts.push(part);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwise_core::batch::Phase;
    use turnwise_core::kind::Kind;
    use turnwise_core::limits;

    use super::*;
    use crate::Config;

    async fn engine() -> Engine {
        let engine = Engine::open(Config::memory()).await.unwrap();
        engine.declare(Kind::new(Name::new("any").unwrap())).await.unwrap();
        engine
    }

    #[tokio::test]
    async fn a_batch_that_needs_several_parts() {
        let engine = engine().await;
        let jobs = vec![Raw::job("any", json!(1)); limits::JOBS_PER_SUBMIT + 1];
        let then = Some((Raw::job("any", json!(2)), When::Settled));
        let batch = RawBatch { name: "b".into(), owner: Some("acme".into()), jobs, then, open: false };
        let handle = engine.submit_raw_batch(batch).await.unwrap();
        let view = engine.batch_view(handle.id).await.unwrap().unwrap();
        assert_eq!((view.batch.phase, view.batch.total), (Phase::Sealed, limits::JOBS_PER_SUBMIT as u64 + 1));
        let then = engine.job(handle.then.unwrap()).await.unwrap().unwrap();
        assert_eq!(then.owner.as_str(), "acme");
    }

    #[tokio::test]
    async fn an_open_batch_is_filled_and_sealed() {
        let engine = engine().await;
        let batch =
            RawBatch { name: "b".into(), owner: Some("acme".into()), jobs: vec![], then: None, open: true };
        let id = engine.submit_raw_batch(batch).await.unwrap().id;
        let job = Raw::job("any", json!(null)).batch(id);
        let accepted = engine.submit_raw(vec![job.clone(), job.clone()]).await.unwrap();
        assert_eq!(engine.job(accepted[1].id).await.unwrap().unwrap().owner.as_str(), "acme");
        engine.seal_batch(id).await.unwrap();
        assert!(matches!(engine.submit_raw(vec![job]).await, Err(Error::Refused(Refusal::Sealed(_)))));
        let lost = Raw::job("any", json!(null)).batch(BatchId::from_u64(1));
        assert!(matches!(engine.submit_raw(vec![lost]).await, Err(Error::Refused(Refusal::UnknownBatch(_)))));
    }

    #[tokio::test]
    async fn one_bad_job_and_nothing_is_accepted() {
        let engine = engine().await;
        let mut jobs = vec![Raw::job("any", json!(1)); limits::JOBS_PER_SUBMIT];
        jobs.push(Raw::job("any", json!(1)).owner(""));
        assert!(engine.submit_raw(jobs).await.is_err());
        assert_eq!(engine.backlog().await.unwrap(), 0);
    }
}
