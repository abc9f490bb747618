//! The crew: what this process runs at the moment, its slots, and what it has to tell the scheduler.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;
use tokio::sync::{Notify, watch};
use turnwise_core::ids::JobId;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Submission, Verdict};

use crate::context::Run;
use crate::engine::Inner;
use crate::flow::handle;
use crate::flow::ticket::{Report, Ticket};
use crate::handler::Handler;
use crate::meter::KindMeter;
use crate::remote::Desk;

/// A run that has ended and must be committed.
pub(crate) struct Finished {
    pub(crate) run: Arc<Run>,
    pub(crate) verdict: Verdict,
    pub(crate) submission: Submission,
}

pub(crate) struct Crew {
    pub(crate) inner: Arc<Inner>,
    pub(crate) kinds: HashMap<Name, Served>,
    /// Where a program outside fetches what is claimed here. Nothing is claimed that it does not ask for.
    pub(crate) desk: Option<Arc<Desk>>,
    state: Mutex<State>,
    /// Something has ended and must be committed.
    pub(crate) ended: Notify,
    /// Something is to be reported.
    pub(crate) news: Notify,
    /// Something was claimed ahead.
    pub(crate) waiting: Notify,
    /// No run and nothing to commit any more.
    pub(crate) idle: Notify,
    /// No new work from now on.
    pub(crate) closing: watch::Sender<bool>,
    /// No new work for now: the node is drained.
    pub(crate) resting: watch::Sender<bool>,
}

/// A kind that this process serves.
pub(crate) struct Served {
    pub(crate) handler: Handler,
    pub(crate) pool: Name,
    pub(crate) lease: Option<Name>,
    pub(crate) meter: KindMeter,
}

#[derive(Default)]
struct State {
    pools: BTreeMap<Name, Slots>,
    /// By job and fence: a thread that will not stop may still be there when its job is claimed again.
    running: BTreeMap<(JobId, u32), Arc<Run>>,
    finished: Vec<Finished>,
    /// Ended runs that are not committed yet.
    unsettled: BTreeSet<(JobId, u32)>,
    /// Jobs whose claims were not answered yet, and how many claims of each.
    claiming: BTreeMap<JobId, u32>,
    report: Report,
    /// Terms of the leases that this process holds, and until when it trusts them.
    terms: BTreeMap<Name, (u64, Time)>,
}

impl State {
    /// A run has ended; that is to be committed.
    fn end(&mut self, finished: Finished) {
        self.running.remove(&finished.run.key());
        self.unsettled.insert(finished.run.key());
        self.finished.push(finished);
    }

    /// Claims that are held, in all pools together.
    fn held(&self) -> u32 {
        self.pools.values().map(Slots::held).sum()
    }

    /// Claims that were not answered yet, in all pools together.
    fn under_way(&self) -> u32 {
        self.pools.values().map(|slots| slots.claiming).sum()
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty() && self.unsettled.is_empty() && self.claiming.is_empty()
    }
}

struct Slots {
    total: u32,
    /// Running.
    busy: u32,
    /// Being claimed.
    claiming: u32,
    /// Claimed ahead: each starts as soon as a slot is free.
    ahead: VecDeque<Ahead>,
    /// How long a run takes, on average over the last ones.
    pace: Option<Duration>,
}

/// A claim that waits for a slot.
struct Ahead {
    run: Arc<Run>,
    since: Time,
}

impl Slots {
    fn new(total: u32) -> Self {
        Slots { total, busy: 0, claiming: 0, ahead: VecDeque::new(), pace: None }
    }

    /// How many claims may be held: one for each slot, and what the slots will have done in a few milliseconds. The way
    /// from a free slot to the next claim is about as long; with short jobs the slots would wait most of the time.
    fn room(&self) -> u32 {
        let Some(pace) = self.pace else { return self.total };
        let ahead = u128::from(self.total) * limits::AHEAD.as_nanos() / pace.as_nanos().max(1);
        self.total + u32::try_from(ahead).unwrap_or(u32::MAX).min(limits::CLAIMS_AHEAD)
    }

