//! Tickets become claims: [commit 2]. A ticket is acknowledged when its claim was answered.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use turnwise_core::ids::SessionId;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_drivers::broker::{Consumer, Settled};
use turnwise_drivers::store::{Claim, Outcome, Receipt, Unit};

use super::ticket::{Report, Ticket, Tickets, decode};
use crate::context::Run;
use crate::loops::said;
use crate::worker::{Crew, Served};

/// How long a line rests whose claim was refused for a reason that the scheduler could not know.
const REST: Duration = Duration::from_millis(50);

/// Messages of tickets that may be received and not yet acknowledged.
pub(crate) const AHEAD: usize = 64;

/// Receives tickets of one kind until the crew closes or the consumer ends. Whatever came while a commit was under
/// way goes into the next one together.
pub(crate) async fn receive(crew: &Arc<Crew>, kind: &Name, consumer: &mut dyn Consumer) {
    let mut closing = crew.closing.subscribe();
    let mut tickets: Vec<Ticket> = Vec::new();
    let mut tags = Vec::new();
    loop {
        let first = tokio::select! {
            biased;
            () = said(&mut closing) => return,
            delivery = consumer.next() => delivery,
        };
        let mut next = Some(first);
        while let Some(delivery) = next {
            let Some(delivery) = delivery else { return };
            tags.push(delivery.tag);
            if let Some(message) = decode::<Tickets>(&delivery.body) {
                tickets.extend(message.tickets);
            }
            next = if tags.len() < AHEAD { consumer.next().now_or_never() } else { None };
        }
        claim_all(crew, kind, &tickets).await;
        tickets.clear();
        // The claims were answered. Losing an acknowledgement only doubles tickets, which die at the claim.
        for tag in tags.drain(..) {
            if consumer.settle(tag, Settled::Done).await.is_err() {
                return;
            }
        }
    }
}

/// Claims what there are slots for, and hands the rest back.
async fn claim_all(crew: &Arc<Crew>, kind: &Name, tickets: &[Ticket]) {
    let Some(served) = crew.kinds.get(kind) else { return };
    let liveness = *crew.inner.liveness.borrow();
    let now = crew.inner.runtime.now();
    let trusted = liveness.filter(|liveness| liveness.trusted_until > now);
    let reserved = if trusted.is_some() { crew.reserve(&served.pool, tickets) } else { 0 };
    let (mine, others) = tickets.split_at(reserved);
    if !others.is_empty() {
        crew.hand_back(others.iter().copied());
    }
    let (Some(liveness), false) = (trusted, mine.is_empty()) else { return };
    let term = served.lease.as_ref().and_then(|lease| crew.term(lease, now));
    if served.lease.is_some() && term.is_none() {
        let rest =
            |report: &mut Report| report.blocked.extend(mine.iter().map(|&(job, v)| (job, v, now + REST)));
        crew.claimed(&served.pool, mine, &[], rest);
        return;
    }
    let session = liveness.session;
    let claim = |&(job, version): &Ticket| Unit::Claim(Claim { job, version, session, term });
    match crew.inner.commit(mine.iter().map(claim).collect()).await {
        Ok(outcomes) => begin(crew, served, mine, outcomes, (session, term)),
        Err(error) => {
            // Unknown or failed: whatever was claimed all the same is given back with the next beat. The
            // scheduler plans the rest again.
            tracing::warn!(%error, "claims failed");
            crew.claimed(&served.pool, mine, &[], |report| report.returned.extend_from_slice(mine));
        }
    }
}

/// Starts what was claimed and reports what was not.
fn begin(
    crew: &Arc<Crew>,
    served: &Served,
    tickets: &[Ticket],
    outcomes: Vec<Outcome>,
    (session, term): (SessionId, Option<u64>),
) {
    let now = crew.inner.runtime.now();
    let mut runs = Vec::with_capacity(outcomes.len());
    let mut refused: Vec<(Ticket, Refusal)> = Vec::new();
    let mut started = Vec::with_capacity(outcomes.len());
    for (&ticket, outcome) in tickets.iter().zip(outcomes) {
        match outcome {
            Ok(Receipt::Claimed(claimed)) => {
                started.push(ticket);
                let header = &claimed.header;
                served.meter.started(header.attempt == 1, header.at.since(header.submitted));
                crew.inner.hub.turns.taken(&claimed.line.owner);
                runs.push(Arc::new(Run::new(crew.inner.clone(), claimed)));
            }
            Ok(_) => {}
            Err(refusal) => refused.push((ticket, refusal)),
        }
    }
    let drained = refused.iter().any(|(_, refusal)| *refusal == Refusal::Draining);
    let starting = crew.claimed(&served.pool, tickets, &runs, |report| {
        report.started.extend(started);
        for ((job, version), refusal) in refused {
            match rest_until(&refusal, now) {
                Some(until) => report.blocked.push((job, version, until)),
                None => report.gone.push((job, version)),
            }
        }
    });
    if drained {
        crew.rest(true);
    }
    // An answer may come so late that the session or the lease it was claimed under cannot be trusted any more.
    let mine =
        crew.inner.is_trusted() && crew.inner.liveness.borrow().is_some_and(|now| now.session == session);
    let held = served.lease.as_ref().is_none_or(|lease| crew.term(lease, now) == term);
    if !(mine && held) {
        runs.iter().for_each(|run| run.signal.abort());
    }
    runs.into_iter().take(starting).for_each(|run| crew.start(run));
}

/// Until when a refused job's line rests; nothing if the job is not there to be claimed.
fn rest_until(refusal: &Refusal, now: Time) -> Option<Time> {
    match refusal {
        Refusal::RateReached(until) => Some((*until).max(now)),
        Refusal::CapReached
        | Refusal::Paused
        | Refusal::Draining
        | Refusal::StaleTerm(_)
        | Refusal::SessionEnded => Some(now + REST),
        Refusal::NotDue(due) => Some(*due),
        _ => None,
    }
}
