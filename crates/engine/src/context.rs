//! What a handler has besides its arguments: time, cancellation, steps, progress, and submitting more work that
//! commits together with it.

use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};
use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_core::trace::TracePlace;
use turnwise_drivers::store::{
    Blob, Claimed, Found, NewBatch, NewJob, NewThen, Progress, Read, StepDone, StepRecord, Submission, Unit,
};

use crate::Error;
use crate::engine::Inner;
use crate::flow::submit::BatchOf;
use crate::job::{Job, Submit};
use crate::outcome::{Outcome, Stop};

/// A handler's view of the run it is in. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) run: Arc<Run>,
}

/// One claim at work.
pub(crate) struct Run {
    pub(crate) inner: Arc<Inner>,
    pub(crate) claimed: Box<Claimed>,
    /// When its handler began.
    started: OnceLock<Time>,
    /// When its handler ended.
    ended: OnceLock<Time>,
    pub(crate) signal: Signal,
    fanout: Mutex<Submission>,
    steps: tokio::sync::Mutex<Option<Vec<StepRecord>>>,
    /// For somebody who waits to hear how the end of this run was answered.
    answer: OnceLock<watch::Sender<Option<Answer>>>,
}

/// How the end of a run was answered: it is durable, or why it was refused.
pub(crate) type Answer = Result<(), Refusal>;

/// What a running handler is told.
#[derive(Default)]
pub(crate) struct Signal {
    state: AtomicU8,
    told: Notify,
}

const TOLD: u8 = 1;
const ABORTED: u8 = 2;

impl Signal {
    /// The handler should stop.
    pub(crate) fn tell(&self) {
        self.state.fetch_max(TOLD, Ordering::AcqRel);
        self.told.notify_waiters();
    }

    /// The handler is stopped, if it can be.
    pub(crate) fn abort(&self) {
        self.state.fetch_max(ABORTED, Ordering::AcqRel);
        self.told.notify_waiters();
    }

    pub(crate) fn is_told(&self) -> bool {
        self.state.load(Ordering::Acquire) >= TOLD
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.state.load(Ordering::Acquire) >= ABORTED
    }

    async fn reaches(&self, level: u8) {
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            // Listen before looking, so that nothing said in between is missed.
            told.as_mut().enable();
            if self.state.load(Ordering::Acquire) >= level {
                return;
            }
            told.await;
        }
    }

    pub(crate) async fn aborted(&self) {
        self.reaches(ABORTED).await;
    }
}

impl Run {
    pub(crate) fn new(inner: Arc<Inner>, claimed: Box<Claimed>) -> Self {
        Run {
            inner,
            claimed,
            started: OnceLock::new(),
            ended: OnceLock::new(),
            signal: Signal::default(),
            fanout: Mutex::default(),
            steps: tokio::sync::Mutex::default(),
            answer: OnceLock::new(),
        }
    }

    /// Where it will be heard how the end of this run was answered. Closed without a word if nobody knows.
    pub(crate) fn listen(&self) -> watch::Receiver<Option<Answer>> {
        self.answer.get_or_init(|| watch::channel(None).0).subscribe()
    }

