//! Questions and answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnwise_core::batch::Batch;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::kind::Kind;
use turnwise_core::lane::Lane;
use turnwise_core::lease::Lease;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::tally::{Account, Tally};
use turnwise_core::time::Time;

use super::records::{
    AttemptError, Blob, LimitKey, Message, Pauses, Progress, Roles, Schedule, Secret, Session, StepRecord,
};
use super::token::Token;

/// What can be looked up.
#[derive(Clone, Debug)]
pub enum Read {
    /// Headers, in the order of the ids; unknown ones are left out.
    Jobs(Vec<JobId>),
    /// One job with everything about it.
    Job(JobId),
    /// Only the finished steps of a job.
    Steps(JobId),
    /// One batch.
    Batch(BatchId),
    /// Batches, newest first, below an id.
    Batches {
        /// Only ids below this.
        before: Option<BatchId>,
        /// At most so many.
        limit: usize,
    },
    /// One lane.
    Lane(Name),
    /// Lanes that have jobs, by name, after a name.
    Lanes {
        /// Only names after this.
        after: Option<Name>,
        /// At most so many.
        limit: usize,
    },
    /// Jobs that wait in a lane behind its head, the last one first.
    Behind {
        /// Which lane.
        lane: Name,
        /// Only those at positions below this.
        before: Option<u64>,
        /// At most so many.
        limit: usize,
    },
    /// What the jobs of lines have in common; unknown ones are left out.
    Lines(Vec<LineId>),
    /// The names of lanes; unknown ones are left out.
    LaneNames(Vec<LaneId>),
    /// Owners with their counts, by name, after a name.
    Owners {
        /// Only names after this.
        after: Option<Name>,
        /// At most so many.
        limit: usize,
    },
    /// The counts of each kind, of all owners together. Kinds that never had a job are left out.
    Totals,
    /// Every kind.
    Kinds,
    /// The rules that planning follows.
    Rules,
    /// Every session.
    Sessions,
    /// What every known session does.
    Roles,
    /// Every lease.
    Leases,
    /// What is paused.
    Pauses,
    /// Every schedule.
    Schedules,
    /// Every token for access, by name.
    Tokens,
    /// One secret.
    Secret(Name),
    /// Which job of a kind has a unique key.
    Taken(Name, Name),
    /// How many run, for each cap.
    Gauges,
    /// Jobs that a session runs.
    Running(SessionId),
    /// What time brings about next.
    Agenda {
        /// Due by when, if not by now.
        by: Option<Time>,
        /// At most so many due jobs.
        limit: usize,
    },
    /// Unfinished jobs of a batch, by id, after an id; looks at a bounded number of jobs.
    BatchJobs {
        /// Which batch.
        batch: BatchId,
        /// Only ids after this.
        after: Option<JobId>,
        /// At most so many.
        limit: usize,
    },
    /// Ended jobs with ids below a bound, oldest first; looks at a bounded number of jobs.
    Ended {
        /// Only ids after this.
        after: JobId,
        /// Only ids below this.
        below: JobId,
        /// At most so many.
        limit: usize,
    },
    /// Messages of a durable queue, after a number.
    Messages {
        /// Which queue.
        queue: Name,
        /// Only numbers after this.
        after: u64,
        /// At most so many.
        limit: usize,
    },
    /// The time on the store's clock.
    Clock,
}

/// A job without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// The header.
    pub header: Header,
    /// Kind, owner, batch, priority, limit key.
    pub line: Arc<LineKey>,
}

/// A job with everything about it.
#[derive(Clone, Debug)]
pub struct Details {
    /// The job.
    pub row: JobRow,
    /// The arguments.
    pub payload: Blob,
    /// What it gave.
    pub result: Option<Blob>,
    /// Its failed attempts, oldest first.
    pub errors: Vec<AttemptError>,
    /// Its finished steps.
    pub steps: Vec<StepRecord>,
    /// How far it said it was.
    pub progress: Option<Progress>,
    /// Its lane.
    pub lane: Option<Lane>,
}

/// An owner and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRow {
    /// Who.
    pub owner: Name,
    /// Weight, quota, backlog.
    pub account: Account,
    /// Counts by kind.
    pub tallies: Vec<(Name, Tally)>,
}

/// What time brings about next: all that a sweep asks again and again, in one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Agenda {
    /// The time on the store's clock.
    pub now: Time,
    /// Jobs that are due, earliest first.
    pub due: Vec<JobId>,
    /// When the first is due that is not.
    pub next_due: Option<Time>,
    /// When each session ends, unless it beats before.
    pub sessions: Vec<(SessionId, Time)>,
    /// Every schedule.
    pub schedules: Vec<Schedule>,
}

