//! Remote workers: programs outside this process, in any language, that work like any other worker.
//!
//! A remote worker is an engine of its own on the drivers of its host, which only claims and settles. Its handlers are on
//! the other side of a desk, where the program fetches jobs and leaves answers. So sessions, tickets, claims, fences,
//! deadlines and rescue are what they are for everybody.

mod desk;
mod ended;
mod job;
mod life;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use turnwise_core::ids::JobId;
use turnwise_core::kind::Kind;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::retry::Class;
use turnwise_drivers::open::Drivers;
use turnwise_drivers::store::{
    Found, Progress, Read, Roles, StepDone, StoreError, Submission, Unit, Verdict,
};

pub(crate) use desk::Desk;
pub use job::RemoteJob;

use crate::context::{Run, progress_of};
use crate::engine::{Engine, odd_answer};
use crate::handler::verdict;
use crate::outcome::Outcome;
use crate::vault::KeySource;
use crate::worker::Crew;
use crate::{Config, Error};
use life::{AtWork, Life};

/// What a remote worker is like.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// What it is called: the name of its node.
    pub name: String,
    /// The kinds that it works at. One that is declared keeps its rules: retry, deadline, caps, rates, pool, lease and
    /// sensitive fields. One that nobody has declared is declared with the usual rules.
    pub kinds: Vec<String>,
    /// How many jobs it holds at once, of all its kinds together; 1 unless said. Kinds in different pools are offered as
    /// many slots in each of them, and share these all the same.
    pub slots: u32,
    /// How long it lives without a word, 1 second to 5 minutes; 30 seconds unless said.
    pub session: Duration,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        RemoteOptions { name: "remote".into(), kinds: Vec::new(), slots: 1, session: limits::REMOTE_SESSION }
    }
}

/// Something that a remote worker should stop working at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Recall {
    /// The job.
    pub job: JobId,
    /// The claim.
    pub fence: u32,
    /// Why.
    pub reason: RecallReason,
}

/// Why a remote worker should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecallReason {
    /// Somebody asked for the job's end. It is still held: [`Stop::cancel`](crate::Stop::cancel), or any other answer,
    /// ends it.
    Cancelled,
    /// It took too long. That was a failed attempt; what it answers now is refused.
    Deadline,
    /// The claim is not its own any more. What it answers now is refused.
    Lost,
}

/// A worker outside this process, in the hand of whoever speaks for it, such as a server. Cheap to clone; all clones are
/// the same worker.
///
/// - **A job is claimed only while somebody waits in [`claim`](Remote::claim)**, and no more than is asked for. If the one
///   who waited has gone when the job comes, it lies there for the next for half a second, and is then given back without
///   burning an attempt.
/// - **It must be heard from.** Every call counts. When a session passes without one, the worker is taken for dead: its
///   jobs are rescued, as from any dead worker, which burns no attempt but counts against the kind's rescue limit; and
///   every later call is answered with [`Error::UnknownWorker`]. A call to `claim` counts when it begins and when it ends:
///   let it wait for less than a session.
/// - **Every word about a job carries its fence.** When a call returns `Ok`, what it said is durable. A claim that is not
///   the worker's own any more is refused.
/// - **An answer may be sent again** if it is not known whether it arrived: the same word for the same claim is answered as
///   the first was, for the last few thousand claims.
///
/// Dropping the last handle is a farewell, too, some time later. [Leave](Remote::leave) before the engine is closed.
///
/// ```
/// # use serde_json::json;
/// # use turnwise::{Config, Engine, Raw, RemoteOptions, State};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), turnwise::Error> {
/// let engine = Engine::open(Config::memory()).await?;
/// let running = engine.start().await?;
/// let kinds = vec!["resize".to_string()];
/// let worker = engine.remote(RemoteOptions { name: "py-1".into(), kinds, ..Default::default() }).await?;
///
/// let submitted = engine.submit_raw(vec![Raw::job("resize", json!({"width": 80}))]).await?;
/// let jobs = worker.claim(1).await?;
/// assert_eq!(jobs[0].payload["width"], 80);
/// worker.answer(jobs[0].id, jobs[0].fence, Ok(json!("done"))).await?;
///
/// assert_eq!(engine.job(submitted[0].id).await?.unwrap().state, State::Done);
/// worker.leave().await?;
/// running.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Remote {
    life: Arc<Life>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.life.name).finish()
    }
}

