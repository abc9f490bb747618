//! What there is to see: jobs, batches, lanes, owners; and waiting for them.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use turnwise_core::batch::{Batch, Phase};
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::kind::Kind;
use turnwise_core::lane::Lane;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::store::{AttemptError, Details, Filter, Found, JobRow, Progress, Read};

use crate::Error;
use crate::engine::{Engine, odd_answer};
use crate::job::Job;

/// How often somebody who waits looks for himself, in case a hint was lost.
const LOOK: Duration = Duration::from_secs(1);
/// What is shown instead of a sensitive field.
const REDACTED: &str = "[redacted]";

/// A job and everything about it. Sensitive fields of its payload are not in it.
#[derive(Clone, Debug, Serialize)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its kind.
    pub kind: Name,
    /// Whose turn it takes.
    pub owner: Name,
    /// Its batch.
    pub batch: Option<BatchId>,
    /// Its lane.
    pub lane: Option<Name>,
    /// Its priority.
    pub priority: u8,
    /// Where it is in its life.
    pub state: State,
    /// The attempt that runs or ran last.
    pub attempt: u16,
    /// How many it may have.
    pub attempts: u16,
    /// When it was accepted.
    pub submitted: Time,
    /// When it is due, or since when it is in this state.
    pub at: Time,
    /// Somebody asked for its end while it ran.
    pub cancel_asked: bool,
    /// Its arguments.
    pub payload: serde_json::Value,
    /// What its handler gave.
    pub result: Option<serde_json::Value>,
    /// Failed attempts, oldest first.
    pub errors: Vec<AttemptError>,
    /// Names of its finished steps.
    pub steps: Vec<Name>,
    /// How far it said it was.
    pub progress: Option<Progress>,
}

impl JobView {
    /// What its handler gave, if it is done and gave something.
    pub fn result<J: Job>(&self) -> Result<Option<J::Output>, Error> {
        if self.state != State::Done {
            return Ok(None);
        }
        let value = self.result.clone().unwrap_or(serde_json::Value::Null);
        serde_json::from_value(value).map(Some).map_err(Error::json("a result"))
    }
}

/// A batch and its counts.
#[derive(Clone, Debug, Serialize)]
pub struct BatchView {
    /// The batch.
    #[serde(flatten)]
    pub batch: Batch,
    /// Jobs that have not ended.
    pub pending: u64,
}

/// A lane and what holds it.
#[derive(Clone, Debug, Serialize)]
pub struct LaneView {
    /// The lane.
    #[serde(flatten)]
    pub lane: Lane,
}

/// An owner and its counts.
#[derive(Clone, Debug, Serialize)]
pub struct OwnerView {
    /// Who.
    pub owner: Name,
    /// Its share of the turns.
    pub weight: u32,
    /// How many unfinished jobs it may have.
    pub quota: u64,
    /// How many it has.
    pub backlog: u64,
    /// How many are ready.
    pub ready: u64,
    /// How many run.
    pub running: u64,
    /// How many wait for their turn or their time.
    pub waiting: u64,
    /// How many were done.
    pub done: u64,
    /// How many are dead letters.
    pub dead: u64,
}

/// An event, with its cursor and its time.
#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    /// Where it is in the stream.
    pub cursor: Cursor,
    /// When it was committed.
    pub at: Time,
    /// What happened.
    pub event: Event,
}

impl Engine {
    /// A job and everything about it.
    pub async fn job(&self, id: JobId) -> Result<Option<JobView>, Error> {
        let Found::Job(found) = self.inner.read(Read::Job(id)).await? else { return Err(odd_answer()) };
        let Some(details) = found else { return Ok(None) };
        let kind = self.kind(&details.row.line.kind).await?;
        Ok(Some(view(*details, kind.as_deref())))
    }

    /// The job of this kind that a [unique key](crate::Submit::unique_for) stands for now.
    pub async fn holder(&self, kind: &str, key: &str) -> Result<Option<JobId>, Error> {
        let asked = Read::Taken(Name::new(kind)?, Name::new(key)?);
        let Found::Taken(holder) = self.inner.read(asked).await? else { return Err(odd_answer()) };
        Ok(holder)
    }

    /// Jobs by filter, newest first: a page, and where to go on. A page may hold fewer than asked for, even none, although
    /// more follow: it looks at a bounded number of jobs.
    pub async fn jobs(&self, filter: Filter) -> Result<(Vec<JobRow>, Option<JobId>), Error> {
        let page = self.inner.store.list(filter).await?;
        Ok((page.rows, page.before))
    }