impl Agenda {
    /// From the first jobs that have a time, one more than are wanted.
    pub(crate) fn new(
        (now, by): (Time, Time),
        limit: usize,
        first: &[(JobId, Time)],
        sessions: Vec<(SessionId, Time)>,
        schedules: Vec<Schedule>,
    ) -> Self {
        let count = first.iter().take(limit).take_while(|(_, at)| *at <= by).count();
        Agenda {
            now,
            due: first[..count].iter().map(|(id, _)| *id).collect(),
            next_due: first.get(count).map(|(_, at)| *at),
            sessions,
            schedules,
        }
    }
}

/// The rules that planning follows: all that a scheduler asks again and again, in one question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Every kind.
    pub kinds: Vec<Arc<Kind>>,
    /// What is paused.
    pub pauses: Pauses,
    /// How many run, for each cap.
    pub gauges: Vec<(LimitKey, u32)>,
}

/// Answers, one for each question.
#[derive(Clone, Debug)]
pub enum Found {
    /// Of `Jobs`, `Behind`, `Running`.
    Jobs(Vec<JobRow>),
    /// Of `Job`.
    Job(Option<Box<Details>>),
    /// Of `Steps`.
    Steps(Vec<StepRecord>),
    /// Of `Batch` and `Batches`.
    Batches(Vec<Batch>),
    /// Of `Lane` and `Lanes`.
    Lanes(Vec<Lane>),
    /// Of `Lines`.
    Lines(Vec<(LineId, Arc<LineKey>)>),
    /// Of `LaneNames`.
    LaneNames(Vec<(LaneId, Name)>),
    /// Of `Owners`.
    Owners(Vec<OwnerRow>),
    /// Of `Totals`.
    Totals(BTreeMap<Name, Tally>),
    /// Of `Kinds`.
    Kinds(Vec<Arc<Kind>>),
    /// Of `Sessions`.
    Sessions(Vec<Session>),
    /// Of `Roles`, by the number of the session's node.
    Roles(BTreeMap<u16, Roles>),
    /// Of `Leases`.
    Leases(Vec<Lease>),
    /// Of `Pauses`.
    Pauses(Pauses),
    /// Of `Schedules`.
    Schedules(Vec<Schedule>),
    /// Of `Tokens`.
    Tokens(Vec<Token>),
    /// Of `Secret`.
    Secret(Option<Secret>),
    /// Of `Taken`; nothing if nobody has it now.
    Taken(Option<JobId>),
    /// Of `Gauges`.
    Gauges(Vec<(LimitKey, u32)>),
    /// Of `Rules`.
    Rules(Rules),
    /// Of `Agenda`.
    Agenda(Agenda),
    /// Of `BatchJobs` and `Ended`.
    Ids {
        /// The jobs.
        ids: Vec<JobId>,
        /// Where to go on, unless the end was reached.
        after: Option<JobId>,
    },
    /// Of `Messages`.
    Messages(Vec<Message>),
    /// Of `Clock`.
    Clock(Time),
}

/// One line to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Which line.
    pub line: LineId,
    /// Only ids after this.
    pub after: Option<JobId>,
    /// At most so many.
    pub limit: usize,
}

/// What is ready.
#[derive(Clone, Debug)]
pub enum Ready {
    /// Lines with ready work, by id, after an id.
    Lines {
        /// Only ids after this.
        after: Option<LineId>,
        /// At most so many.
        limit: usize,
    },
    /// The next jobs of these lines, in submit order.
    Jobs(Vec<Want>),
}

/// A job that may be claimed.
pub type ReadyJob = (JobId, u32);

/// The answer to [`Ready`].
#[derive(Clone, Debug)]
pub enum ReadyAnswer {
    /// Lines and what their jobs have in common.
    Lines(Vec<(LineId, Arc<LineKey>)>),
    /// For each line that was asked for, its next jobs.
    Jobs(Vec<Vec<ReadyJob>>),
}

/// Events after a cursor.
#[derive(Clone, Debug)]
pub struct TailPage {
    /// Each with its cursor and the time of its commit.
    pub events: Vec<(Cursor, Time, Event)>,
    /// Where to go on.
    pub next: Cursor,
}

/// The answer of a tail.
#[derive(Clone, Debug)]
pub enum Tail {
    /// The events.
    Page(TailPage),
    /// The cursor is older than what is kept.
    Gone {
        /// The oldest cursor that can still be read from.
        oldest: Cursor,
    },
}
