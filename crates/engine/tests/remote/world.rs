//! An engine on manual time, and workers outside it.

use std::future::Future;
use std::pin::Pin;

use futures_util::FutureExt;
use serde_json::{Value, json};
use turnwise::testing::TestEngine;
use turnwise::{
    Error, JobId, JobView, Kind, Name, Raw, Refusal, Remote, RemoteJob, RemoteOptions, Running, State,
    Submit, secs,
};

pub(crate) const SESSION: std::time::Duration = secs(30);

/// An engine that only plans, on manual time, and a way to open workers outside it.
pub(crate) struct World {
    pub(crate) test: TestEngine,
    running: Running,
}

impl World {
    pub(crate) async fn new() -> World {
        let test = TestEngine::new().await.unwrap();
        let running = test.engine.start().await.unwrap();
        World { test, running }
    }

    pub(crate) async fn declare(&self, change: impl FnOnce(&mut Kind)) {
        let mut kind = Kind::new(name("work"));
        change(&mut kind);
        self.test.engine.declare(kind).await.unwrap();
    }

    pub(crate) async fn worker(&self, slots: u32) -> Remote {
        self.worker_of(&["work"], slots).await
    }

    pub(crate) async fn worker_of(&self, kinds: &[&str], slots: u32) -> Remote {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let options = RemoteOptions { name: "py".into(), kinds, slots, session: SESSION };
        self.test.engine.remote(options).await.unwrap()
    }

    pub(crate) async fn submit(&self, jobs: impl IntoIterator<Item = Submit<Raw>>) -> Vec<JobId> {
        let accepted = self.test.engine.submit_raw(jobs.into_iter().collect()).await.unwrap();
        accepted.into_iter().map(|job| job.id).collect()
    }

    pub(crate) async fn submit_one(&self) -> JobId {
        self.submit([work(0)]).await[0]
    }

    pub(crate) async fn job(&self, job: JobId) -> JobView {
        self.test.engine.job(job).await.unwrap().unwrap()
    }

    /// Waits until a job is in a state.
    pub(crate) async fn until(&self, job: JobId, state: State) -> JobView {
        loop {
            let view = self.job(job).await;
            if view.state == state {
                return view;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Everything that can happen by now has happened.
    pub(crate) async fn settle(&self) {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn work(n: u32) -> Submit<Raw> {
    Raw::job("work", json!({ "n": n }))
}

pub(crate) async fn claim_one(worker: &Remote) -> RemoteJob {
    let mut jobs = worker.claim(1).await.unwrap();
    assert_eq!(jobs.len(), 1);
    jobs.remove(0)
}

pub(crate) async fn done(worker: &Remote, job: &RemoteJob) {
    worker.answer(job.id, job.fence, Ok(Value::Null)).await.unwrap();
}

pub(crate) fn is_stale<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Refused(Refusal::StaleFence { .. })))
}

pub(crate) fn is_unknown<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::UnknownWorker(_)))
}

pub(crate) type Claiming<'a> = Pin<Box<dyn Future<Output = Result<Vec<RemoteJob>, Error>> + 'a>>;

/// Somebody who waits for a job, and has not got one yet.
pub(crate) fn waits(worker: &Remote, most: u32) -> Claiming<'_> {
    let mut claiming: Claiming<'_> = Box::pin(worker.claim(most));
    assert!((&mut claiming).now_or_never().is_none());
    claiming
}