    /// Jobs without their bytes, in the order of the ids; unknown ones are left out.
    pub async fn rows(&self, ids: Vec<JobId>) -> Result<Vec<JobRow>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        match self.inner.read(Read::Jobs(ids)).await? {
            Found::Jobs(rows) => Ok(rows),
            _ => Err(odd_answer()),
        }
    }

    /// A batch and its counts.
    pub async fn batch_view(&self, id: BatchId) -> Result<Option<BatchView>, Error> {
        let Found::Batches(mut found) = self.inner.read(Read::Batch(id)).await? else {
            return Err(odd_answer());
        };
        Ok(found.pop().map(batch_view))
    }

    /// Batches, newest first, below an id.
    pub async fn batches(&self, before: Option<BatchId>, limit: usize) -> Result<Vec<BatchView>, Error> {
        let limit = limit.min(limits::PAGE_ROWS);
        let read = Read::Batches { before, limit };
        let Found::Batches(found) = self.inner.read(read).await? else { return Err(odd_answer()) };
        Ok(found.into_iter().map(batch_view).collect())
    }

    /// Lanes that have jobs, by name, after a name.
    pub async fn lanes(&self, after: Option<&str>, limit: usize) -> Result<Vec<LaneView>, Error> {
        let read =
            Read::Lanes { after: after.map(Name::new).transpose()?, limit: limit.min(limits::PAGE_ROWS) };
        let Found::Lanes(found) = self.inner.read(read).await? else { return Err(odd_answer()) };
        Ok(found.into_iter().map(|lane| LaneView { lane }).collect())
    }

    /// A lane by its name, if it ever had a job.
    pub async fn lane(&self, lane: &str) -> Result<Option<LaneView>, Error> {
        let Found::Lanes(mut found) = self.inner.read(Read::Lane(Name::new(lane)?)).await? else {
            return Err(odd_answer());
        };
        Ok(found.pop().map(|lane| LaneView { lane }))
    }

    /// Jobs that wait in a lane behind its head, the last one first, at positions below one.
    pub async fn behind(&self, lane: &str, before: Option<u64>, limit: usize) -> Result<Vec<JobRow>, Error> {
        let asked = Read::Behind { lane: Name::new(lane)?, before, limit: limit.min(limits::PAGE_ROWS) };
        match self.inner.read(asked).await? {
            Found::Jobs(rows) => Ok(rows),
            _ => Err(odd_answer()),
        }
    }

    /// Owners, by name, after a name.
    pub async fn owners(&self, after: Option<&str>, limit: usize) -> Result<Vec<OwnerView>, Error> {
        let read =
            Read::Owners { after: after.map(Name::new).transpose()?, limit: limit.min(limits::PAGE_ROWS) };
        let Found::Owners(found) = self.inner.read(read).await? else { return Err(odd_answer()) };
        let view = |row: turnwise_drivers::store::OwnerRow| {
            let sum = |state: State| row.tallies.iter().map(|(_, tally)| tally.of(state)).sum::<u64>();
            OwnerView {
                weight: row.account.weight,
                quota: row.account.quota,
                backlog: row.account.backlog,
                ready: sum(State::Ready),
                running: sum(State::Running),
                waiting: sum(State::Waiting) + sum(State::Scheduled) + sum(State::Retrying),
                done: sum(State::Done),
                dead: sum(State::Dead),
                owner: row.owner,
            }
        };
        Ok(found.into_iter().map(view).collect())
    }

    /// The time on the store's clock, by which everything is judged.
    pub async fn time(&self) -> Result<Time, Error> {
        self.inner.store_time().await
    }

    /// Every declared kind.
    pub async fn kinds(&self) -> Result<Vec<Arc<Kind>>, Error> {
        match self.inner.read(Read::Kinds).await? {
            Found::Kinds(kinds) => Ok(kinds),
            _ => Err(odd_answer()),
        }
    }

    /// Kinds with ready work that no living worker has a handler for.
    pub fn alarms(&self) -> Vec<Name> {
        self.inner.hub.alarms().into_iter().collect()
    }

    /// How many writes of this process were refused because somebody else has the right by now: a completion, a step or
    /// a claim that came too late, from a session, a fence or a term that is over.
    pub fn refused_stale_writes(&self) -> u64 {
        self.inner.hub.stale()
    }

    /// Waits until a job has ended.
    pub async fn wait(&self, id: JobId) -> Result<JobView, Error> {
        let waiter = self.inner.hub.wait_for_job(id);
        loop {
            let told = waiter.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            let Found::Jobs(rows) = self.inner.read(Read::Jobs(vec![id])).await? else {
                return Err(odd_answer());
            };
            let row = rows.first().ok_or(turnwise_core::refusal::Refusal::UnknownJob(id))?;
            if row.header.state.is_final() {
                let view = self.job(id).await?;
                return Ok(view.ok_or(turnwise_core::refusal::Refusal::UnknownJob(id))?);
            }
            self.look_later(told).await;
        }
    }

    /// Waits until a batch has settled, or is parked.
    pub async fn wait_batch(&self, id: BatchId) -> Result<BatchView, Error> {
        let waiter = self.inner.hub.wait_for_batch(id);
        loop {
            let told = waiter.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            let view = self.batch_view(id).await?;
            let view = view.ok_or(turnwise_core::refusal::Refusal::UnknownBatch(id))?;
            if matches!(view.batch.phase, Phase::Settled | Phase::Parked) {
                return Ok(view);
            }
            self.look_later(told).await;
        }
    }

    /// Waits until no job is unfinished: everything that was submitted has ended.
    pub async fn drain(&self) -> Result<(), Error> {
        loop {
            let seen = self.inner.hub.ended();
            let backlog = self.backlog().await?;
            if backlog == 0 {
                return Ok(());
            }
            self.wait_for_ends(seen + backlog).await;
        }
    }

    /// Waits until this process has seen so many jobs end: until then a look at the store cannot find it empty. Gives
    /// up after a while, in case hints were lost.
    async fn wait_for_ends(&self, count: u64) {
        let runtime = &self.inner.runtime;
        let patience = runtime.sleep_until(runtime.now() + LOOK);
        let ends = async {
            loop {
                let told = self.inner.hub.commits.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if self.inner.hub.ended() >= count {
                    return;
                }
                told.await;
            }
        };
        tokio::select! {
            biased;
            () = ends => {}
            () = patience => {}
        }
    }

    /// Unfinished jobs of all owners.
    pub async fn backlog(&self) -> Result<u64, Error> {
        let mut after: Option<Name> = None;
        let mut backlog = 0;
        loop {
            let owners = self.owners(after.as_deref(), limits::PAGE_ROWS).await?;
            backlog += owners.iter().map(|owner| owner.backlog).sum::<u64>();
            match owners.last().filter(|_| owners.len() == limits::PAGE_ROWS) {
                Some(last) => after = Some(last.owner.clone()),
                None => return Ok(backlog),
            }
        }
    }

    async fn look_later(&self, told: std::pin::Pin<&mut tokio::sync::futures::Notified<'_>>) {
        let runtime = &self.inner.runtime;
        tokio::select! {
            biased;
            () = told => {}
            () = runtime.sleep_until(runtime.now() + LOOK) => {}
        }
    }

    async fn kind(&self, name: &Name) -> Result<Option<Arc<Kind>>, Error> {
        Ok(self.kinds().await?.into_iter().find(|kind| kind.name == *name))
    }
}

