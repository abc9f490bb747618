//! The sweep: what time alone brings about. Only the leading scheduler sweeps, but nothing breaks if two do: the
//! store judges each of these.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use turnwise_core::batch::Phase;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{BatchId, JobId, first_id_at};
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Committed, Control, Found, Read, Ready, ReadyAnswer, Sweep, Tail, Unit};

use crate::Error;
use crate::engine::{Inner, odd_answer};
use crate::loops::member::rescue_from;
use crate::loops::said;
use crate::schedules;

/// How often dead sessions and cancelled batches are looked for.
const TICK: Duration = Duration::from_millis(500);
/// How often old work is looked for.
const SLOW: Duration = Duration::from_secs(30);
/// Jobs in one commit of a sweep.
const CHUNK: usize = 1_000;
/// Commits of one kind of sweep before others get their turn.
const ROUNDS: usize = 20;

struct Sweeper {
    inner: Arc<Inner>,
    cancelled: BTreeSet<BatchId>,
    /// Where the look through old batches goes on.
    batches: Option<BatchId>,
    /// Where the look through old jobs goes on.
    jobs: JobId,
}

/// Sweeps while this process leads, until it is told to stop.
pub(crate) async fn run(
    inner: Arc<Inner>,
    mut stop: watch::Receiver<bool>,
    mut leading: watch::Receiver<bool>,
) {
    let mut hints = inner.store.watch();
    let mut sweeper =
        Sweeper { inner: inner.clone(), cancelled: BTreeSet::new(), batches: None, jobs: JobId::from_u64(0) };
    let (mut tick_at, mut slow_at) = (Time::ZERO, Time::ZERO);
    let mut wake = Time::ZERO;
    loop {
        if *leading.borrow_and_update() {
            let now = inner.runtime.now();
            let swept = sweeper.sweep(now >= tick_at, now >= slow_at).await;
            if now >= tick_at {
                tick_at = now + TICK;
            }
            if now >= slow_at {
                slow_at = now + SLOW;
            }
            wake = match swept {
                Ok(next) => next.map_or(tick_at, |wait| (inner.runtime.now() + wait).min(tick_at)),
                Err(error) => {
                    tracing::warn!(%error, "the sweep failed; it goes on");
                    now + TICK
                }
            };
        } else {
            wake = wake.max(inner.runtime.now() + TICK);
        }
        tokio::select! {
            biased;
            () = said(&mut stop) => return,
            changed = leading.changed() => if changed.is_err() { return },
            hint = wait_for_news(&mut hints, &mut sweeper.cancelled) => if !hint { return },
            () = inner.hub.schedules.notified() => tick_at = Time::ZERO,
            () = inner.runtime.sleep_until(wake) => {}
        }
    }
}

