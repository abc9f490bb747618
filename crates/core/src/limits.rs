//! Every limit of Turnwise, in one place, with the relations between them checked at build time.

use std::time::Duration;

/// Longest name of a kind, owner, lane, key, step or batch.
pub const NAME_BYTES: usize = 256;
/// Largest payload of one job.
pub const PAYLOAD_BYTES: usize = 1 << 20;
/// Largest result of one job, and of one step.
pub const RESULT_BYTES: usize = 1 << 20;
/// Longest error text that is kept of an attempt.
pub const ERROR_BYTES: usize = 4 << 10;
/// Longest progress note.
pub const NOTE_BYTES: usize = 512;
/// Most jobs in one submission; larger ones are sent in parts.
pub const JOBS_PER_SUBMIT: usize = 10_000;
/// Most bytes of payload in one submission.
pub const SUBMIT_BYTES: usize = 16 << 20;
/// Most units that one commit takes together.
pub const UNITS_PER_COMMIT: usize = 4_096;
/// Most jobs that one commit may touch, so that a commit stays short.
pub const JOBS_PER_COMMIT: usize = 16_384;
/// Most events in one block: an event's place in it has 16 bits.
pub const EVENTS_PER_BLOCK: usize = 1 << 16;
/// Most steps in one job.
pub const STEPS_PER_JOB: usize = 1_000;
/// Most jobs that one handler may submit with one completion or step.
pub const JOBS_PER_FANOUT: usize = 10_000;
/// Most attempts that a policy may allow.
pub const ATTEMPTS: u16 = 1_000;
/// Entries in a custom list of retry delays.
pub const RETRY_LIST: usize = 64;
/// Times that a job may be taken from a dead worker before it is dead itself.
pub const RESCUES: u16 = 3;
/// Attempts whose errors are kept in full for a job; older ones make room.
pub const ERRORS_KEPT: usize = 100;
/// Unfinished jobs that one owner may have, unless told otherwise.
pub const BACKLOG_PER_OWNER: u64 = 10_000_000;
/// Heaviest owner.
pub const WEIGHT: u32 = 1_000;
/// Longest delay of a job, a snooze or a retry.
pub const DELAY: Duration = Duration::from_secs(366 * 24 * 3600);
/// Most unique keys of one job.
pub const UNIQUE_KEYS: usize = 4;
/// Longest uniqueness window.
pub const UNIQUE_WINDOW: Duration = Duration::from_secs(366 * 24 * 3600);
/// Longest time that a handler may be given.
pub const DEADLINE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Most slots of one worker process in one pool.
pub const SLOTS: u32 = 10_000;
/// Lines that the planner keeps in memory at once; more are visited in rotation.
pub const LINES_IN_MEMORY: usize = 16_384;
/// Jobs that the planner knows ahead in one line.
pub const WINDOW_PER_LINE: usize = 1_024;
/// Jobs that the planner knows ahead in all lines together.
pub const WINDOW_TOTAL: usize = 65_536;
/// Claims that a pool of one worker may hold beyond its slots, however short its jobs are.
pub const CLAIMS_AHEAD: u32 = 256;
/// How much work a pool claims ahead: what its slots do in this time, as far as one can tell from its last runs.
pub const AHEAD: Duration = Duration::from_millis(5);
/// A claim that has waited this long for a slot is given back: what ran before it took longer than expected, and
/// another worker may be free.
pub const AHEAD_PATIENCE: Duration = Duration::from_millis(50);
/// Tickets in one message.
pub const TICKETS_PER_MESSAGE: usize = 256;
/// Missed cron ticks that are caught up at most.
pub const MISSED_TICKS: usize = 100;
/// Rows in one page of a listing.
pub const PAGE_ROWS: usize = 1_000;
/// Jobs that one page of a listing looks at, whatever it is looking for.
pub const ROWS_LOOKED_AT: usize = 5_000;
/// Lines, and names of lanes, that a process remembers for whoever is shown events and listings.
pub const NAMES_KNOWN: usize = 16_384;
/// Lines that are looked at to say how long ready jobs have waited.
pub const LINES_LOOKED_AT: usize = 1_000;
/// Tokens for access.
pub const TOKENS: usize = 1_000;
/// Owners that one token may be good for.
pub const OWNERS_PER_TOKEN: usize = 1_000;
/// Longest note of what somebody did, in the event stream.
pub const AUDIT_BYTES: usize = 1 << 10;
/// Largest secret in the vault.
pub const SECRET_BYTES: usize = 64 << 10;
/// Remote workers that one node speaks for. Each of them is a session, of which a fleet has about a thousand.
pub const REMOTES: usize = 256;
/// Kinds that one remote worker may serve.
pub const REMOTE_KINDS: usize = 64;
/// Most slots of one remote worker.
pub const REMOTE_SLOTS: u32 = 1_000;
/// Bytes of payload after which nothing more is put into one answer to a remote worker.
pub const REMOTE_BYTES: usize = 16 << 20;
/// Ended claims of a remote worker that are remembered, so that it may send an answer again.
pub const REMOTE_ENDED: usize = 2_048;
/// A job that was claimed for a remote worker and not fetched within this time is given back.
pub const REMOTE_PATIENCE: Duration = Duration::from_millis(500);
/// A remote worker's life without a word, unless it says otherwise.
pub const REMOTE_SESSION: Duration = Duration::from_secs(30);
/// The shortest that it may say.
pub const REMOTE_SESSION_LEAST: Duration = Duration::from_secs(1);
/// The longest that it may say.
pub const REMOTE_SESSION_MOST: Duration = Duration::from_secs(300);
/// Messages that one in-process queue holds before publishers are refused.
pub const QUEUE_MESSAGES: usize = 65_536;

