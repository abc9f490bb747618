//! Leases that kinds are bound to: held by one process at a time, and given up before they end.

use std::sync::Arc;

use tokio::sync::watch;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::leases::LeaseError;

use crate::loops::said;
use crate::loops::scheduler::{member_name, trust};
use crate::meter;
use crate::terms::{LeaseNews, LeaseTerms};
use crate::worker::Crew;

/// Asks for a lease, keeps it, and stops what runs under it when it is lost.
pub(crate) async fn hold(crew: Arc<Crew>, lease: Name, mut stop: watch::Receiver<bool>) {
    let inner = &crew.inner;
    let terms = inner.registry.terms(&lease);
    let mut held = Held { lease, holder: member_name(inner), terms, term: None };
    let span = held.terms.span;
    let mut trusted_until = Time::MAX;
    let mut resting = crew.resting.subscribe();
    loop {
        // A node that is drained leaves the right to another, as soon as nothing runs under it.
        if *resting.borrow_and_update() && !crew.runs_under(&held.lease) {
            held.give_up(&crew).await;
            trusted_until = Time::MAX;
            tokio::select! {
                biased;
                () = said(&mut stop) => return,
                _ = resting.changed() => continue,
            }
        }
        let asked = inner.runtime.now();
        let ask = async {
            match held.term {
                Some(term) => inner.leases.renew(&held.lease, term, span).await,
                None => inner.leases.acquire(&held.lease, &held.holder, span).await,
            }
        };
        // Who gets no answer stops in time all the same.
        let answer = tokio::select! {
            biased;
            answer = ask => Some(answer),
            () = inner.runtime.sleep_until(trusted_until) => None,
        };
        let wait = match answer {
            Some(Ok(lease)) => {
                trusted_until = asked + trust(span);
                crew.set_term(&held.lease, Some((lease.term, trusted_until)));
                held.gain(lease.term);
                crew.news.notify_one();
                // Who is drained looks often whether the last run under it has ended.
                if crew.is_resting() { held.terms.again() } else { held.terms.renew }
            }
            None | Some(Err(LeaseError::Refused(_))) => {
                held.lose(&crew, if answer.is_none() { "unanswered" } else { "refused" });
                trusted_until = Time::MAX;
                held.terms.again()
            }
            Some(Err(LeaseError::Store(error))) => {
                tracing::warn!(%error, lease = %held.lease, "a lease could not be asked for");
                if held.term.is_some_and(|_| crew.term(&held.lease, inner.runtime.now()).is_none()) {
                    held.lose(&crew, "unanswered");
                    trusted_until = Time::MAX;
                }
                held.terms.again()
            }
        };
        tokio::select! {
            biased;
            () = said(&mut stop) => break,
            _ = resting.changed() => {}
            () = inner.runtime.sleep_until(inner.runtime.now() + wait) => {}
        }
    }
    held.give_up(&crew).await;
}

/// A lease and whether this process holds it.
struct Held {
    lease: Name,
    holder: Name,
    terms: LeaseTerms,
    term: Option<u64>,
}

impl Held {
    fn gain(&mut self, term: u64) {
        if self.term.replace(term) == Some(term) {
            return;
        }
        meter::lease_taken(&self.lease);
        let (lease, holder, span) = (&*self.lease, &*self.holder, self.terms.span);
        self.terms.tell(LeaseNews::Acquired { lease, holder, term, span });
    }

    fn lose(&mut self, crew: &Crew, why: &'static str) {
        if let Some(term) = self.term.take() {
            tracing::warn!(lease = %self.lease, "a lease was lost; what ran under it is stopped");
            crew.set_term(&self.lease, None);
            crew.abort_under(&self.lease);
            self.tell_lost(term, why);
        }
    }

    /// At once for whoever comes next; if this fails, the lease runs out by itself.
    async fn give_up(&mut self, crew: &Crew) {
        if let Some(term) = self.term.take() {
            crew.set_term(&self.lease, None);
            self.tell_lost(term, "released");
            let _ = crew.inner.leases.release(&self.lease, term).await;
        }
    }

    fn tell_lost(&self, term: u64, why: &'static str) {
        let (lease, holder) = (&*self.lease, &*self.holder);
        self.terms.tell(LeaseNews::Lost { lease, holder, term, why });
    }
}