    /// Claims that are held.
    fn held(&self) -> u32 {
        self.busy + self.ahead.len() as u32
    }

    /// A run took so long.
    fn learn(&mut self, taken: Duration) {
        self.pace = Some(self.pace.map_or(taken, |pace| (pace * 7 + taken) / 8));
    }
}

impl Crew {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        let leases = inner.registry.leases();
        let mut kinds = HashMap::new();
        for (kind, pool) in inner.registry.kinds() {
            if let Some(handler) = inner.registry.handler(&kind) {
                let lease = leases.get(&kind).cloned();
                let meter = KindMeter::new(&kind);
                kinds.insert(kind, Served { handler, pool, lease, meter });
            }
        }
        let desk = kinds.values().find_map(|served| match &served.handler {
            Handler::Outside(desk) => Some(desk.clone()),
            _ => None,
        });
        let pools = inner.registry.pools();
        let pools = pools.into_iter().map(|(pool, total)| (pool, Slots::new(total))).collect();
        Crew {
            inner,
            kinds,
            desk,
            state: Mutex::new(State { pools, ..State::default() }),
            ended: Notify::new(),
            news: Notify::new(),
            waiting: Notify::new(),
            idle: Notify::new(),
            closing: watch::channel(false).0,
            resting: watch::channel(false).0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Whether the node is drained, as far as it has heard.
    pub(crate) fn is_resting(&self) -> bool {
        *self.resting.borrow()
    }

    /// The node is drained, or is not any more. What waits for a slot is given back.
    pub(crate) fn rest(&self, resting: bool) {
        if self.resting.send_if_modified(|before| std::mem::replace(before, resting) != resting) {
            tracing::info!(
                resting,
                "{}",
                if resting { "drained: nothing more begins here" } else { "at work again" }
            );
            self.waiting.notify_one();
            self.news.notify_one();
        }
    }

    /// Whether nothing more begins here.
    fn begins_nothing(&self) -> bool {
        self.is_closing() || self.is_resting()
    }

    /// Whether anything runs under a lease.
    pub(crate) fn runs_under(&self, lease: &Name) -> bool {
        let state = self.lock();
        !state.claiming.is_empty() || state.running.values().any(|run| self.is_under(run, lease))
    }

    /// How many claims more may be held, whatever room a pool has: a program outside gets no more than it asks for.
    fn wanted(&self, state: &State) -> u32 {
        self.desk.as_ref().map_or(u32::MAX, |desk| desk.wanted(state.held()))
    }

    /// Claims that were answered and lie on no desk yet, or have just left it.
    pub(crate) fn on_the_way(&self) -> u32 {
        let state = self.lock();
        self.desk.as_ref().map_or(0, |desk| state.held().saturating_sub(desk.known()))
    }

    /// Takes room for the first of these tickets, as much as there is, until their claims are answered.
    pub(crate) fn reserve(&self, pool: &Name, tickets: &[Ticket]) -> usize {
        if self.begins_nothing() {
            return 0;
        }
        let mut state = self.lock();
        let state = &mut *state;
        let wanted = self.wanted(state).saturating_sub(state.under_way());
        let Some(slots) = state.pools.get_mut(pool) else { return 0 };
        let free = slots.room().saturating_sub(slots.held() + slots.claiming);
        let taken = (free.min(wanted) as usize).min(tickets.len());
        slots.claiming += taken as u32;
        for (job, _) in &tickets[..taken] {
            *state.claiming.entry(*job).or_default() += 1;
        }
        taken
    }

    /// The claims were answered: reserved slots become busy, or free again. One look at the lock for all of them. The
    /// first runs have a slot and are to be started; so many. The others wait for theirs.
    pub(crate) fn claimed(
        &self,
        pool: &Name,
        tickets: &[Ticket],
        runs: &[Arc<Run>],
        fill: impl FnOnce(&mut Report),
    ) -> usize {
        let now = self.inner.runtime.now();
        let mut state = self.lock();
        let state = &mut *state;
        let mut starting = 0;
        if let Some(slots) = state.pools.get_mut(pool) {
            slots.claiming -= tickets.len() as u32;
            starting = runs.len().min(slots.total.saturating_sub(slots.busy) as usize);
            slots.busy += starting as u32;
            let wait = |run: &Arc<Run>| Ahead { run: run.clone(), since: now };
            slots.ahead.extend(runs[starting..].iter().map(wait));
            if starting < runs.len() {
                self.waiting.notify_one();
            }
        }
        for (job, _) in tickets {
            if let Some(count) = state.claiming.get_mut(job) {
                *count -= 1;
                if *count == 0 {
                    state.claiming.remove(job);
                }
            }
        }
        for run in runs {
            state.running.insert(run.key(), run.clone());
        }
        fill(&mut state.report);
        self.news.notify_one();
        if state.is_idle() {
            self.idle.notify_waiters();
            self.ended.notify_one();
        }
        starting
    }

    /// Tickets that are handed back unclaimed.
    pub(crate) fn hand_back(&self, tickets: impl IntoIterator<Item = Ticket>) {
        self.lock().report.returned.extend(tickets);
        self.news.notify_one();
    }

    /// A handler has ended: its slot is free for the next. One that was stopped from outside has decided nothing, unless
    /// it was done all the same: its job is given back.
    pub(crate) fn finished(self: &Arc<Self>, run: Arc<Run>, verdict: Verdict) {
        let verdict = match verdict {
            Verdict::Done(_) | Verdict::Released => verdict,
            _ if run.signal.is_aborted() => {
                run.answered(Err(&Refusal::SessionEnded));
                Verdict::Released
            }
            _ => verdict,
        };
        let submission = run.take_fanout();
        run.end();
        let taken = run.taken();
        let served = self.kinds.get(&run.claimed.line.kind);
        if let (Some(served), Some(taken)) = (served, taken) {
            served.meter.ran(taken);
        }
        let pool = served.map(|served| &served.pool);
        let mut next = None;
        {
            let mut state = self.lock();
            let state = &mut *state;
            if let Some(slots) = pool.and_then(|pool| state.pools.get_mut(pool)) {
                // Nothing is claimed ahead for a program outside, however fast it is.
                if let Some(taken) = taken.filter(|_| self.desk.is_none()) {
                    slots.learn(taken);
                }
                next = match self.begins_nothing() {
                    true => None,
                    false => slots.ahead.pop_front(),
                };
                slots.busy = if next.is_some() { slots.busy } else { slots.busy.saturating_sub(1) };
            }
            state.end(Finished { run, verdict, submission });
        }
        self.ended.notify_one();
        if let Some(desk) = &self.desk {
            desk.look();
        }
        if let Some(Ahead { run, .. }) = next {
            self.start(run);
        }
    }

    /// Starts a run that has a slot.
    pub(crate) fn start(self: &Arc<Self>, run: Arc<Run>) {
        match self.kinds.get(&run.claimed.line.kind) {
            Some(served) if !run.signal.is_aborted() => handle::start(self, run, &served.handler),
            _ => self.finished(run, Verdict::Released),
        }
    }

    /// Gives back what was claimed ahead and has waited too long for a slot; everything, if no new work is begun. When to
    /// look again.
    pub(crate) fn give_back(&self) -> Option<Time> {
        let now = self.inner.runtime.now();
        let closing = self.begins_nothing();
        let mut state = self.lock();
        let state = &mut *state;
        let mut given_back = Vec::new();
        for slots in state.pools.values_mut() {
            let late = |ahead: &Ahead| closing || now.since(ahead.since) >= limits::AHEAD_PATIENCE;
            let count = slots.ahead.iter().take_while(|ahead| late(ahead)).count();
            if count > 0 {
                // What is running takes longer than what ran before: nothing is claimed ahead until a run has ended.
                slots.pace = None;
            }
            given_back.extend(slots.ahead.drain(..count).map(|ahead| ahead.run));
        }
        if !given_back.is_empty() {
            self.ended.notify_one();
        }
        for run in given_back {
            state.end(Finished { run, verdict: Verdict::Released, submission: Submission::default() });
        }
        let oldest =
            state.pools.values().filter_map(|slots| slots.ahead.front()).map(|ahead| ahead.since).min();
        oldest.map(|since| since + limits::AHEAD_PATIENCE)
    }

    /// What has ended and must be committed. Free slots are reported here and not by each handler: under load that
    /// makes one report of all that ended during a commit, and when idle it is at once. (One report for each handler
    /// made tickets travel one by one, and drained 2,000 jobs/s.)
    pub(crate) fn take_finished(&self) -> Vec<Finished> {
        let finished = std::mem::take(&mut self.lock().finished);
        if !finished.is_empty() {
            self.news.notify_one();
        }
        finished
    }

    /// These were committed, or given up.
    pub(crate) fn committed(&self, runs: &[(JobId, u32)]) {
        let mut state = self.lock();
        for run in runs {
            state.unsettled.remove(run);
        }
        if state.is_idle() {
            self.idle.notify_waiters();
        }
    }

    /// Whether somebody here still has to do with a claim: runs it, commits its end, or waits for its answer.
    pub(crate) fn knows(&self, job: JobId, fence: u32) -> bool {
        let state = self.lock();
        let run = (job, fence);
        state.running.contains_key(&run)
            || state.unsettled.contains(&run)
            || state.claiming.contains_key(&job)
    }

    /// Whether nothing runs and nothing is to be committed.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().is_idle()
    }