    /// The end of this run was answered. Only the first answer counts: a refusal stays one, whatever is committed
    /// instead.
    pub(crate) fn answered(&self, answer: Result<(), &Refusal>) {
        let Some(listeners) = self.answer.get() else { return };
        listeners.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert_with(|| answer.map_err(Clone::clone));
            first
        });
    }

    /// The handler begins: from now on its time runs.
    pub(crate) fn begin(&self) {
        self.started.get_or_init(|| self.inner.runtime.now());
    }

    /// The handler has ended.
    pub(crate) fn end(&self) {
        self.ended.get_or_init(|| self.inner.runtime.now());
    }

    /// When the handler ended, if it has.
    pub(crate) fn ended(&self) -> Option<Time> {
        self.ended.get().copied()
    }

    /// When the handler must have ended, if it must.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.started.get().zip(self.claimed.deadline).map(|(started, span)| *started + span)
    }

    /// How long the handler has taken, if it began.
    pub(crate) fn taken(&self) -> Option<Duration> {
        self.started.get().map(|started| self.inner.runtime.now().since(*started))
    }

    pub(crate) fn id(&self) -> JobId {
        self.claimed.header.id
    }

    /// Names the claim, not only the job.
    pub(crate) fn key(&self) -> (JobId, u32) {
        (self.claimed.header.id, self.claimed.header.fence)
    }

    /// What the handler submitted outside of steps.
    pub(crate) fn take_fanout(&self) -> Submission {
        std::mem::take(&mut *self.fanout())
    }

    fn fanout(&self) -> MutexGuard<'_, Submission> {
        self.fanout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: NewJob) -> Result<JobId, Stop> {
        let mut fanout = self.fanout();
        if fanout.jobs.len() >= limits::JOBS_PER_FANOUT {
            let most = limits::JOBS_PER_FANOUT;
            return Err(Stop::never(format!("a handler may submit {most} jobs at once: use several steps")));
        }
        let id = job.id;
        fanout.jobs.push(job);
        Ok(id)
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("job", &self.job())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// The job's id.
    pub fn job(&self) -> JobId {
        self.run.id()
    }

    /// Whose turn it takes.
    pub fn owner(&self) -> &str {
        &self.run.claimed.line.owner
    }

    /// Its batch, if it has one.
    pub fn batch_id(&self) -> Option<BatchId> {
        self.run.claimed.line.batch
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u16 {
        self.run.claimed.header.attempt
    }

    /// The number that only grows with each claim: give it to systems that can refuse an older one.
    pub fn fence(&self) -> u32 {
        self.run.claimed.header.fence
    }

    /// Where this run is in its job's trace: a request that a handler sends goes on from there if it carries this as its
    /// header `traceparent`.
    pub fn trace(&self) -> TracePlace {
        self.run.place()
    }

    /// When the handler must have ended, if it must.
    pub fn deadline(&self) -> Option<Time> {
        self.run.deadline()
    }

    /// Whether the handler should stop: somebody cancelled the job, or the process shuts down.
    pub fn is_cancelled(&self) -> bool {
        self.run.signal.is_told()
    }

    /// Ends when the handler should stop.
    pub async fn cancelled(&self) {
        self.run.signal.reaches(TOLD).await;
    }

    /// Says how far the job is, from 0 to 1, and in words. An older claim is refused.
    pub async fn progress(&self, fraction: f32, note: impl Into<String>) -> Outcome {
        let progress = progress_of(fraction, note.into(), self.run.inner.runtime.now());
        self.commit(Unit::Progress(self.job(), self.fence(), progress)).await
    }

    /// Does something once. If the job is tried again after this step finished, its result is taken from the
    /// store instead of doing it again. What the step submits commits with it.
    ///
    /// Steps run one after the other; a name stands for one step of the job.
    pub async fn step<T, F, Fut>(&self, name: &str, work: F) -> Outcome<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Outcome<T>>,
    {
        let name = Name::new(name).map_err(Stop::never)?;
        let Ok(mut steps) = self.run.steps.try_lock() else {
            return Err(Stop::never(format!(
                "step `{name}` was begun inside or beside another: steps follow each other"
            )));
        };
        let known = self.finished_steps(&mut steps).await?;
        if let Some(step) = known.iter().find(|step| step.name == name) {
            return serde_json::from_slice(&step.output).map_err(|error| {
                Stop::never(format!("the stored result of step `{name}` does not fit: {error}"))
            });
        }
        if known.len() >= limits::STEPS_PER_JOB {
            return Err(Stop::never(format!(
                "a job may have {} steps: use several jobs",
                limits::STEPS_PER_JOB
            )));
        }
        // What was submitted before this step belongs to the end of the job, not to the step.
        let before = std::mem::take(&mut *self.run.fanout());
        let began = self.run.inner.runtime.now();
        let worked = work().await;
        let submission = std::mem::replace(&mut *self.run.fanout(), before);
        let value = worked?;
        let output = serde_json::to_vec(&value)
            .map_err(|error| Stop::never(format!("the result of step `{name}` is no JSON: {error}")))?;
        let output = Blob::from(output);
        let (job, fence) = (self.job(), self.fence());
        let traced = self.run.inner.submitting(&submission, Some(&self.run));
        self.commit(Unit::Step(StepDone {
            job,
            fence,
            name: name.clone(),
            output: output.clone(),
            submission,
        }))
        .await?;
        self.run.inner.submitted(traced, None);
        self.run.inner.stepped(&self.run, &name, known.len(), began);
        known.push(StepRecord { name, output });
        Ok(value)
    }

    /// Submits a job when this one is done (or with the step that it is called in). If the handler fails, the
    /// job was never there; so a retry cannot submit it twice.
    ///
    /// It takes the turns of this job's owner unless it says otherwise.
    pub fn submit<J: Job>(&self, job: impl Into<Submit<J>>) -> Outcome<JobId> {
        self.run.add(self.same_owner(job.into())?)
    }

    /// The same, into the batch of this job: the batch settles after it.
    pub fn submit_into_batch<J: Job>(&self, job: impl Into<Submit<J>>) -> Outcome<JobId> {
        let line = &self.run.claimed.line;
        let Some(id) = line.batch else {
            return Err(Stop::never("this job belongs to no batch: use `submit`"));
        };
        let of = BatchOf { id, owner: line.owner.clone() };
        let job = self.run.inner.new_job(&job.into(), Some(&of)).map_err(Stop::never)?;
        self.run.add(job)
    }

    /// Submits a batch, and perhaps a job that follows it, when this job is done (or with the step that it is
    /// called in).
    pub fn batch<J: Job, I>(&self, name: &str, jobs: I) -> Outcome<BatchId>
    where
        I: IntoIterator,
        I::Item: Into<Submit<J>>,
    {
        self.fan_out(name, jobs, None)
    }

    /// The same, with the job that follows when the last one has settled.
    pub fn batch_then<J: Job, K: Job, I>(
        &self,
        name: &str,
        jobs: I,
        then: impl Into<Submit<K>>,
    ) -> Outcome<BatchId>
    where
        I: IntoIterator,
        I::Item: Into<Submit<J>>,
    {
        let job = self.same_owner(then.into())?;
        self.fan_out(name, jobs, Some(NewThen { job, when: When::Settled }))
    }

    /// A job outside of any batch, of this job's owner unless it says otherwise.
    fn same_owner<J: Job>(&self, mut submit: Submit<J>) -> Outcome<NewJob> {
        submit.how.owner.get_or_insert_with(|| self.owner().to_owned());
        self.run.inner.new_job(&submit, None).map_err(Stop::never)
    }

    fn fan_out<J: Job, I>(&self, name: &str, jobs: I, then: Option<NewThen>) -> Outcome<BatchId>
    where
        I: IntoIterator,
        I::Item: Into<Submit<J>>,
    {
        let id = self.run.inner.next_batch();
        let owner = self.run.claimed.line.owner.clone();
        let of = BatchOf { id, owner: owner.clone() };
        for job in jobs {
            let job = self.run.inner.new_job(&job.into(), Some(&of)).map_err(Stop::never)?;
            self.run.add(job)?;
        }
        let batch = NewBatch { id, name: Name::new(name).map_err(Stop::never)?, owner, then };
        let mut fanout = self.run.fanout();
        fanout.open.push(batch);
        fanout.seal.push(id);
        Ok(id)
    }

    /// The steps that are finished, read once.
    async fn finished_steps<'a>(
        &self,
        steps: &'a mut Option<Vec<StepRecord>>,
    ) -> Outcome<&'a mut Vec<StepRecord>> {
        if steps.is_none() {
            *steps = Some(match self.run.claimed.header.flags.steps {
                false => Vec::new(),
                true => match self.run.inner.read(Read::Steps(self.job())).await.map_err(Stop::retry)? {
                    Found::Steps(found) => found,
                    _ => return Err(Stop::retry("the store answered another question than was asked")),
                },
            });
        }
        Ok(steps.get_or_insert_default())
    }

    /// Writes in the name of this claim. Whoever has lost it is told to stop.
    async fn commit(&self, unit: Unit) -> Outcome {
        match self.run.inner.commit_one(unit).await {
            Ok(_) => Ok(()),
            Err(Error::Refused(refusal)) if refusal.is_stale() => {
                self.run.signal.tell();
                Err(Stop::retry(refusal))
            }
            Err(error) => Err(Stop::retry(error)),
        }
    }
}

/// Progress within its bounds, whatever was said.
pub(crate) fn progress_of(fraction: f32, mut note: String, at: Time) -> Progress {
    let mut end = note.len().min(limits::NOTE_BYTES);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    note.truncate(end);
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    Progress { fraction, note, at }
}
