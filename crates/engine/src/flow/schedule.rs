//! Ready work becomes tickets. The decisions are the planner's; here it is fed from the store and from reports, and
//! what it decided is published. It writes nothing to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::{JobId, LineId, SessionId};
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::schedule::{Decision, KindRules, Planner, Target, Ticket};
use turnwise_core::time::Time;
use turnwise_drivers::store::{Committed, Found, Pauses, Read, Ready, ReadyAnswer, StoreError, Want};

use super::ticket::{Report, Tickets, encode, kind_key, kind_queue, task_exchange};
use crate::Error;
use crate::engine::{Inner, odd_answer};

/// Lines read in one look.
const WANTS: usize = 64;
/// Tickets planned in one go.
const TICKETS: usize = 1_024;
/// Rounds of reading and planning before others get their turn.
const ROUNDS: usize = 8;
/// Lines that one look for forgotten work goes through.
const RESCAN: usize = 1_024;
/// Every so many looks, all lines are read from their start.
const THOROUGH: u32 = 16;
/// A worker that has not reported for this long is not counted on.
const SILENT: Duration = Duration::from_secs(5);
/// Rows read at once when the planner is filled anew.
const PAGE: usize = 1_000;

/// A look that is under way.
pub(crate) type Look = Pin<Box<dyn Future<Output = Result<ReadyAnswer, StoreError>> + Send>>;

pub(crate) struct Scheduler {
    inner: Arc<Inner>,
    planner: Planner,
    workers: BTreeMap<SessionId, Slots>,
    kinds: BTreeMap<Name, Name>,
    /// Kinds, pauses or what runs may have changed: read them again.
    stale_settings: bool,
    /// An owner's weight may have changed.
    stale_weights: bool,
    /// Where the look for forgotten work goes on.
    rescan: Option<LineId>,
    paused: BTreeSet<Target>,
    /// Looks for forgotten work so far.
    looks: u32,
}

struct Slots {
    number: u64,
    heard: Time,
    free: Vec<(Name, u32)>,
}