/// A session's life without a beat.
pub const SESSION: Duration = Duration::from_secs(10);
/// Time between two beats of a session.
pub const BEAT: Duration = Duration::from_secs(3);
/// The scheduler's lease.
pub const SCHEDULER_LEASE: Duration = Duration::from_secs(10);
/// A ticket that was not claimed within this time is planned again.
pub const TICKET: Duration = Duration::from_secs(2);
/// An open batch that nobody seals is cancelled after this time.
pub const OPEN_BATCH: Duration = Duration::from_secs(24 * 3600);

const _: () = assert!(UNITS_PER_COMMIT <= JOBS_PER_COMMIT);
const _: () = assert!(JOBS_PER_SUBMIT <= JOBS_PER_COMMIT);
const _: () = assert!(JOBS_PER_FANOUT <= JOBS_PER_SUBMIT);
// One submission of the largest size still fits into a block beside a commit's worth of other events.
const _: () = assert!(2 * JOBS_PER_COMMIT + JOBS_PER_SUBMIT <= EVENTS_PER_BLOCK);
const _: () = assert!(BEAT.as_millis() * 3 < SESSION.as_millis());
const _: () = assert!(TICKET.as_millis() < SESSION.as_millis());
const _: () = assert!(WINDOW_PER_LINE <= WINDOW_TOTAL);
const _: () = assert!(PAGE_ROWS <= ROWS_LOOKED_AT);
const _: () = assert!(PAGE_ROWS <= NAMES_KNOWN);
const _: () = assert!(REMOTE_SLOTS <= SLOTS);
// All jobs of a remote worker that was lost are taken from it in one commit, with the end of its session.
const _: () = assert!((REMOTE_SLOTS as usize) < UNITS_PER_COMMIT);
// What it may hold at once is remembered when it ends.
const _: () = assert!(REMOTE_SLOTS as usize <= REMOTE_ENDED);
const _: () = assert!(REMOTE_PATIENCE.as_millis() < REMOTE_SESSION_LEAST.as_millis());
