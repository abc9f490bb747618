//! Records that the store keeps beside job headers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turnwise_core::cron::{Cron, Missed, Overlap};
use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;

/// Bytes that are shared, not copied: payloads, results, messages.
pub type Blob = Arc<[u8]>;

/// A worker process's liveness: one heartbeat for all its claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which.
    pub id: SessionId,
    /// The node that it belongs to.
    pub node: Name,
    /// The number in the ids that this node makes.
    pub number: u16,
    /// Slots by pool.
    pub pools: BTreeMap<Name, u32>,
    /// Kinds that it has handlers for.
    pub kinds: BTreeSet<Name>,
    /// When it was opened.
    pub opened: Time,
    /// Until when it lives without another beat, on the store's clock; [`Time::ZERO`] if it was closed.
    pub until: Time,
}

/// What a node does. Whatever its roles, it takes submissions from its own program and answers its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Takes requests from other programs: `turnwise up` opens its door. The engine itself only tells the other nodes.
    pub api: bool,
    /// Plans, when it holds the scheduler's lease.
    pub scheduler: bool,
    /// Runs jobs.
    pub worker: bool,
}

impl Roles {
    /// None of them.
    pub const NONE: Roles = Roles { api: false, scheduler: false, worker: false };

    /// Those that it has, as people write them.
    pub fn names(self) -> Vec<&'static str> {
        let all = [("api", self.api), ("scheduler", self.scheduler), ("worker", self.worker)];
        all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }
}

/// All of them.
impl Default for Roles {
    fn default() -> Self {
        Roles { api: true, scheduler: true, worker: true }
    }
}

/// The node numbers that are given out: two sessions that are known at the same time never have the same one,
/// because ids are made from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeNumbers {
    /// The one that was given out last.
    pub last: u16,
    /// Those that belong to a session which is not forgotten yet.
    pub taken: BTreeMap<u16, SessionId>,
    /// What the nodes with these numbers do. It is said once, so it is not in the session, which is written with every
    /// beat.
    #[serde(default)]
    pub roles: BTreeMap<u16, Roles>,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Failure {
    /// The handler said so.
    Error,
    /// The handler panicked.
    Panic,
    /// The handler took too long.
    Deadline,
    /// The worker died.
    Lost,
    /// The payload could not be read.
    Payload,
}

/// What is kept of a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// Which attempt.
    pub attempt: u16,
    /// With which fence it ran.
    pub fence: u32,
    /// When it began.
    pub started: Time,
    /// When it ended.
    pub ended: Time,
    /// How it failed.
    pub failure: Failure,
    /// What it said.
    pub error: String,
}

/// A finished step of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its name.
    pub name: Name,
    /// What it gave.
    pub output: Blob,
}

/// How far a running job says it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f32,
    /// In words.
    pub note: String,
    /// Since when.
    pub at: Time,
}

/// What a cap or a rate is counted by: a kind, or a key of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LimitKey {
    /// The kind.
    pub kind: Name,
    /// One of its keys, or the whole kind.
    pub key: Option<Name>,
}

/// What is paused. Lanes keep that themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses(pub BTreeSet<Target>);

impl Pauses {
    /// Whether the jobs of a line are paused: their kind, their owner or their batch.
    pub fn holds(&self, line: &LineKey) -> bool {
        let is_paused = |target: Target| self.0.contains(&target);
        !self.0.is_empty()
            && (is_paused(Target::Kind(line.kind.clone()))
                || is_paused(Target::Owner(line.owner.clone()))
                || line.batch.is_some_and(|batch| is_paused(Target::Batch(batch))))
    }

    /// Whether a node is drained.
    pub fn drains(&self, node: &Name) -> bool {
        !self.0.is_empty() && self.0.contains(&Target::Node(node.clone()))
    }
}

/// A cron line and the job that each of its ticks submits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name.
    pub name: Name,
    /// When.
    pub cron: Cron,
    /// What about ticks that nobody was there for.
    pub missed: Missed,
    /// What about a tick while the last job still runs.
    pub overlap: Overlap,
    /// The kind of the job.
    pub kind: Name,
    /// Whose turn it takes.
    pub owner: Name,
    /// Its payload, as JSON.
    pub payload: serde_json::Value,
    /// The last tick that was dealt with.
    pub last: Time,
    /// The job of the last tick.
    pub job: Option<JobId>,
}

/// A secret, encrypted before it came here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// Its name.
    pub name: Name,
    /// Nonce and ciphertext.
    pub sealed: Vec<u8>,
    /// When it is wiped.
    pub until: Time,
}

/// A message in a durable queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number in the queue.
    pub number: u64,
    /// What it says.
    pub body: Blob,
}

/// A durable queue: its number range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// The number that the next message gets.
    pub next: u64,
    /// How many messages it holds.
    pub held: u64,
}
