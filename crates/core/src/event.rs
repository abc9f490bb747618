//! What happened, written in the same commit as the change.

use serde::{Deserialize, Serialize};

use crate::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use crate::job::State;
use crate::name::Name;
use crate::schedule::Target;
use crate::time::Time;

/// A point in the event stream: just after the event that has it. Opaque to readers; it only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(u64);

impl Cursor {
    /// Before the first event.
    pub const START: Cursor = Cursor(0);

    /// The cursor of an event, from its block and its place in it.
    pub const fn new(block: u64, place: u16) -> Self {
        Cursor(block << 16 | place as u64)
    }

    /// The number that a reader gives back.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// From a number that a reader gave back.
    pub const fn from_u64(raw: u64) -> Self {
        Cursor(raw)
    }

    /// The block that it points into.
    pub const fn block(self) -> u64 {
        self.0 >> 16
    }

    /// The place in that block.
    pub const fn place(self) -> u16 {
        (self.0 & 0xffff) as u16
    }
}

/// Why a run began or ended, or a job moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// It was accepted.
    Submitted,
    /// A worker took it.
    Claimed {
        /// Who.
        session: SessionId,
        /// With which fence.
        fence: u32,
        /// Which attempt.
        attempt: u16,
    },
    /// Its handler ended well.
    Completed,
    /// Its handler failed.
    Failed {
        /// Which attempt.
        attempt: u16,
        /// When it is due again.
        due: Option<Time>,
    },
    /// Its handler goes on later.
    Snoozed {
        /// When.
        due: Time,
    },
    /// Its handler said that it shall end.
    Stopped,
    /// Its worker shut down and gave it back.
    Released,
    /// Its worker died.
    Rescued {
        /// Who.
        session: SessionId,
    },
    /// Somebody asked for its end.
    Cancelled,
    /// Its time came.
    Ripened,
    /// Its turn in its lane came, or its batch released it.
    Promoted,
    /// Its lane was paused.
    Held,
    /// Somebody wanted it now.
    Expedited,
    /// Somebody wanted it again.
    Replayed,
    /// It finished a step.
    Stepped {
        /// Which.
        name: Name,
    },
}

/// One thing that happened. Events are stored by the place of their variant: a new one comes last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// To a job.
    Job {
        /// Which.
        job: JobId,
        /// Its line: kind, owner, batch.
        line: LineId,
        /// The state it is in now.
        state: State,
        /// Why.
        cause: Cause,
    },
    /// A batch was opened.
    BatchOpened(BatchId),
    /// A batch takes no more jobs.
    BatchSealed(BatchId),
    /// All jobs of a batch have ended.
    BatchSettled(BatchId),
    /// All have ended, not all well; a person or a replay decides.
    BatchParked(BatchId),
    /// A parked batch goes on.
    BatchReleased(BatchId),
    /// Somebody wants a batch to end.
    BatchCancelled(BatchId),
    /// A lane stands still because a job died.
    LaneHalted(LaneId),
    /// A lane was paused or resumed.
    LanePaused(LaneId, bool),
    /// A kind, owner or batch was paused or resumed.
    Paused(Target, bool),
    /// A kind was declared or its rules changed.
    KindDeclared(Name),
    /// An owner's weight or quota changed.
    OwnerChanged(Name),
    /// A worker process came.
    SessionOpened(SessionId),
    /// A worker process left, or died.
    SessionEnded {
        /// Which.
        session: SessionId,
        /// Whether it died.
        died: bool,
    },
    /// A lease has a new holder.
    LeaseTaken {
        /// Which lease.
        name: Name,
        /// Its new term.
        term: u64,
    },
    /// Somebody did something, says whoever guards the door that they came through.
    Audit {
        /// Who: the name of their token, mostly.
        by: Name,
        /// What, in words.
        what: String,
    },
}