impl Engine {
    /// Opens a worker for a program outside this process. It is a node like any other: a session with slots, planned for
    /// by whoever leads. See [`Remote`].
    pub async fn remote(&self, options: RemoteOptions) -> Result<Remote, Error> {
        let (name, kinds) = checked(&options)?;
        let RemoteOptions { slots, session, .. } = options;
        self.inner.declare_new_kinds().await?;
        let declared = self.kinds().await?;
        let guest = Engine::on(self.guest(&name), self.shared_drivers()).await?;
        let desk = Arc::new(Desk::new(slots, session));
        let mut pools = BTreeSet::new();
        for name in kinds {
            let known = declared.iter().find(|kind| kind.name == name);
            let kind = known.map_or_else(|| Kind::new(name), |kind| (**kind).clone());
            // The first kind of a pool brings its slots.
            let slots = if pools.insert(kind.pool.clone()) { slots } else { 0 };
            guest.inner.registry.add_outside(kind, slots, known.is_some(), desk.clone());
        }
        let running = guest.start().await?;
        let at_work = AtWork { engine: guest, running };
        Ok(Remote { life: Life::begin((name, session, slots), desk, at_work, self.lives()) })
    }

    /// How the engine of a remote worker runs: as its host, but it only works.
    fn guest(&self, name: &Name) -> Config {
        let roles = Roles { worker: true, ..Roles::NONE };
        let config = self.inner.config.clone().node(name.as_str()).roles(roles);
        config.vault_key(KeySource::Throwaway)
    }

    fn shared_drivers(&self) -> Drivers {
        let inner = &self.inner;
        let (store, broker, leases) = (inner.store.clone(), inner.broker.clone(), inner.leases.clone());
        Drivers { store, broker, leases, alone: false }
    }
}

