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
use turnwise_drivers::store::{
    Agenda, Committed, Control, Found, Read, Ready, ReadyAnswer, Receipt, Sweep, Tail, Unit,
};

use crate::Error;
use crate::engine::{Inner, odd_answer};
use crate::loops::member::rescue_from;
use crate::loops::said;
use crate::schedules;

/// How long until the next look, at most: something may have come whose hint was lost.
const LOOK: Duration = Duration::from_secs(2);
/// How long to wait after a sweep that failed.
const AGAIN: Duration = Duration::from_millis(500);
/// How often old work is looked for.
const SLOW: Duration = Duration::from_secs(30);
/// Jobs in one commit of a sweep.
const CHUNK: usize = 1_000;
/// Commits of one kind of sweep before others get their turn.
const ROUNDS: usize = 20;

struct Sweeper {
    inner: Arc<Inner>,
    cancelled: BTreeSet<BatchId>,
    /// Something may have been handed in to the database itself. A store that can be handed something says it again and
    /// again, so a lost hint is no loss.
    handed_in: bool,
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
    let mut sweeper = Sweeper {
        inner: inner.clone(),
        cancelled: BTreeSet::new(),
        handed_in: true,
        batches: None,
        jobs: JobId::from_u64(0),
    };
    let mut slow_at = Time::ZERO;
    loop {
        let wait = if *leading.borrow_and_update() {
            let now = inner.runtime.now();
            let slow = now >= slow_at;
            if slow {
                slow_at = now + SLOW;
            }
            match sweeper.sweep(slow).await {
                Ok(wait) => wait.unwrap_or(LOOK).min(LOOK),
                Err(error) => {
                    tracing::warn!(%error, "the sweep failed; it goes on");
                    AGAIN
                }
            }
        } else {
            LOOK
        };
        tokio::select! {
            biased;
            () = said(&mut stop) => return,
            changed = leading.changed() => if changed.is_err() { return },
            hint = wait_for_news(&mut hints, &mut sweeper) => if !hint { return },
            () = inner.hub.schedules.notified() => {}
            () = inner.runtime.sleep_until(inner.runtime.now() + wait) => {}
        }
    }
}

/// Waits for a commit that the sweep must know of. `false` means that the store was closed.
async fn wait_for_news(
    hints: &mut tokio::sync::broadcast::Receiver<Arc<Committed>>,
    sweeper: &mut Sweeper,
) -> bool {
    loop {
        match hints.recv().await {
            Ok(committed) => {
                let mut news = committed.handed_in;
                sweeper.handed_in |= committed.handed_in;
                for event in &committed.events {
                    match event {
                        Event::Job { state: State::Scheduled | State::Retrying, .. } => news = true,
                        Event::BatchCancelled(batch) => news |= sweeper.cancelled.insert(*batch),
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
    async fn sweep(&mut self, slow: bool) -> Result<Option<Duration>, Error> {
        let agenda = self.ripen().await?;
        let now = agenda.now;
        self.cancel_batches().await?;
        self.take_in().await?;
        // Jobs of sessions that have ended are taken from them.
        let (ended, alive): (Vec<_>, Vec<_>) =
            agenda.sessions.into_iter().partition(|(_, until)| *until <= now);
        for (session, _) in ended {
            rescue_from(&self.inner, session).await?;
        }
        let next_tick = schedules::tick(&self.inner, agenda.schedules, now).await?;
        if slow {
            self.look_at_batches(now).await?;
            self.forget_jobs(now).await?;
            self.forget_events(now).await?;
            self.inner.commit_one(Unit::Sweep(Sweep::Expire)).await?;
            self.alarm().await?;
        }
        let next_end = alive.into_iter().map(|(_, until)| until).min();
        let next = agenda.next_due.into_iter().chain(next_tick).chain(next_end).min();
        Ok(next.map(|next| next.since(now)))
    }

    /// Jobs that are due become ready. What time brings about next.
    async fn ripen(&mut self) -> Result<Agenda, Error> {
        let mut rounds = 0;
        loop {
            let read = Read::Agenda { by: None, limit: CHUNK };
            let Found::Agenda(mut agenda) = self.inner.read(read).await? else { return Err(odd_answer()) };
            if agenda.due.is_empty() {
                return Ok(agenda);
            }
            self.inner.commit_one(Unit::Sweep(Sweep::Ripen(std::mem::take(&mut agenda.due)))).await?;
            rounds += 1;
            if rounds == ROUNDS {
                // The rest is due now.
                agenda.next_due = Some(agenda.now);
                return Ok(agenda);
            }
        }
    }

    /// What was handed in to the database itself becomes jobs.
    async fn take_in(&mut self) -> Result<(), Error> {
        while std::mem::take(&mut self.handed_in) {
            let taken = self
                .inner
                .commit_one(Unit::Sweep(Sweep::TakeIn))
                .await
                .inspect_err(|_| self.handed_in = true)?;
            self.handed_in = matches!(taken, Receipt::Changed(count) if count > 0);
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
    async fn look_at_batches(&mut self, now: Time) -> Result<(), Error> {
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
    async fn forget_jobs(&mut self, now: Time) -> Result<(), Error> {
        let cut = now - self.inner.config.keep_finished;
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
    async fn forget_events(&mut self, now: Time) -> Result<(), Error> {
        let cut = now - self.inner.config.keep_events;
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
            let oldest = page.events.first().map(|(cursor, ..)| cursor.block());
            // A commit that forgets nothing is no small thing for a fleet that has nothing else to do.
            let Some(keep) = young.or(last).filter(|keep| Some(*keep) > oldest) else { return Ok(()) };
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
