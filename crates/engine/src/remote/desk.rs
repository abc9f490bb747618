//! The desk: what was claimed lies here until the program outside fetches it, and its answers come in here.
//!
//! A claim goes one way: on the desk, held by the program, ended. Each move is made under one lock, so a deadline, an
//! abort and an answer that meet are told apart: whoever takes the claim out of its place decides how it ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot, watch};
use turnwise_core::ids::JobId;
use turnwise_core::limits;
use turnwise_core::time::Time;
use turnwise_drivers::store::Verdict;

use super::ended::{End, Ended};
use super::job::unpack;
use super::{Recall, RecallReason, RemoteJob};
use crate::context::{Answer, Run};
use crate::flow::handle::{deadline, too_late};

/// A claim: the job and its fence.
pub(super) type Key = (JobId, u32);

/// Between the crew of a remote worker and its program.
pub(crate) struct Desk {
    slots: u32,
    /// For how long the program is told that it should stop with something that ended without it.
    told_for: Duration,
    state: Mutex<State>,
    /// Something lies on the desk, nothing more is on its way, or it was closed.
    arrived: Notify,
}

#[derive(Default)]
struct State {
    /// Jobs that are asked for by whoever waits at the desk.
    asked: u32,
    waiting: VecDeque<Waiting>,
    held: BTreeMap<Key, Held>,
    ended: Ended,
    is_closed: bool,
}

/// On the desk.
struct Waiting {
    job: RemoteJob,
    held: Held,
    /// Said when it is fetched; dropped when the desk is cleared.
    fetched: oneshot::Sender<()>,
}

/// With the program.
struct Held {
    run: Arc<Run>,
    answer: oneshot::Sender<Verdict>,
}