impl Remote {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.life.name
    }

    /// How long it lives without a word.
    pub fn session(&self) -> Duration {
        self.life.session
    }

    /// How many jobs it holds at once.
    pub fn slots(&self) -> u32 {
        self.life.slots
    }

    /// Jobs to work at: waits until there is at least one, and gives at most so many. It may be given up while it waits:
    /// a job that came for it meanwhile is there for the next call.
    pub async fn claim(&self, most: u32) -> Result<Vec<RemoteJob>, Error> {
        let desk = &*self.life.desk;
        let crew = self.life.hear()?;
        let most = most.clamp(1, self.life.slots);
        let _asking = Asking::new(desk, &crew, most);
        loop {
            let arrived = desk.arrived();
            tokio::pin!(arrived);
            // Listen before looking, so that nothing that comes in between is missed.
            arrived.as_mut().enable();
            let waiting = desk.waiting().ok_or_else(|| self.life.unknown())?;
            // What was claimed together is handed out together.
            if waiting >= most || (waiting > 0 && crew.on_the_way() == 0) {
                self.life.hear()?;
                let jobs = desk.fetch(most);
                // Somebody else may have been faster.
                if !jobs.is_empty() {
                    return Ok(jobs);
                }
            }
            arrived.await;
        }
    }

    /// Says which jobs it works at. Whatever else it was given is given back without burning an attempt: the answer to a
    /// claim was lost, or the program has forgotten about it. How many these were.
    ///
    /// For a program that makes one claim at a time, before each claim: between two claims nothing is on its way.
    pub fn keep(&self, jobs: &[JobId]) -> Result<usize, Error> {
        self.life.hear()?;
        let given_back = self.life.desk.keep(&jobs.iter().copied().collect(), self.life.runtime.now());
        if given_back > 0 {
            tracing::info!(worker = %self.life.name, given_back, "a remote worker does not know of jobs that it was given");
        }
        Ok(given_back)
    }

    /// How a job ended, as a handler says it: `Ok` with its result, or a [`Stop`](crate::Stop). Returns when that is
    /// durable. What is too large is refused, and the job is held on.
    pub async fn answer(&self, job: JobId, fence: u32, outcome: Outcome<Value>) -> Result<(), Error> {
        let verdict = verdict(outcome);
        match &verdict {
            Verdict::Done(Some(result)) => {
                Refusal::unless_within("a result, in bytes,", result.len(), limits::RESULT_BYTES)?;
            }
            Verdict::Snoozed(span) | Verdict::Failed { class: Class::RetryAfter(span), .. } => {
                Refusal::unless_sane_delay(*span)?;
            }
            _ => {}
        }
        self.end(job, fence, verdict).await
    }

    /// Gives a job back without burning an attempt. Returns when that is durable.
    pub async fn release(&self, job: JobId, fence: u32) -> Result<(), Error> {
        self.end(job, fence, Verdict::Released).await
    }

    /// Says how far a job is, from 0 to 1, and in words.
    pub async fn progress(
        &self,
        job: JobId,
        fence: u32,
        fraction: f32,
        note: impl Into<String>,
    ) -> Result<(), Error> {
        let run = self.held(job, fence).await?;
        let progress: Progress = progress_of(fraction, note.into(), run.inner.runtime.now());
        run.inner.commit_one(Unit::Progress(job, fence, progress)).await.map(drop)
    }

    /// Records a finished step and what it gave. A later attempt gets it with the job. A step that is there already stays
    /// as it is.
    pub async fn step(&self, job: JobId, fence: u32, name: &str, output: &Value) -> Result<(), Error> {
        let name = Name::new(name)?;
        let output = serde_json::to_vec(output).map_err(Error::json("a step's result"))?.into();
        let run = self.held(job, fence).await?;
        let step = StepDone { job, fence, name, output, submission: Submission::default() };
        run.inner.commit_one(Unit::Step(step)).await.map(drop)
    }

    /// It lives. What it should stop working at.
    pub fn beat(&self) -> Result<Vec<Recall>, Error> {
        self.life.hear()?;
        Ok(self.life.desk.recalls(self.life.runtime.now()))
    }

    /// Says farewell. What it holds is given back without burning an attempt, its session is closed at once, and it is
    /// not known any more.
    pub async fn leave(&self) -> Result<(), Error> {
        self.life.leave().await
    }

    /// Ends when the worker has left or was lost.
    pub async fn gone(&self) {
        self.life.gone().await;
    }

    async fn end(&self, job: JobId, fence: u32, verdict: Verdict) -> Result<(), Error> {
        let crew = self.life.hear()?;
        let Some(mut heard) = self.life.desk.answer((job, fence), verdict) else {
            return Err(stale(&crew, job, fence).await);
        };
        match heard.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(answer)) => Ok(answer.clone()?),
            // The store is over, and nobody knows.
            _ => Err(StoreError::Closed.into()),
        }
    }

    /// The run of a claim that the worker holds.
    async fn held(&self, job: JobId, fence: u32) -> Result<Arc<Run>, Error> {
        let crew = self.life.hear()?;
        match self.life.desk.held((job, fence)) {
            Some(run) => Ok(run),
            None => Err(stale(&crew, job, fence).await),
        }
    }
}

/// Why a claim that the worker does not hold is refused: where the job is by now.
async fn stale(crew: &Crew, job: JobId, fence: u32) -> Error {
    match crew.inner.read(Read::Jobs(vec![job])).await {
        Ok(Found::Jobs(rows)) => match rows.first() {
            Some(row) => Refusal::StaleFence { given: fence, current: row.header.fence }.into(),
            None => Refusal::UnknownJob(job).into(),
        },
        Ok(_) => odd_answer(),
        Err(error) => error,
    }
}

/// Somebody waits for jobs; stops waiting when dropped.
struct Asking<'a> {
    desk: &'a Desk,
    crew: &'a Crew,
    most: u32,
}

impl<'a> Asking<'a> {
    fn new(desk: &'a Desk, crew: &'a Crew, most: u32) -> Self {
        desk.ask(most);
        crew.news.notify_one();
        Asking { desk, crew, most }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.desk.ask_no_more(self.most);
        self.crew.news.notify_one();
    }
}

