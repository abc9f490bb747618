//! The member's loop: one heartbeat for all that this process claims.
//!
//! What can be trusted is counted from before the request was sent, and ends before the session does; rescue comes
//! after that, on the store's clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::store::{
    Found, LeaseUnit, Read, Receipt, Roles, SessionUnit, Settle, Submission, Sweep, Unit, Verdict,
};

use crate::Error;
use crate::engine::{Inner, Liveness, odd_answer};
use crate::loops::scheduler::{SPARING, trust};
use crate::meter;
use crate::worker::Crew;

/// How long to wait before a store that failed is asked again.
const AGAIN: Duration = Duration::from_millis(200);
/// Beats without a look while nothing runs here: what does not run cannot be cancelled, and a claim whose
/// answer was lost is rare.
const CALM: u32 = 3;

/// When claims are looked after.
#[derive(Default)]
struct Looks {
    /// Not before this time, so that a slow store is spared.
    at: Time,
    /// Nor with so many beats, unless something runs or this node is drained.
    skip: u32,
}

impl Looks {
    fn is_due(&mut self, now: Time, crew: &Crew) -> bool {
        let calm = crew.is_idle() && !crew.is_resting();
        if now < self.at || (calm && self.skip > 0) {
            self.skip = self.skip.saturating_sub(1);
            return false;
        }
        self.skip = if calm { CALM } else { 0 };
        true
    }
}

/// Opens a new session with the kinds and slots that are registered now. The one before is closed.
pub(crate) async fn join(inner: &Arc<Inner>) -> Result<(), Error> {
    let before = *inner.liveness.borrow();
    let id = SessionId::from_u64(inner.runtime.random());
    let span = inner.config.session;
    let asked = inner.runtime.now();
    let roles = roles(inner);
    let open = SessionUnit::Open {
        id,
        node: Name::new(&inner.config.node)?,
        // Whoever runs nothing offers nothing.
        pools: if roles.worker { inner.registry.pools() } else { BTreeMap::new() },
        kinds: if roles.worker { inner.registry.names() } else { BTreeSet::new() },
        roles,
        span,
    };
    match inner.commit_one(Unit::Session(open)).await? {
        Receipt::Numbered(number) => inner.set_number(number),
        _ => return Err(odd_answer()),
    }
    inner.liveness.send_replace(Some(Liveness { session: id, trusted_until: asked + trust(span) }));
    if let Some(before) = before {
        inner.commit_one(Unit::Session(SessionUnit::Close { id: before.session })).await?;
    }
    Ok(())
}

/// What this process does now: one that was not started, or has stopped, neither plans nor runs anything.
fn roles(inner: &Inner) -> Roles {
    let started = inner.hub.crew.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    let Roles { api, scheduler, worker } = inner.config.roles;
    Roles { api, scheduler: scheduler && started, worker: worker && started }
}

/// Beats until the engine ends.
pub(crate) async fn run(inner: Arc<Inner>, mut ended: watch::Receiver<bool>) {
    let beat = inner.config.beat;
    let mut wait = beat;
    let mut looks = Looks::default();
    loop {
        let next = inner.runtime.sleep_until(inner.runtime.now() + wait);
        tokio::select! {
            biased;
            _ = ended.changed() => break,
            () = next => {}
        }
        wait = match beat_once(&inner, &mut looks).await {
            true => beat,
            false => beat / 4,
        };
    }
    let liveness = *inner.liveness.borrow();
    if let Some(Liveness { session, .. }) = liveness {
        // If this fails, the session runs out by itself.
        let _ = inner.commit_one(Unit::Session(SessionUnit::Close { id: session })).await;
    }
}

/// One beat. Whether it was heard.
async fn beat_once(inner: &Arc<Inner>, looks: &mut Looks) -> bool {
    let liveness = *inner.liveness.borrow();
    let Some(Liveness { session, trusted_until }) = liveness else {
        return rejoin(inner).await;
    };
    let span = inner.config.session;
    let asked = inner.runtime.now();
    let beat = Unit::Session(SessionUnit::Beat { id: session, span });
    match inner.commit_one(beat).await {
        Ok(_) => {
            let renewed = Liveness { session, trusted_until: asked + trust(span) };
            // A session that was replaced meanwhile stays replaced.
            inner.liveness.send_if_modified(|now| {
                let mine = now.is_some_and(|now| now.session == session);
                if mine {
                    *now = Some(renewed);
                }
                mine
            });
            let began = inner.runtime.now();
            let crew = inner.hub.crew.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(crew) = crew.filter(|crew| looks.is_due(began, crew)) {
                look_after_claims(inner, &crew, session).await;
                look_after_rest(inner, &crew).await;
                let ended = inner.runtime.now();
                looks.at = ended + ended.since(began) * SPARING;
            }
            true
        }
        Err(Error::Refused(refusal)) => {
            tracing::warn!(%session, %refusal, "this process was taken for dead; it begins anew");
            inner.liveness.send_if_modified(|now| now.take_if(|now| now.session == session).is_some());
            rejoin(inner).await
        }
        Err(error) => {
            let left = trusted_until.since(inner.runtime.now());
            tracing::warn!(%error, ?left, "a heartbeat failed");
            if left == Duration::ZERO {
                inner.liveness.send_if_modified(|now| now.take_if(|now| now.session == session).is_some());
            }
            false
        }
    }
}