impl Desk {
    pub(super) fn new(slots: u32, session: Duration) -> Self {
        // Whoever lives is heard once in a session, and may miss one answer.
        Desk { slots, told_for: session * 2, state: Mutex::default(), arrived: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever waits may look again.
    pub(crate) fn look(&self) {
        self.arrived.notify_waiters();
    }

    /// Ends when there may be something to see.
    pub(super) fn arrived(&self) -> Notified<'_> {
        self.arrived.notified()
    }

    /// How many claims more may be held beyond these: as many as somebody waits for, and never more than slots.
    pub(crate) fn wanted(&self, held: u32) -> u32 {
        let state = self.lock();
        let unfetched = held.saturating_sub(state.held.len() as u32);
        state.asked.saturating_sub(unfetched).min(self.slots.saturating_sub(held))
    }

    /// Claims that lie here or are with the program.
    pub(crate) fn known(&self) -> u32 {
        let state = self.lock();
        (state.waiting.len() + state.held.len()) as u32
    }

    /// Runs a claim: waits until it is fetched, then for its answer, and for neither too long.
    pub(crate) async fn serve(&self, run: &Arc<Run>) -> Verdict {
        let runtime = &run.inner.runtime;
        let job = tokio::select! {
            biased;
            () = run.signal.aborted() => return Verdict::Released,
            job = unpack(run) => match job {
                Ok(job) => job,
                Err(verdict) => return verdict,
            },
        };
        let (answer, mut answered) = oneshot::channel();
        let (fetched, is_fetched) = oneshot::channel();
        self.put(Waiting { job, held: Held { run: run.clone(), answer }, fetched });
        let patience = runtime.sleep_until(runtime.now() + limits::REMOTE_PATIENCE);
        let fetched = tokio::select! {
            biased;
            fetched = is_fetched => fetched.is_ok(),
            () = run.signal.aborted() => false,
            () = patience => false,
        };
        if !fetched && self.withdraw(run.key()) {
            return Verdict::Released;
        }
        let (reason, instead) = tokio::select! {
            biased;
            verdict = &mut answered => return verdict.unwrap_or(Verdict::Released),
            () = run.signal.aborted() => (RecallReason::Lost, Verdict::Released),
            () = deadline(run) => (RecallReason::Deadline, too_late()),
        };
        match self.recall(run.key(), reason, runtime.now()) {
            true => instead,
            // The program was faster: its answer is on its way.
            false => answered.await.unwrap_or(Verdict::Released),
        }
    }

    /// Puts a claim on the desk. A closed desk takes nothing: it is as if it had been withdrawn.
    fn put(&self, waiting: Waiting) {
        let mut state = self.lock();
        if !state.is_closed {
            state.waiting.push_back(waiting);
        }
        drop(state);
        self.look();
    }

    /// Takes a claim off the desk. Whether nobody has fetched it.
    fn withdraw(&self, key: Key) -> bool {
        let mut state = self.lock();
        state.waiting.retain(|waiting| waiting.held.run.key() != key);
        !state.held.contains_key(&key)
    }

    /// Takes a claim from the program. Whether it had not answered yet.
    fn recall(&self, key: Key, reason: RecallReason, now: Time) -> bool {
        let mut state = self.lock();
        let was_held = state.held.remove(&key).is_some();
        if was_held {
            state.ended.remember(key, End::Recalled(reason, now));
        }
        was_held
    }

    /// Somebody waits for so many jobs, or waits no longer.
    pub(super) fn ask(&self, most: u32) {
        self.lock().asked += most;
    }

    pub(super) fn ask_no_more(&self, most: u32) {
        self.lock().asked -= most;
    }

    /// Jobs for the program: what lies here, at most so many. From now on it holds them, and their time runs.
    pub(super) fn fetch(&self, most: u32) -> Vec<RemoteJob> {
        let mut state = self.lock();
        let state = &mut *state;
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while jobs.len() < most as usize && bytes < limits::REMOTE_BYTES {
            let Some(Waiting { mut job, held, fetched }) = state.waiting.pop_front() else { break };
            bytes += held.run.claimed.payload.len();
            held.run.begin();
            job.deadline = held.run.deadline();
            state.held.insert(held.run.key(), held);
            // Whoever serves it looks for it among those that are held when it does not hear this.
            let _ = fetched.send(());
            jobs.push(job);
        }
        jobs
    }

    /// How many lie here. Nothing, if it is closed.
    pub(super) fn waiting(&self) -> Option<u32> {
        let state = self.lock();
        (!state.is_closed).then_some(state.waiting.len() as u32)
    }

    /// The run of a claim that the program holds.
    pub(super) fn held(&self, key: Key) -> Option<Arc<Run>> {
        self.lock().held.get(&key).map(|held| held.run.clone())
    }

    /// The program answers. Where it is heard how that was answered in turn; nothing if the claim is not its own any
    /// more. The same answer sent again hears the same.
    pub(super) fn answer(&self, key: Key, verdict: Verdict) -> Option<watch::Receiver<Option<Answer>>> {
        let mut state = self.lock();
        let Some(Held { run, answer }) = state.held.remove(&key) else {
            return state.ended.said(key, &verdict);
        };
        let heard = run.listen();
        state.ended.remember(key, End::Said(std::mem::discriminant(&verdict), heard.clone()));
        // Whoever serves it waits for this as long as the process lives.
        let _ = answer.send(verdict);
        Some(heard)
    }

    /// Gives back what the program holds and does not name. How many these were.
    pub(super) fn keep(&self, jobs: &BTreeSet<JobId>, now: Time) -> usize {
        let mut state = self.lock();
        let forgotten: Vec<Key> = state.held.keys().filter(|(job, _)| !jobs.contains(job)).copied().collect();
        for &key in &forgotten {
            if let Some(Held { answer, .. }) = state.held.remove(&key) {
                state.ended.remember(key, End::Recalled(RecallReason::Lost, now));
                // As above.
                let _ = answer.send(Verdict::Released);
            }
        }
        forgotten.len()
    }

    /// What the program should stop with.
    pub(super) fn recalls(&self, now: Time) -> Vec<Recall> {
        let state = self.lock();
        let told = state.held.iter().filter(|(_, held)| held.run.signal.is_told()).map(|(key, held)| {
            let aborted = held.run.signal.is_aborted();
            (*key, if aborted { RecallReason::Lost } else { RecallReason::Cancelled })
        });
        // A job that came back to the same program runs there again, and should not stop.
        let again = |job: JobId| state.held.range((job, 0)..=(job, u32::MAX)).next().is_some();
        let ended = state.ended.recalled(now - self.told_for).filter(|((job, _), _)| !again(*job));
        told.chain(ended).map(|((job, fence), reason)| Recall { job, fence, reason }).collect()
    }

    /// Takes and gives nothing more. What lies here goes back. The jobs that the program holds: these stay until they are
    /// recalled.
    pub(super) fn close(&self) -> Vec<JobId> {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
        let held = state.held.keys().map(|(job, _)| *job).collect();
        drop(state);
        self.look();
        held
    }
}
