//! The scheduler's loop: whoever holds its lease leads.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use turnwise_core::ids::SessionId;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_drivers::broker::{Consumer, Delivery, Settled};
use turnwise_drivers::leases::LeaseError;

use crate::Error;
use crate::engine::Inner;
use crate::flow::schedule::{Look, Scheduler};
use crate::flow::ticket::{decode, report_queue};
use crate::loops::said;
use crate::meter;

/// How often lost hints are looked for.
const LOOK: Duration = Duration::from_secs(2);
/// A look that took long is not taken again before so many times as long: a database that may not remove its dead rows
/// goes through all of them.
pub(crate) const SPARING: u32 = 20;
/// How long to wait before a lease that somebody else has is asked for again, at most.
const TICK: Duration = Duration::from_millis(500);
/// Looks between two looks at kinds, pauses and what runs, in case a hint was lost.
const SETTINGS: u32 = 2;
/// Looks between two looks at the weights of owners, of which there may be many.
const WEIGHTS: u32 = 16;
/// Hints and reports taken in before planning goes on.
const TAKEN: usize = 256;

/// The lease that the scheduler leads by.
pub(crate) fn lease_name() -> Name {
    Name::new("scheduler").expect("a fixed name is valid")
}

/// Leads whenever it may, until it is told to stop.
pub(crate) async fn run(inner: Arc<Inner>, mut stop: watch::Receiver<bool>, leading: watch::Sender<bool>) {
    let holder = member_name(&inner);
    loop {
        let span = inner.config.scheduler_lease;
        let asked = inner.runtime.now();
        let wait = match inner.leases.acquire(&lease_name(), &holder, span).await {
            Ok(lease) => {
                meter::lease_taken(&lease_name());
                leading.send_replace(true);
                let ended = lead(&inner, &mut stop, lease.term, asked + trust(span)).await;
                leading.send_replace(false);
                match ended {
                    Ok(()) => {
                        // At once for whoever comes next; if this fails, the lease runs out by itself.
                        let _ = inner.leases.release(&lease_name(), lease.term).await;
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "no longer the scheduler"),
                }
                TICK
            }
            Err(LeaseError::Refused(Refusal::LeaseHeld { .. })) => (span / 10).clamp(TICK / 5, TICK),
            Err(error) => {
                tracing::warn!(%error, "cannot ask for the scheduler's lease");
                TICK
            }
        };
        let again = inner.runtime.sleep_until(inner.runtime.now() + wait);
        tokio::select! {
            biased;
            () = said(&mut stop) => return,
            () = again => {}
        }
    }
}

/// How long a lease is trusted, counted from before it was asked for: it ends here before it ends there.
pub(crate) fn trust(span: Duration) -> Duration {
    span.mul_f32(0.8)
}

/// Who this process is to others.
pub(crate) fn member_name(inner: &Inner) -> Name {
    let session = inner.liveness.borrow().map_or(SessionId::from_u64(0), |liveness| liveness.session);
    holder_name(&inner.config.node, session)
}

/// How a session of a node is called as the holder of a lease.
pub(crate) fn holder_name(node: &str, session: SessionId) -> Name {
    Name::new(format!("{node}-{:x}", session.as_u64())).unwrap_or_else(|_| lease_name())
}

/// Plans until it is told to stop (`Ok`) or cannot trust its lease any more.
async fn lead(
    inner: &Arc<Inner>,
    stop: &mut watch::Receiver<bool>,
    term: u64,
    mut trusted_until: Time,
) -> Result<(), Error> {
    let span = inner.config.scheduler_lease;
    // Listen first, then load: nothing that happens in between is missed.
    let mut hints = inner.store.watch();
    inner.broker.declare(report_queue()).await?;
    let mut reports = inner.broker.consume(&report_queue().queue, TAKEN).await?;
    let mut scheduler = Scheduler::new(inner.clone());
    scheduler.load().await?;
    let mut renew_at = inner.runtime.now() + span / 3;
    let mut look_at = inner.runtime.now();
    let mut wake: Option<Time> = None;
    let mut looks = 0_u32;
    let mut look: Option<(Time, Look)> = None;
    loop {
        let now = inner.runtime.now();
        if now >= renew_at {
            renew_at = now + span / 3;
            match inner.leases.renew(&lease_name(), term, span).await {
                Ok(_) => trusted_until = now + trust(span),
                Err(LeaseError::Refused(refusal)) => return Err(refusal.into()),
                Err(error) if now >= trusted_until => return Err(error.into()),
                Err(error) => tracing::warn!(%error, "the scheduler's lease was not renewed; trying again"),
            }
        }
        // Not only at a look: the next wake-up is when the first ticket is too old, and would be now for ever.
        scheduler.expire(now);
        if now >= look_at {
            looks += 1;
            if looks.is_multiple_of(SETTINGS) {
                scheduler.mistrust_hints(looks.is_multiple_of(WEIGHTS));
            }
            look = Some((now, scheduler.look()));
            look_at = Time::MAX;
        }
        wake = scheduler.step().await?.or(wake.filter(|wake| *wake > now));
        let until = wake.unwrap_or(Time::MAX).min(look_at).min(renew_at);
        tokio::select! {
            biased;
            () = said(stop) => return Ok(()),
            delivery = reports.next() => take_reports(&mut scheduler, inner, &mut *reports, delivery).await?,
            (began, answer) = looked(&mut look) => {
                look = None;
                let ended = inner.runtime.now();
                look_at = ended + LOOK.max(ended.since(began) * SPARING);
                scheduler.looked(answer?)?;
            }
            hint = hints.recv() => match hint {
                Ok(committed) => scheduler.hint(&committed),
                Err(RecvError::Lagged(_)) => scheduler.load().await?,
                Err(RecvError::Closed) => return Ok(()),
            },
            () = inner.runtime.sleep_until(until) => {}
        }
        for _ in 0..TAKEN {
            match hints.try_recv() {
                Ok(committed) => scheduler.hint(&committed),
                Err(TryRecvError::Lagged(_)) => scheduler.load().await?,
                Err(_) => break,
            }
        }
        if let Some(delivery) = reports.next().now_or_never() {
            take_reports(&mut scheduler, inner, &mut *reports, delivery).await?;
        }
    }
}

/// Waits for the end of a look, if there is one. When it began, and what it found.
async fn looked(look: &mut Option<(Time, Look)>) -> (Time, <Look as Future>::Output) {
    match look {
        Some((began, look)) => (*began, look.await),
        None => std::future::pending().await,
    }
}

/// Takes in the report that came, and those that came with it.
async fn take_reports(
    scheduler: &mut Scheduler,
    inner: &Inner,
    reports: &mut dyn Consumer,
    first: Option<Delivery>,
) -> Result<(), Error> {
    let mut delivery = first;
    for _ in 0..TAKEN {
        let Some(message) = delivery else {
            return Err(Error::Config("the queue of reports was closed".into()));
        };
        if let Some(report) = decode(&message.body) {
            scheduler.report(report, inner.runtime.now());
        }
        reports.settle(message.tag, Settled::Done).await?;
        match reports.next().now_or_never() {
            Some(next) => delivery = next,
            None => return Ok(()),
        }
    }
    Ok(())
}