async fn rejoin(inner: &Arc<Inner>) -> bool {
    match join(inner).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "cannot open a session");
            false
        }
    }
}

/// Handlers whose job was cancelled are told with the beat too, in case the hint was lost. Jobs that nobody here has
/// to do with are given back: their claim was answered with an error although it was committed, and as long as this
/// session lives nobody would rescue them.
async fn look_after_claims(inner: &Arc<Inner>, crew: &Crew, session: SessionId) {
    let Ok(Found::Jobs(rows)) = inner.store.read(Read::Running(session)).await else { return };
    rows.iter().filter(|row| row.header.flags.cancel).for_each(|row| crew.tell_cancel(row.header.id));
    let lost = rows.iter().map(|row| &row.header).filter(|header| !crew.knows(header.id, header.fence));
    let give_back = |header: &Header| {
        // One that has ended since it was read is at another fence, and refuses.
        let (job, fence) = (header.id, header.fence);
        Unit::Settle(Settle { job, fence, verdict: Verdict::Released, submission: Submission::default() })
    };
    let units: Vec<Unit> = lost.map(give_back).collect();
    if units.is_empty() {
        return;
    }
    tracing::warn!(%session, jobs = units.len(), "claims whose answer was lost are given back");
    if let Err(error) = inner.commit(units).await {
        tracing::warn!(%error, "they could not be given back; the next beat tries again");
    }
}

/// A node hears that it is drained when a claim is refused, which costs nothing until then; that it is over, it asks
/// with each beat.
async fn look_after_rest(inner: &Arc<Inner>, crew: &Crew) {
    if !crew.is_resting() {
        return;
    }
    let Ok(node) = Name::new(&inner.config.node) else { return };
    if let Ok(Found::Pauses(pauses)) = inner.store.read(Read::Pauses).await {
        crew.rest(pauses.drains(&node));
    }
}

/// The store is ours alone, so every session and every lease in it belongs to a process that is gone: its jobs and
/// its rights are free at once.
pub(crate) async fn end_earlier_lives(inner: &Arc<Inner>) -> Result<(), Error> {
    let Found::Sessions(sessions) = inner.read(Read::Sessions).await? else { return Err(odd_answer()) };
    for session in sessions {
        inner.commit_one(Unit::Session(SessionUnit::Close { id: session.id })).await?;
        rescue_from(inner, session.id).await?;
    }
    let now = inner.store_time().await?;
    let Found::Leases(leases) = inner.read(Read::Leases).await? else { return Err(odd_answer()) };
    for lease in leases.into_iter().filter(|lease| lease.until > now) {
        let release = LeaseUnit::Release { name: lease.name, term: lease.term };
        inner.commit_one(Unit::Lease(release)).await?;
    }
    Ok(())
}

/// Ends the session of a process that is dead, and takes these jobs from it in the same commit: nobody comes in between
/// who would only give them back. If the store is over, the session runs out by itself.
pub(crate) async fn end_as_dead(inner: &Arc<Inner>, jobs: &[JobId]) {
    let Some(Liveness { session, .. }) = *inner.liveness.borrow() else { return };
    let end = std::iter::once(Unit::Session(SessionUnit::Close { id: session }));
    let units: Vec<Unit> =
        end.chain(jobs.iter().map(|job| Unit::Sweep(Sweep::Rescue(*job, session)))).collect();
    loop {
        match inner.commit(units.clone()).await {
            Ok(_) => return,
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, %session, "a session could not be ended; trying again");
                inner.runtime.sleep_until(inner.runtime.now() + AGAIN).await;
            }
            Err(error) => {
                tracing::error!(%error, %session, "a session was not ended; it runs out");
                return;
            }
        }
    }
}

/// Takes every job from a session that has ended, and forgets it.
pub(crate) async fn rescue_from(inner: &Arc<Inner>, session: SessionId) -> Result<(), Error> {
    let Found::Jobs(rows) = inner.read(Read::Running(session)).await? else { return Err(odd_answer()) };
    for part in rows.chunks(1_000) {
        let units = part.iter().map(|row| Unit::Sweep(Sweep::Rescue(row.header.id, session))).collect();
        for outcome in inner.commit(units).await? {
            match outcome {
                Ok(_) => meter::rescued(1),
                Err(refusal) => tracing::warn!(%session, %refusal, "a job was not rescued"),
            }
        }
    }
    inner.commit_one(Unit::Sweep(Sweep::Bury(session))).await.map(drop)
}
