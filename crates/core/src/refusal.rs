//! Why a unit was refused. A refusal is an answer, not a fault: nothing was changed, and nobody else's
//! unit in the same commit is touched by it.

use serde::Serialize;

use crate::ids::{BatchId, JobId};
use crate::job::State;
use crate::limits;
use crate::name::Name;
use crate::time::Time;

/// Why nothing was changed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Refusal {
    /// No such job.
    #[error("there is no job {0}: it never existed, or its retention time has passed")]
    UnknownJob(JobId),
    /// No such batch.
    #[error("there is no batch {0}: it never existed, or its retention time has passed")]
    UnknownBatch(BatchId),
    /// No such lane.
    #[error("there is no lane `{0}`: a lane begins with its first job")]
    UnknownLane(Name),
    /// Nobody declared this kind.
    #[error("kind `{0}` is not declared: start a worker for it once, or declare it")]
    UnknownKind(Name),
    /// No such schedule.
    #[error("there is no schedule `{0}`")]
    UnknownSchedule(Name),
    /// No such token.
    #[error("there is no token `{0}`")]
    UnknownToken(Name),
    /// The claim was lost: another claim, or a rescue, came after it.
    #[error("fence {given} is stale, the job is at {current}: drop this work, somebody else has it")]
    StaleFence {
        /// What the writer held.
        given: u32,
        /// What the job is at.
        current: u32,
    },
    /// The ticket speaks of an older version of the job.
    #[error("the ticket is stale")]
    StaleTicket,
    /// The job is not in a state in which this can be done.
    #[error("the job is {state}: {hint}")]
    WrongState {
        /// The state it is in.
        state: State,
        /// What would help.
        hint: &'static str,
    },
    /// Its time has not come.
    #[error("the job is due at {0}, not yet")]
    NotDue(Time),
    /// Kind, owner, batch or lane is paused.
    #[error("paused: resume it to go on")]
    Paused,
    /// The node begins nothing more.
    #[error("the node is drained and begins nothing: another may, or resume it")]
    Draining,
    /// As many run as may.
    #[error("a concurrency cap is reached: it starts when another ends")]
    CapReached,
    /// No token in the bucket.
    #[error("a rate limit is reached until {0}")]
    RateReached(Time),
    /// The session has ended.
    #[error("this session has ended: open a new one, its jobs are being given to others")]
    SessionEnded,
    /// Somebody else holds the lease.
    #[error("lease `{name}` is held by `{holder}` until {until}")]
    LeaseHeld {
        /// Which lease.
        name: Name,
        /// By whom.
        holder: Name,
        /// Until when.
        until: Time,
    },
    /// An older term, or none where one is needed.
    #[error("the term of lease `{0}` is stale or missing: acquire the lease first")]
    StaleTerm(Name),
    /// The owner has too many unfinished jobs.
    #[error("owner `{owner}` has {backlog} unfinished jobs of {quota} allowed: wait, or raise its quota")]
    Quota {
        /// Whose.
        owner: Name,
        /// How many there are.
        backlog: u64,
        /// How many there may be.
        quota: u64,
    },
    /// More than fits.
    #[error("{what} has {size} of at most {most}: make it smaller or split it")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        most: usize,
    },
    /// The batch takes no more jobs.
    #[error("batch {0} is sealed: it takes no more jobs, open a new one")]
    Sealed(BatchId),
    /// The batch has no job.
    #[error("batch {0} has no jobs: a batch needs at least one")]
    EmptyBatch(BatchId),
    /// The batch was cancelled.
    #[error("batch {0} was cancelled")]
    BatchCancelled(BatchId),
    /// The batch has nothing that could be released.
    #[error("batch {0} is not parked: only a parked batch can be released by hand")]
    NotParked(BatchId),
    /// The same id with other content.
    #[error("id {0} is taken by another job: make a new id")]
    IdTaken(JobId),
    /// Something given makes no sense.
    #[error("{0}")]
    Invalid(String),
}

impl Refusal {
    /// Whether the writer has lost its claim, so that its work must be dropped.
    pub fn is_stale(&self) -> bool {
        matches!(self, Refusal::StaleFence { .. } | Refusal::SessionEnded | Refusal::StaleTerm(_))
    }

    /// Refuses what is larger than allowed.
    pub fn unless_within(what: &'static str, size: usize, most: usize) -> Result<(), Refusal> {
        if size > most { Err(Refusal::TooLarge { what, size, most }) } else { Ok(()) }
    }

    /// Refuses a span that is longer than any delay may be.
    pub fn unless_sane_delay(delay: std::time::Duration) -> Result<(), Refusal> {
        if delay > limits::DELAY {
            let days = limits::DELAY.as_secs() / 86_400;
            return Err(Refusal::Invalid(format!("a delay of more than {days} days: choose a shorter one")));
        }
        Ok(())
    }
}
