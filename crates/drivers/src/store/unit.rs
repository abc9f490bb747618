//! Units: what can be committed. Each happens as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use turnwise_core::batch::When;
use turnwise_core::event::Cursor;
use turnwise_core::ids::{BatchId, JobId, SessionId};
use turnwise_core::kind::{Kind, LimitsChange};
use turnwise_core::lane::OnDead;
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::retry::Class;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;
use turnwise_core::unique::Unique;

use super::records::{Blob, Failure, Progress, Roles, Schedule, Secret};
use super::token::Token;

/// When a new job may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// As soon as it is its turn.
    #[default]
    Now,
    /// Not before this much time has passed on the store's clock.
    After(Duration),
    /// Not before this moment.
    At(Time),
}

/// The lane that a job joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneChoice {
    /// Its name.
    pub name: Name,
    /// What a new lane does after a dead letter; an existing lane keeps what it has.
    pub on_dead: OnDead,
}

/// A job to be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Made before the commit.
    pub id: JobId,
    /// Picks the handler.
    pub kind: Name,
    /// Takes the turns.
    pub owner: Name,
    /// Inside the owner.
    pub priority: Priority,
    /// The batch that it belongs to.
    pub batch: Option<BatchId>,
    /// What per-key caps and rates are counted by.
    pub limit_key: Option<Name>,
    /// The lane that it joins.
    pub lane: Option<LaneChoice>,
    /// When it may start.
    pub start: Start,
    /// Attempts, if not the kind's.
    pub attempts: Option<u16>,
    /// What must not be there twice. The first key that is taken decides which job answers; the other keys of this
    /// submission that are for a time stand for that job from then on. At most one key ends with the job.
    pub unique: Vec<Unique>,
    /// The arguments.
    pub payload: Blob,
}

/// The continuation of a new batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewThen {
    /// The job; it waits until it is released.
    pub job: NewJob,
    /// When it is released.
    pub when: When,
}

/// A batch to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBatch {
    /// Made before the commit.
    pub id: BatchId,
    /// What people call it.
    pub name: Name,
    /// Whose.
    pub owner: Name,
    /// What follows.
    pub then: Option<NewThen>,
}

/// Batches to open, jobs to accept, batches to seal: in this order, as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// Batches to open.
    pub open: Vec<NewBatch>,
    /// Jobs to accept.
    pub jobs: Vec<NewJob>,
    /// Batches to seal.
    pub seal: Vec<BatchId>,
}

impl Submission {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.jobs.is_empty() && self.seal.is_empty()
    }
}

/// A worker asks for a job that a ticket named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which job.
    pub job: JobId,
    /// In which version.
    pub version: u32,
    /// Who asks.
    pub session: SessionId,
    /// The term of the lease that the kind is bound to.
    pub term: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Well, with this result.
    Done(Option<Blob>),
    /// Badly.
    Failed {
        /// Whether to try again.
        class: Class,
        /// How.
        failure: Failure,
        /// What it said.
        error: String,
    },
    /// It goes on later.
    Snoozed(Duration),
    /// It shall not go on.
    Cancelled,
    /// It shall not be tried again.
    Dead(String),
    /// The worker shuts down.
    Released,
}

/// The end of a run, with what the handler submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Which job.
    pub job: JobId,
    /// The claim's fence.
    pub fence: u32,
    /// How it ended.
    pub verdict: Verdict,
    /// What the handler submitted; only taken when the verdict is done.
    pub submission: Submission,
}

/// A finished step, with what it submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDone {
    /// Which job.
    pub job: JobId,
    /// The claim's fence.
    pub fence: u32,
    /// Which step.
    pub name: Name,
    /// What it gave.
    pub output: Blob,
    /// What it submitted.
    pub submission: Submission,
}