/// The name and the kinds, if everything is within its bounds.
fn checked(options: &RemoteOptions) -> Result<(Name, BTreeSet<Name>), Error> {
    let RemoteOptions { name, kinds, slots, session } = options;
    let bad = |text: String| Err(Error::Config(text));
    if kinds.is_empty() {
        return bad("a worker without kinds would never get a job: name at least one".into());
    }
    Refusal::unless_within("a worker, in kinds,", kinds.len(), limits::REMOTE_KINDS)?;
    if !(1..=limits::REMOTE_SLOTS).contains(slots) {
        return bad(format!("{slots} slots are not possible: take 1 to {}", limits::REMOTE_SLOTS));
    }
    let (least, most) = (limits::REMOTE_SESSION_LEAST, limits::REMOTE_SESSION_MOST);
    if !(least..=most).contains(session) {
        let (least, most) = (least.as_secs(), most.as_secs());
        return bad(format!("a session of {session:?} is not possible: take {least} to {most} seconds"));
    }
    let kinds = kinds.iter().map(Name::new).collect::<Result<_, _>>()?;
    Ok((Name::new(name)?, kinds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwise_drivers::store::{SessionUnit, Sweep};

    use super::*;
    use crate::testing::TestEngine;
    use crate::{Raw, Running, Stop};

    /// A worker that holds a job.
    async fn holding(kinds: &[&str]) -> (TestEngine, Running, Remote, RemoteJob) {
        let test = TestEngine::new().await.unwrap();
        let running = test.engine.start().await.unwrap();
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let job = Raw::job(&kinds[0], json!(1));
        let options = RemoteOptions { kinds, slots: 2, ..RemoteOptions::default() };
        let worker = test.engine.remote(options).await.unwrap();
        test.engine.submit_raw(vec![job]).await.unwrap();
        let job = worker.claim(1).await.unwrap().remove(0);
        (test, running, worker, job)
    }

    #[tokio::test]
    async fn what_the_store_refuses_is_told() {
        let (test, running, worker, job) = holding(&["work"]).await;
        let session = worker.life.hear().unwrap().inner.liveness.borrow().unwrap().session;
        let end = Unit::Session(SessionUnit::Close { id: session });
        let rescue = Unit::Sweep(Sweep::Rescue(job.id, session));
        test.engine.inner.commit(vec![end, rescue]).await.unwrap();
        let words = [Ok(json!(1)), Ok(json!(1))];
        for word in words {
            let answer = worker.answer(job.id, job.fence, word).await;
            assert!(matches!(answer, Err(Error::Refused(Refusal::StaleFence { .. }))), "{answer:?}");
        }
        running.stop().await;
    }

    #[tokio::test]
    async fn a_failure_that_comes_with_an_abort_is_none() {
        let (test, running, worker, job) = holding(&["work"]).await;
        worker.life.hear().unwrap().abort_all();
        let answer = worker.answer(job.id, job.fence, Err(Stop::never("too late"))).await;
        assert!(matches!(answer, Err(Error::Refused(Refusal::SessionEnded))), "{answer:?}");
        let view = test.engine.job(job.id).await.unwrap().unwrap();
        assert_eq!(view.errors.len(), 0, "its job was given back");
        running.stop().await;
    }

    #[tokio::test]
    async fn a_slot_that_is_taken_in_one_pool_is_not_offered_in_another() {
        let (_test, running, worker, _job) = holding(&["work", "other"]).await;
        let crew = worker.life.hear().unwrap();
        let (work, other) = (Name::new("work").unwrap(), Name::new("other").unwrap());
        let offered = || crew.take_report().free;
        assert_eq!(offered(), [(other.clone(), 0), (work.clone(), 0)], "nobody waits");
        let _asking = Asking::new(&worker.life.desk, &crew, 2);
        assert_eq!(offered(), [(other.clone(), 1), (work.clone(), 1)]);
        assert_eq!(crew.reserve(&work, &[(JobId::from_u64(1), 1), (JobId::from_u64(2), 1)]), 1);
        // The scheduler counts the ticket off itself, where it is out.
        assert_eq!(offered(), [(other.clone(), 0), (work, 1)]);
        assert_eq!(crew.reserve(&other, &[(JobId::from_u64(3), 1)]), 0);
        running.stop().await;
    }
}