/// Waits for a commit that the sweep must know of. `false` means that the store was closed.
async fn wait_for_news(
    hints: &mut tokio::sync::broadcast::Receiver<Arc<Committed>>,
    cancelled: &mut BTreeSet<BatchId>,
) -> bool {
    loop {
        match hints.recv().await {
            Ok(committed) => {
                let mut news = false;
                for event in &committed.events {
                    match event {
                        Event::Job { state: State::Scheduled | State::Retrying, .. } => news = true,
                        Event::BatchCancelled(batch) => news |= cancelled.insert(*batch),
                        _ => {}
                    }
                }
                if news {
                    return true;
                }
            }
            Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

impl Sweeper {
    /// Sweeps what is due. How long until something is due again.
    async fn sweep(&mut self, tick: bool, slow: bool) -> Result<Option<Duration>, Error> {
        let mut wait = self.ripen().await?;
        self.cancel_batches().await?;
        if tick {
            self.rescue().await?;
            let next_tick = schedules::tick(&self.inner).await?;
            wait = wait.into_iter().chain(next_tick).min();
        }
        if slow {
            self.look_at_batches().await?;
            self.forget_jobs().await?;
            self.forget_events().await?;
            self.inner.commit_one(Unit::Sweep(Sweep::Expire)).await?;
            self.alarm().await?;
        }
        Ok(wait)
    }

    /// Jobs that are due become ready. How long until the next is.
    async fn ripen(&mut self) -> Result<Option<Duration>, Error> {
        for _ in 0..ROUNDS {
            let by = self.inner.store_time().await?;
            let Found::Ids { ids, next, .. } = self.inner.read(Read::Due { by, limit: CHUNK }).await? else {
                return Err(odd_answer());
            };
            if ids.is_empty() {
                return Ok(next.map(|next| next.since(by)));
            }
            self.inner.commit_one(Unit::Sweep(Sweep::Ripen(ids))).await?;
        }
        Ok(Some(Duration::ZERO))
    }

    /// Jobs of sessions that have ended are taken from them.
    async fn rescue(&mut self) -> Result<(), Error> {
        let now = self.inner.store_time().await?;
        let Found::Sessions(sessions) = self.inner.read(Read::Sessions).await? else {
            return Err(odd_answer());
        };
        for session in sessions.into_iter().filter(|session| session.until <= now) {
            rescue_from(&self.inner, session.id).await?;
        }
        Ok(())
    }

    /// Jobs of cancelled batches end.
    async fn cancel_batches(&mut self) -> Result<(), Error> {
        while let Some(batch) = self.cancelled.first().copied() {
            let mut after = None;
            loop {
                let read = Read::BatchJobs { batch, after, limit: CHUNK };
                let Found::Ids { ids, after: more, .. } = self.inner.read(read).await? else {
                    return Err(odd_answer());
                };
                if !ids.is_empty() {
                    self.inner.commit_one(Unit::Sweep(Sweep::CancelJobs(ids))).await?;
                }
                after = more;
                if after.is_none() {
                    break;
                }
            }
            self.cancelled.remove(&batch);
        }
        Ok(())
    }

    /// One page of batches: cancelled ones whose hint was lost, open ones that nobody seals, old ones.
    async fn look_at_batches(&mut self) -> Result<(), Error> {
        let now = self.inner.store_time().await?;
        for _ in 0..ROUNDS {
            let read = Read::Batches { before: self.batches, limit: CHUNK };
            let Found::Batches(batches) = self.inner.read(read).await? else { return Err(odd_answer()) };
            let mut units = Vec::new();
            for batch in &batches {
                match batch.phase {
                    Phase::Open if now.since(batch.opened) > limits::OPEN_BATCH => {
                        units.push(Unit::Control(Control::CancelBatch(batch.id)));
                    }
                    Phase::Sealed if batch.cancel => drop(self.cancelled.insert(batch.id)),
                    Phase::Settled if now.since(batch.settled) > self.inner.config.keep_finished => {
                        units.push(Unit::Sweep(Sweep::ForgetBatch(batch.id)));
                    }
                    _ => {}
                }
            }
            if !units.is_empty() {
                self.inner.commit(units).await?;
            }
            self.batches = batches.last().map(|batch| batch.id).filter(|_| batches.len() == CHUNK);
            if self.batches.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Ended jobs are forgotten after their time. Dead letters stay until somebody replays or cancels them.
    async fn forget_jobs(&mut self) -> Result<(), Error> {
        let cut = self.inner.store_time().await? - self.inner.config.keep_finished;
        let below = JobId::from_u64(first_id_at(cut));
        for _ in 0..ROUNDS {
            let read = Read::Ended { after: self.jobs, below, limit: CHUNK };
            let Found::Ids { ids, after, .. } = self.inner.read(read).await? else {
                return Err(odd_answer());
            };
            if !ids.is_empty() {
                let Found::Jobs(rows) = self.inner.read(Read::Jobs(ids)).await? else {
                    return Err(odd_answer());
                };
                let old = rows.iter().filter(|row| row.header.state != State::Dead && row.header.at < cut);
                let ids: Vec<JobId> = old.map(|row| row.header.id).collect();
                self.inner.commit_one(Unit::Sweep(Sweep::Forget(ids))).await?;
            }
            match after {
                Some(after) => self.jobs = after,
                None => {
                    self.jobs = JobId::from_u64(0);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Events are forgotten after their time, but never the last block: a reader that has read it has missed
    /// nothing.
    async fn forget_events(&mut self) -> Result<(), Error> {
        let cut = self.inner.store_time().await? - self.inner.config.keep_events;
        let mut after = Cursor::START;
        for _ in 0..ROUNDS {
            let page = match self.inner.store.tail(after, CHUNK).await? {
                Tail::Page(page) => page,
                Tail::Gone { oldest } => {
                    after = oldest;
                    continue;
                }
            };
            let young = page.events.iter().find(|(_, at, _)| *at >= cut).map(|(cursor, ..)| cursor.block());
            let last = page.events.last().map(|(cursor, ..)| cursor.block());
            let Some(keep) = young.or(last).filter(|keep| *keep > 0) else { return Ok(()) };
            self.inner.commit_one(Unit::Sweep(Sweep::Trim(Cursor::new(keep - 1, 0)))).await?;
            if young.is_some() || page.events.len() < CHUNK {
                return Ok(());
            }
            after = page.next;
        }
        Ok(())
    }

    /// Ready work that no living worker has a handler for.
    async fn alarm(&mut self) -> Result<(), Error> {
        let Found::Sessions(sessions) = self.inner.read(Read::Sessions).await? else {
            return Err(odd_answer());
        };
        let served: BTreeSet<_> = sessions.into_iter().flat_map(|session| session.kinds).collect();
        let ready = Ready::Lines { after: None, limit: CHUNK };
        let ReadyAnswer::Lines(lines) = self.inner.store.ready(ready).await? else {
            return Err(odd_answer());
        };
        let unserved =
            lines.into_iter().map(|(_, line)| line.kind.clone()).filter(|kind| !served.contains(kind));
        self.inner.hub.set_alarms(unserved.collect());
        Ok(())
    }
}