/// What an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// A job shall end.
    Cancel(JobId),
    /// A job that is due later shall start now.
    RetryNow(JobId),
    /// A dead or cancelled job shall live again.
    Replay(JobId),
    /// A whole batch shall end. Its jobs are cancelled by the sweep.
    CancelBatch(BatchId),
    /// A parked batch shall go on.
    ReleaseBatch(BatchId),
    /// A kind, owner or batch stands still, or goes on.
    Pause(Target, bool),
    /// A lane stands still, or goes on (which also ends a halt).
    PauseLane(Name, bool),
    /// An owner's share and quota; `None` leaves it as it is.
    SetOwner {
        /// Whose.
        owner: Name,
        /// Its share of the turns.
        weight: Option<u32>,
        /// Its backlog quota.
        quota: Option<u64>,
    },
    /// Other caps and rates of a kind; the rest of its rules stays as it is.
    SetLimits(Name, LimitsChange),
}

/// A worker process comes, stays and goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionUnit {
    /// It comes. The answer has the number for its ids.
    Open {
        /// Its id.
        id: SessionId,
        /// Its node.
        node: Name,
        /// Slots by pool.
        pools: BTreeMap<Name, u32>,
        /// Kinds that it handles.
        kinds: BTreeSet<Name>,
        /// What it does.
        roles: Roles,
        /// How long it lives without a beat.
        span: Duration,
    },
    /// It is alive.
    Beat {
        /// Which.
        id: SessionId,
        /// How long it lives from now.
        span: Duration,
    },
    /// It goes. What it still runs is rescued.
    Close {
        /// Which.
        id: SessionId,
    },
}

/// A lease is asked for, kept and given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseUnit {
    /// Somebody wants it.
    Acquire {
        /// Which.
        name: Name,
        /// Who.
        holder: Name,
        /// For how long.
        span: Duration,
    },
    /// Its holder wants more time.
    Renew {
        /// Which.
        name: Name,
        /// Its term.
        term: u64,
        /// For how long from now.
        span: Duration,
    },
    /// Its holder gives it back.
    Release {
        /// Which.
        name: Name,
        /// Its term.
        term: u64,
    },
}

/// What time alone brings about. Every one of these is safe to send twice and by anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Due jobs become ready; those that are not due are passed over.
    Ripen(Vec<JobId>),
    /// A job is taken from a session that has ended.
    Rescue(JobId, SessionId),
    /// A session that has ended and runs nothing is forgotten.
    Bury(SessionId),
    /// Jobs of a cancelled batch end.
    CancelJobs(Vec<JobId>),
    /// Ended jobs are forgotten, with all that belongs to them.
    Forget(Vec<JobId>),
    /// A settled batch is forgotten.
    ForgetBatch(BatchId),
    /// Events up to a cursor are forgotten.
    Trim(Cursor),
    /// Unique keys and secrets that have ended are forgotten.
    Expire,
    /// Some of what was handed in to the database itself becomes jobs; the answer says how many were looked at. Nothing,
    /// where there is no way in but this contract.
    TakeIn,
    /// The ticks of a schedule were dealt with. Passed over if the last one's job was not accepted, if somebody
    /// else dealt with them before, or if the schedule was changed or removed meanwhile.
    Ticked {
        /// Which schedule.
        schedule: Name,
        /// Up to where they had been dealt with before.
        from: Time,
        /// Up to where they are now.
        to: Time,
        /// The unique key of the last one's job, unless all were skipped.
        key: Option<Name>,
    },
}

/// Durable queues, for brokers that keep messages in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueUnit {
    /// A message is added.
    Push(Name, Blob),
    /// A message was dealt with.
    Remove(Name, u64),
}

/// What can be committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// Work comes.
    Submit(Submission),
    /// A worker takes a job.
    Claim(Claim),
    /// A run ended.
    Settle(Settle),
    /// A step ended.
    Step(StepDone),
    /// A sign of progress.
    Progress(JobId, u32, Progress),
    /// An operator asks.
    Control(Control),
    /// Liveness.
    Session(SessionUnit),
    /// A named right.
    Lease(LeaseUnit),
    /// A kind and its rules.
    Declare(Kind),
    /// A schedule is set, or removed.
    Schedule(Name, Option<Schedule>),
    /// A secret is set, or removed.
    Secret(Name, Option<Secret>),
    /// Time passes.
    Sweep(Sweep),
    /// A durable queue.
    Queue(QueueUnit),
    /// A token for access is set, or removed.
    Token(Name, Option<Token>),
    /// Somebody did something that shall be told. What is too long is cut.
    Audit {
        /// Who.
        by: Name,
        /// What.
        what: String,
    },
}
