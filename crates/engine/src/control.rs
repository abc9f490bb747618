//! What a program or an operator asks of jobs that are there already.

use std::sync::PoisonError;

use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::kind::LimitsChange;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::schedule::Target;
use turnwise_drivers::store::{Control, Filter, Receipt, Sweep, Unit};

use crate::Error;
use crate::engine::{Engine, odd_answer};

impl Engine {
    /// Ends a job. One that runs is told; it ends when its handler does. The state it is in now.
    pub async fn cancel(&self, job: JobId) -> Result<State, Error> {
        self.moved(Control::Cancel(job)).await
    }

    /// Starts a job that is due later now.
    pub async fn retry_now(&self, job: JobId) -> Result<State, Error> {
        self.moved(Control::RetryNow(job)).await
    }

    /// Gives a dead or cancelled job a new life with all its attempts. In a lane it joins the tail.
    pub async fn replay(&self, job: JobId) -> Result<State, Error> {
        self.moved(Control::Replay(job)).await
    }

    /// Replays every dead letter that matches. How many there were.
    pub async fn replay_dead(&self, kind: Option<&str>, owner: Option<&str>) -> Result<usize, Error> {
        let mut filter = Filter {
            state: Some(State::Dead),
            kind: kind.map(Name::new).transpose()?,
            owner: owner.map(Name::new).transpose()?,
            limit: limits::PAGE_ROWS,
            ..Filter::default()
        };
        let mut replayed = 0;
        loop {
            let page = self.inner.store.list(filter.clone()).await?;
            let replay = |id| Unit::Control(Control::Replay(id));
            let units: Vec<Unit> = page.rows.iter().map(|row| replay(row.header.id)).collect();
            if !units.is_empty() {
                replayed += self.inner.commit(units).await?.iter().filter(|outcome| outcome.is_ok()).count();
            }
            match page.before {
                Some(before) => filter.before = Some(before),
                None => return Ok(replayed),
            }
        }
    }

    /// Forgets ended jobs with all that belongs to them, before their time is over. How many there were; those that have
    /// not ended stay.
    pub async fn forget(&self, jobs: Vec<JobId>) -> Result<usize, Error> {
        let mut forgotten = 0;
        for part in jobs.chunks(limits::PAGE_ROWS) {
            match self.inner.commit_one(Unit::Sweep(Sweep::Forget(part.to_vec()))).await? {
                Receipt::Changed(count) => forgotten += count,
                _ => return Err(odd_answer()),
            }
        }
        Ok(forgotten)
    }

    /// Ends a whole batch: it takes no more jobs, and those that have not ended are cancelled.
    pub async fn cancel_batch(&self, batch: BatchId) -> Result<(), Error> {
        self.told(Control::CancelBatch(batch)).await
    }

    /// Lets a parked batch go on although not all its jobs were done.
    pub async fn release_batch(&self, batch: BatchId) -> Result<(), Error> {
        self.told(Control::ReleaseBatch(batch)).await
    }

    /// Nothing of this kind, owner or batch starts until it is resumed. What runs, runs on.
    pub async fn pause(&self, target: Target) -> Result<(), Error> {
        self.told(Control::Pause(target, true)).await
    }

    /// Ends a pause.
    pub async fn resume(&self, target: Target) -> Result<(), Error> {
        self.told(Control::Pause(target, false)).await
    }

    /// A node begins nothing more until it is resumed, and what it runs ends: another node may take over, and it can be
    /// stopped without anybody noticing. All nodes of this name are meant. A lease that a kind is bound to goes to another
    /// as soon as nothing runs under it.
    ///
    /// ```
    /// # use turnwise::{Config, Engine};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), turnwise::Error> {
    /// let engine = Engine::open(Config::memory().node("east-1")).await?;
    /// engine.drain_node("east-1").await?;
    /// assert!(engine.nodes().await?.nodes[0].drained);
    /// engine.resume_node("east-1").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain_node(&self, node: &str) -> Result<(), Error> {
        self.rest(node, true).await
    }

    /// Ends the drain of a node. Another process hears of it with its next heartbeat.
    pub async fn resume_node(&self, node: &str) -> Result<(), Error> {
        self.rest(node, false).await
    }

    async fn rest(&self, node: &str, resting: bool) -> Result<(), Error> {
        self.told(Control::Pause(Target::Node(Name::new(node)?), resting)).await?;
        let crew = self.inner.hub.crew.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(crew) = crew.filter(|_| self.inner.config.node == node) {
            crew.rest(resting);
        }
        Ok(())
    }

    /// Nothing of this lane starts until it is resumed.
    pub async fn pause_lane(&self, lane: &str) -> Result<(), Error> {
        self.told(Control::PauseLane(Name::new(lane)?, true)).await
    }

    /// Ends a pause of a lane, and its halt after a dead letter.
    pub async fn resume_lane(&self, lane: &str) -> Result<(), Error> {
        self.told(Control::PauseLane(Name::new(lane)?, false)).await
    }

    /// An owner's share of the turns, relative to the others'.
    pub async fn set_weight(&self, owner: &str, weight: u32) -> Result<(), Error> {
        self.told(Control::SetOwner { owner: Name::new(owner)?, weight: Some(weight), quota: None }).await
    }

    /// How many unfinished jobs an owner may have.
    pub async fn set_quota(&self, owner: &str, quota: u64) -> Result<(), Error> {
        self.told(Control::SetOwner { owner: Name::new(owner)?, weight: None, quota: Some(quota) }).await
    }

    /// Other caps and rates of a declared kind, from the next claim on; what runs, runs on. A worker that is started says
    /// its own again.
    pub async fn set_limits(&self, kind: &str, change: LimitsChange) -> Result<(), Error> {
        self.told(Control::SetLimits(Name::new(kind)?, change)).await
    }

    /// Notes in the event stream that somebody did something: `by` is whoever a door takes them for. What is longer than
    /// [`limits::AUDIT_BYTES`] is cut.
    pub async fn audit(&self, by: &str, what: &str) -> Result<(), Error> {
        self.inner.commit_one(Unit::Audit { by: Name::new(by)?, what: what.to_owned() }).await.map(drop)
    }

    async fn moved(&self, control: Control) -> Result<State, Error> {
        match self.inner.commit_one(Unit::Control(control)).await? {
            Receipt::Moved(state) => Ok(state),
            _ => Err(odd_answer()),
        }
    }

    async fn told(&self, control: Control) -> Result<(), Error> {
        self.inner.commit_one(Unit::Control(control)).await.map(drop)
    }
}
