//! Makes random units: mostly sensible ones, because nonsense is refused at the door and reaches nothing; some
//! stale, doubled, foreign or absurd.

mod around;
mod work;

use std::time::Duration;

use turnwise_core::batch::Phase;
use turnwise_core::event::Cursor;
use turnwise_core::ids::{BatchId, JobId, SessionId};
use turnwise_core::job::{Header, State};
use turnwise_core::lane::OnDead;
use turnwise_core::name::Name;
use turnwise_core::time::{Time, millis, secs};

use super::chance::Chance;
use super::dump::Dump;
use super::world::{name, open_session};
use crate::store::{Blob, Submission, Unit};

/// `plain` has no limits, `capped` a cap and a key cap, `rated` a rate, `bound` needs a lease.
pub const KINDS: [&str; 4] = ["plain", "capped", "rated", "bound"];
const OWNERS: [&str; 3] = ["acme", "bolt", "crow"];
const LANES: [(&str, OnDead); 3] =
    [("north", OnDead::Continue), ("south", OnDead::Halt), ("west", OnDead::Continue)];
const KEYS: [&str; 2] = ["k1", "k2"];

/// Makes units from a seed and from what there is.
pub struct Generator {
    chance: Chance,
    next: u64,
    sent: Vec<Submission>,
    /// What the last look at the store showed.
    headers: Vec<(Header, Option<BatchId>)>,
    batches: Vec<(BatchId, Phase)>,
    sessions: Vec<SessionId>,
    /// Those that live.
    alive: Vec<SessionId>,
    term: u64,
    cursor: Cursor,
    now: Time,
    /// What the units of the same commit have probably done: jobs submitted, and fences claimed.
    fresh: Vec<JobId>,
    claimed: Vec<(JobId, u32)>,
}

impl Generator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Generator {
            chance: Chance::new(seed),
            next: 1,
            sent: Vec::new(),
            headers: Vec::new(),
            batches: Vec::new(),
            sessions: Vec::new(),
            alive: Vec::new(),
            term: 0,
            cursor: Cursor::START,
            now: Time::ZERO,
            fresh: Vec::new(),
            claimed: Vec::new(),
        }
    }

    /// The kinds and sessions that everything begins with.
    pub fn beginning(&mut self) -> Vec<Unit> {
        let mut units: Vec<Unit> = KINDS.iter().map(|kind| self.declare(kind)).collect();
        units.extend((1..=2).map(|id| open_session(SessionId::from_u64(id), secs(60))));
        units
    }

    /// Looks at the store.
    pub fn see(&mut self, dump: &Dump, now: Time) {
        self.headers = dump.jobs.iter().map(|job| (job.row.header, job.row.line.batch)).collect();
        self.batches = dump.batches.iter().map(|batch| (batch.id, batch.phase)).collect();
        self.sessions = dump.sessions.iter().map(|session| session.id).collect();
        let alive = dump.sessions.iter().filter(|session| session.until > now);
        self.alive = alive.map(|session| session.id).collect();
        self.term = dump.leases.first().map_or(0, |lease| lease.term);
        self.fresh.clear();
        self.claimed.clear();
        self.cursor = dump.events.last().map_or(Cursor::START, |event| event.0);
        self.now = now;
    }

    /// How far the clock moves before the next commit.
    pub fn pause(&mut self) -> Duration {
        match self.chance.below(10) {
            0..5 => Duration::ZERO,
            5..8 => millis(1 + self.chance.below(3_000) as u64),
            8 => secs(10),
            _ => secs(self.chance.below(60) as u64),
        }
    }

    /// How many units the next commit has.
    pub fn group(&mut self) -> usize {
        if self.chance.percent(40) { 1 } else { 1 + self.chance.below(6) }
    }

    /// Whether the store is closed and opened again before the next commit.
    pub fn restart(&mut self) -> bool {
        self.chance.percent(3)
    }

    /// Whether the next look takes in payloads, results, errors and steps too.
    pub fn looks_closely(&mut self) -> bool {
        self.chance.percent(15)
    }

    /// The next unit.
    pub fn unit(&mut self) -> Unit {
        match self.chance.below(100) {
            _ if self.alive.is_empty() && self.chance.percent(30) => self.session(),
            0..14 => self.submit(),
            14..17 => self.chance.maybe(&self.sent.clone()).map_or_else(|| self.submit(), Unit::Submit),
            17..44 => self.claim(),
            44..68 => self.settle(),
            68..72 => self.step(),
            72..73 => self.progress(),
            73..84 => self.control(),
            84..87 => self.session(),
            87..89 => self.lease(),
            89..90 => {
                let kind = self.chance.pick(&KINDS);
                self.declare(kind)
            }
            90..91 => self.setting_or_message(),
            _ => self.sweep(),
        }
    }

    fn some_jobs(&mut self, states: &[State]) -> Vec<JobId> {
        (0..self.chance.below(6)).map(|_| self.job_in(states, 80).id).collect()
    }

    /// A job in one of these states, mostly; any job otherwise.
    fn job_in(&mut self, states: &[State], mostly: usize) -> Header {
        let fitting: Vec<Header> = self
            .headers
            .iter()
            .map(|known| known.0)
            .filter(|header| states.contains(&header.state))
            .collect();
        match self.chance.maybe(&fitting) {
            Some(header) if self.chance.percent(mostly) => header,
            _ => self.any_job(),
        }
    }

    /// A job whose session has ended, mostly.
    fn abandoned(&mut self) -> Header {
        let running = self.headers.iter().map(|known| known.0);
        let ended = |header: &Header| header.session.is_some_and(|session| !self.alive.contains(&session));
        let abandoned: Vec<Header> = running.filter(ended).collect();
        self.chance.maybe(&abandoned).unwrap_or_else(|| self.job_in(&[State::Running], 95))
    }

    fn any_job(&mut self) -> Header {
        let headers: Vec<Header> = self.headers.iter().map(|known| known.0).collect();
        self.chance.maybe(&headers).unwrap_or_else(nobody)
    }

    fn number(&mut self) -> u64 {
        // Not in order: ids of several nodes are not either.
        self.next += 1 + self.chance.below(3) as u64;
        if self.chance.percent(20) {
            self.next * 16 + 7
        } else {
            self.next * 16 + self.chance.below(3) as u64
        }
    }

    fn owner(&mut self) -> Name {
        name(self.chance.pick(&OWNERS))
    }

    fn term(&mut self) -> u64 {
        if self.chance.percent(85) { self.term } else { self.term.saturating_sub(1) }
    }

    fn session_id(&mut self) -> SessionId {
        let from = if self.chance.percent(93) { &self.alive } else { &self.sessions };
        self.chance.maybe(from).unwrap_or(SessionId::from_u64(1))
    }

    fn blob(&mut self) -> Blob {
        let length = self.chance.pick(&[0, 1, 30, 1_023, 1_024, 1_025, 3_000]);
        vec![self.chance.below(256) as u8; length].into()
    }
}

/// A job that is not there.
fn nobody() -> Header {
    Header {
        id: JobId::from_u64(3),
        version: 1,
        state: State::Ready,
        line: turnwise_core::ids::LineId::from_u64(1),
        place: None,
        attempt: 0,
        attempts: 1,
        rescues: 0,
        fence: 0,
        session: None,
        submitted: Time::ZERO,
        at: Time::ZERO,
        flags: turnwise_core::job::Flags::default(),
    }
}