fn batch_view(batch: Batch) -> BatchView {
    BatchView { pending: batch.pending(), batch }
}

fn view(details: Details, kind: Option<&Kind>) -> JobView {
    let Details { row: JobRow { header, line }, payload, result, errors, steps, progress, lane } = details;
    JobView {
        id: header.id,
        kind: line.kind.clone(),
        owner: line.owner.clone(),
        batch: line.batch,
        lane: lane.map(|lane| lane.name),
        priority: line.priority.level(),
        state: header.state,
        attempt: header.attempt,
        attempts: header.attempts,
        submitted: header.submitted,
        at: header.at,
        cancel_asked: header.flags.cancel,
        payload: shown(&payload, kind),
        result: result.and_then(|result| serde_json::from_slice(&result).ok()),
        errors,
        steps: steps.into_iter().map(|step| step.name).collect(),
        progress,
    }
}

/// A payload as it may be shown. One whose kind is not known is not shown at all: nobody can say what is sensitive.
fn shown(payload: &[u8], kind: Option<&Kind>) -> serde_json::Value {
    serde_json::from_slice(payload).map_or_else(|_| REDACTED.into(), |value| redacted(value, kind))
}

/// The same for a payload that was read already.
pub(crate) fn redacted(mut value: serde_json::Value, kind: Option<&Kind>) -> serde_json::Value {
    let Some(kind) = kind else { return REDACTED.into() };
    if let Some(fields) = value.as_object_mut() {
        for field in &kind.sensitive {
            if let Some(hidden) = fields.get_mut(field) {
                *hidden = REDACTED.into();
            }
        }
    }
    value
}