impl Scheduler {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Scheduler {
            inner,
            planner: Planner::new(),
            workers: BTreeMap::new(),
            kinds: BTreeMap::new(),
            stale_settings: false,
            stale_weights: false,
            rescan: None,
            paused: BTreeSet::new(),
            looks: 0,
        }
    }

    /// Rebuilds everything from the store: a new leader knows nothing.
    pub(crate) async fn load(&mut self) -> Result<(), Error> {
        self.planner.forget_all();
        self.load_settings().await?;
        self.load_weights().await?;
        self.rescan = None;
        while self.look_for_forgotten().await? {}
        Ok(())
    }

    async fn load_settings(&mut self) -> Result<(), Error> {
        self.stale_settings = false;
        let Found::Rules(rules) = self.inner.read(Read::Rules).await? else { return Err(odd_answer()) };
        for kind in rules.kinds {
            if self.kinds.insert(kind.name.clone(), kind.pool.clone()).is_none() {
                self.inner.broker.declare(kind_queue(&kind.name)).await?;
            }
            let rules = KindRules {
                pool: kind.pool.clone(),
                cap: kind.cap,
                key_cap: kind.key_cap,
                rate: kind.rate,
                key_rate: kind.key_rate,
            };
            self.planner.set_kind(&kind.name, rules);
        }
        let Pauses(paused) = rules.pauses;
        for target in self.paused.difference(&paused) {
            self.planner.set_paused(target, false);
        }
        for target in paused.difference(&self.paused) {
            self.planner.set_paused(target, true);
        }
        self.paused = paused;
        let running = rules.gauges.iter().map(|(limit, running)| (&limit.kind, limit.key.as_ref(), *running));
        self.planner.set_all_running(running);
        Ok(())
    }

    async fn load_weights(&mut self) -> Result<(), Error> {
        self.stale_weights = false;
        let mut after = None;
        loop {
            let Found::Owners(owners) = self.inner.read(Read::Owners { after, limit: PAGE }).await? else {
                return Err(odd_answer());
            };
            for row in &owners {
                self.planner.set_weight(&row.owner, row.account.weight);
            }
            after = owners.last().map(|row| row.owner.clone());
            if owners.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Looks through the lines that have ready work, whatever hints were lost. Whether there are more.
    async fn look_for_forgotten(&mut self) -> Result<bool, Error> {
        let answer = self.look().await?;
        self.looked(answer)
    }

    /// A look at some of the lines that have ready work. It is no business of the planner's until it is over.
    pub(crate) fn look(&self) -> Look {
        let (inner, ready) = (self.inner.clone(), Ready::Lines { after: self.rescan, limit: RESCAN });
        Box::pin(async move { inner.store.ready(ready).await })
    }

    /// Takes in what a look has found. Whether there are more lines.
    pub(crate) fn looked(&mut self, answer: ReadyAnswer) -> Result<bool, Error> {
        let ReadyAnswer::Lines(lines) = answer else { return Err(odd_answer()) };
        let mut room = true;
        self.looks += 1;
        for (id, key) in &lines {
            // A line that is being drained is read on anyway; it is read from its start only now and then.
            if self.looks.is_multiple_of(THOROUGH) || !self.planner.goes_on(*id) {
                room &= self.planner.announce(*id, key);
            }
        }
        let more = lines.len() == RESCAN && room;
        self.rescan = lines.last().map(|(id, _)| *id).filter(|_| lines.len() == RESCAN);
        Ok(more)
    }

    /// Settings are read again from time to time: the hint that they changed, or that a run ended, may have been
    /// lost.
    pub(crate) fn mistrust_hints(&mut self, weights: bool) {
        self.stale_settings = true;
        self.stale_weights |= weights;
    }

    /// A commit happened.
    pub(crate) fn hint(&mut self, committed: &Committed) {
        let first = first_ready(&committed.events);
        for (line, key) in &committed.ready {
            match first.get(line) {
                Some(first) => self.planner.announce_from(*line, key, *first),
                None => self.planner.announce(*line, key),
            };
        }
        for event in &committed.events {
            match event {
                Event::Job { line, cause, .. } if ends_run(cause) => {
                    self.planner.ended(*line);
                }
                Event::KindDeclared(_) | Event::Paused(..) => self.stale_settings = true,
                Event::OwnerChanged(_) => self.stale_weights = true,
                Event::SessionEnded { session, .. } => drop(self.workers.remove(session)),
                _ => {}
            }
        }
    }

    /// A worker reported.
    pub(crate) fn report(&mut self, report: Report, now: Time) {
        for &(job, version) in &report.started {
            self.planner.started(job, version);
        }
        for &(job, version) in &report.gone {
            self.planner.gone(job, version);
        }
        for &(job, version) in &report.returned {
            self.planner.returned(job, version);
        }
        for &(job, version, until) in &report.blocked {
            self.planner.blocked(job, version, until);
        }
        let Some(session) = report.session else { return };
        if report.leaving {
            self.workers.remove(&session);
            return;
        }
        let known = self.workers.get(&session).map_or(0, |slots| slots.number);
        if report.number > known {
            self.workers.insert(session, Slots { number: report.number, heard: now, free: report.free });
        }
    }

    /// Time passed: tickets and workers that nobody heard of again are forgotten.
    pub(crate) fn expire(&mut self, now: Time) {
        self.planner.expire(now);
        self.workers.retain(|_, slots| now.since(slots.heard) < SILENT);
    }

    /// Reads, plans and publishes. When to look again by time alone.
    pub(crate) async fn step(&mut self) -> Result<Option<Time>, Error> {
        if self.stale_settings {
            self.load_settings().await?;
        }
        if self.stale_weights {
            self.load_weights().await?;
        }
        let mut wake = None;
        for _ in 0..ROUNDS {
            let read = self.fill().await?;
            self.count_free();
            let Decision { tickets, wake_at } = self.planner.plan(self.inner.runtime.now(), TICKETS);
            wake = wake_at;
            let planned = tickets.len();
            self.publish(tickets).await;
            if planned == 0 && !read {
                return Ok(wake);
            }
        }
        Ok(Some(wake.map_or(self.inner.runtime.now(), |wake| wake.min(self.inner.runtime.now()))))
    }

    /// Gives the planner what it wants to know. Whether it wanted anything.
    async fn fill(&mut self) -> Result<bool, Error> {
        let wants = self.planner.wants(WANTS);
        if wants.is_empty() {
            return Ok(false);
        }
        let asked =
            wants.iter().map(|want| Want { line: want.line, after: want.after, limit: want.limit }).collect();
        match self.inner.store.ready(Ready::Jobs(asked)).await {
            Ok(ReadyAnswer::Jobs(answers)) => {
                for (want, jobs) in wants.iter().zip(answers) {
                    self.planner.filled(want, &jobs, jobs.len() < want.limit);
                }
                Ok(true)
            }
            Ok(_) => Err(odd_answer()),
            Err(error) => {
                wants.iter().for_each(|want| self.planner.unanswered(want));
                Err(error.into())
            }
        }
    }

    /// Free slots that no ticket is on its way to.
    fn count_free(&mut self) {
        let mut pools: BTreeMap<&Name, u32> = BTreeMap::new();
        for (pool, free) in self.workers.values().flat_map(|slots| &slots.free) {
            *pools.entry(pool).or_default() += free;
        }
        for (pool, free) in pools {
            let out = u32::try_from(self.planner.outstanding_in(pool)).unwrap_or(u32::MAX);
            self.planner.set_free(pool, free.saturating_sub(out));
        }
    }

    /// Several tickets travel in one message, but never more than one worker has slots.
    async fn publish(&mut self, tickets: Vec<Ticket>) {
        let mut by_kind: BTreeMap<Name, Vec<Ticket>> = BTreeMap::new();
        for ticket in tickets {
            match by_kind.get_mut(&ticket.kind) {
                Some(known) => known.push(ticket),
                None => drop(by_kind.insert(ticket.kind.clone(), vec![ticket])),
            }
        }
        for (kind, tickets) in by_kind {
            let most = self.largest_worker(&kind);
            for part in tickets.chunks(most) {
                let message = Tickets {
                    kind: kind.clone(),
                    tickets: part.iter().map(|t| (t.job, t.version)).collect(),
                };
                let sent =
                    self.inner.broker.publish(&task_exchange(), &kind_key(&kind), encode(&message)).await;
                if let Err(error) = sent {
                    tracing::warn!(%error, %kind, "tickets could not be sent; they are planned again");
                    part.iter().for_each(|ticket| self.planner.returned(ticket.job, ticket.version));
                }
            }
        }
    }

    /// The most free slots that one worker has for a kind.
    fn largest_worker(&self, kind: &Name) -> usize {
        let pool = self.kinds.get(kind);
        let free = self.workers.values().flat_map(|slots| &slots.free).filter(|(name, _)| Some(name) == pool);
        let most = free.map(|(_, free)| *free as usize).max().unwrap_or(1);
        most.clamp(1, limits::TICKETS_PER_MESSAGE)
    }
}

/// The first job of each line that became ready.
fn first_ready(events: &[Event]) -> BTreeMap<LineId, JobId> {
    let mut first: BTreeMap<LineId, JobId> = BTreeMap::new();
    let mut last = None;
    for event in events {
        let Event::Job { job, line, state: State::Ready, .. } = event else { continue };
        // Neighbours mostly share their line, and grow.
        if last.is_some_and(|(known, least)| known == *line && least <= *job) {
            continue;
        }
        let least = first.entry(*line).or_insert(*job);
        *least = (*least).min(*job);
        last = Some((*line, *least));
    }
    first
}

fn ends_run(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Completed
            | Cause::Failed { .. }
            | Cause::Snoozed { .. }
            | Cause::Stopped
            | Cause::Released
            | Cause::Rescued { .. }
    )
}
