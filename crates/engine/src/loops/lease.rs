//! Leases that kinds are bound to: held by one process at a time, and given up before they end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::leases::LeaseError;

use crate::loops::said;
use crate::loops::scheduler::{member_name, trust};
use crate::meter;
use crate::worker::Crew;

/// A lease of this kind lasts so long, and is renewed at half of it.
const SPAN: Duration = Duration::from_secs(30);

/// Asks for a lease, keeps it, and stops what runs under it when it is lost.
pub(crate) async fn hold(crew: Arc<Crew>, lease: Name, mut stop: watch::Receiver<bool>) {
    let inner = &crew.inner;
    let holder = member_name(inner);
    let mut term = None;
    let mut trusted_until = Time::MAX;
    let mut resting = crew.resting.subscribe();
    loop {
        // A node that is drained leaves the right to another, as soon as nothing runs under it.
        if *resting.borrow_and_update() && !crew.runs_under(&lease) {
            if let Some(term) = term.take() {
                give_up(&crew, &lease, term).await;
            }
            trusted_until = Time::MAX;
            tokio::select! {
                biased;
                () = said(&mut stop) => return,
                _ = resting.changed() => continue,
            }
        }
        let asked = inner.runtime.now();
        let ask = async {
            match term {
                Some(term) => inner.leases.renew(&lease, term, SPAN).await,
                None => inner.leases.acquire(&lease, &holder, SPAN).await,
            }
        };
        // Who gets no answer stops in time all the same.
        let answer = tokio::select! {
            biased;
            answer = ask => Some(answer),
            () = inner.runtime.sleep_until(trusted_until) => None,
        };
        let wait = match answer {
            Some(Ok(held)) => {
                if term != Some(held.term) {
                    meter::lease_taken(&lease);
                }
                term = Some(held.term);
                trusted_until = asked + trust(SPAN);
                crew.set_term(&lease, Some((held.term, trusted_until)));
                crew.news.notify_one();
                // Who is drained looks often whether the last run under it has ended.
                if crew.is_resting() { SPAN / 30 } else { SPAN / 2 }
            }
            None | Some(Err(LeaseError::Refused(_))) => {
                lose(&crew, &lease, &mut term);
                trusted_until = Time::MAX;
                SPAN / 30
            }
            Some(Err(LeaseError::Store(error))) => {
                tracing::warn!(%error, %lease, "a lease could not be asked for");
                if term.is_some_and(|_| crew.term(&lease, inner.runtime.now()).is_none()) {
                    lose(&crew, &lease, &mut term);
                    trusted_until = Time::MAX;
                }
                SPAN / 30
            }
        };
        tokio::select! {
            biased;
            () = said(&mut stop) => break,
            _ = resting.changed() => {}
            () = inner.runtime.sleep_until(inner.runtime.now() + wait) => {}
        }
    }
    if let Some(term) = term {
        give_up(&crew, &lease, term).await;
    }
}

/// At once for whoever comes next; if this fails, the lease runs out by itself.
async fn give_up(crew: &Crew, lease: &Name, term: u64) {
    crew.set_term(lease, None);
    let _ = crew.inner.leases.release(lease, term).await;
}

fn lose(crew: &Crew, lease: &Name, term: &mut Option<u64>) {
    if term.take().is_some() {
        tracing::warn!(%lease, "a lease was lost; what ran under it is stopped");
        crew.set_term(lease, None);
        crew.abort_under(lease);
    }
}