    /// The report that is due, counted as of now.
    pub(crate) fn take_report(&self) -> Report {
        // Whoever may not claim has no slot to offer: tickets would only come back.
        let closed = self.begins_nothing() || !self.inner.is_trusted();
        let mut state = self.lock();
        let state = &mut *state;
        let number = state.report.number + 1;
        let mut report = std::mem::replace(&mut state.report, Report { number, ..Report::default() });
        report.number = number;
        // The scheduler knows of tickets that are out, but only in the pool that they are in.
        let (wanted, under_way) = (self.wanted(state), state.under_way());
        let free = |slots: &Slots| match closed {
            true => 0,
            false => {
                let elsewhere = under_way - slots.claiming;
                slots.room().saturating_sub(slots.held()).min(wanted.saturating_sub(elsewhere))
            }
        };
        report.free = state.pools.iter().map(|(pool, slots)| (pool.clone(), free(slots))).collect();
        report
    }

    /// A handler should stop.
    pub(crate) fn tell_cancel(&self, job: JobId) {
        let state = self.lock();
        state.running.range((job, 0)..=(job, u32::MAX)).for_each(|(_, run)| run.signal.tell());
    }

    /// Every handler is stopped, if it can be.
    pub(crate) fn abort_all(&self) {
        self.lock().running.values().for_each(|run| run.signal.abort());
    }

    /// A lease was lost: what runs under it is stopped.
    pub(crate) fn abort_under(&self, lease: &Name) {
        let state = self.lock();
        state.running.values().filter(|run| self.is_under(run, lease)).for_each(|run| run.signal.abort());
    }

    fn is_under(&self, run: &Run, lease: &Name) -> bool {
        let served = self.kinds.get(&run.claimed.line.kind);
        served.is_some_and(|served| served.lease.as_ref() == Some(lease))
    }

    /// The term that claims under this lease carry, if this process trusts itself to hold it.
    pub(crate) fn term(&self, lease: &Name, now: Time) -> Option<u64> {
        self.lock().terms.get(lease).filter(|(_, until)| *until > now).map(|(term, _)| *term)
    }

    pub(crate) fn set_term(&self, lease: &Name, term: Option<(u64, Time)>) {
        let mut state = self.lock();
        match term {
            Some(term) => state.terms.insert(lease.clone(), term),
            None => state.terms.remove(lease),
        };
    }
}
