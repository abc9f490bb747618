//! Leases over any store: the store issues the terms and its clock judges, so that two processes never agree
//! on different holders. [`Holder`] is the holder's side of it.

use std::sync::Arc;
use std::time::Duration;

use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use crate::leases::{LeaseError, Leases};
use crate::store::{Answer, Found, LeaseUnit, Read, Receipt, Session, Store, StoreError, Unit, commit_one};

/// Leases that are rows of a store.
pub struct StoreLeases {
    store: Arc<dyn Store>,
}

impl StoreLeases {
    /// Leases in this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        StoreLeases { store }
    }

    async fn commit(&self, unit: LeaseUnit) -> Result<Lease, LeaseError> {
        match commit_one(&*self.store, Unit::Lease(unit)).await? {
            Ok(Receipt::Leased(lease)) => Ok(lease),
            Ok(_) => Err(broken()),
            Err(refusal) => Err(LeaseError::Refused(refusal)),
        }
    }

    async fn living(&self) -> Result<Vec<Session>, LeaseError> {
        // The time is asked for first: if this process is held up between the two, it names somebody who has
        // just ended, instead of nobody at all because all beats look old.
        let Found::Clock(now) = self.store.read(Read::Clock).await? else { return Err(broken()) };
        let Found::Sessions(mut sessions) = self.store.read(Read::Sessions).await? else {
            return Err(broken());
        };
        sessions.retain(|session| session.until > now);
        Ok(sessions)
    }
}

fn broken() -> LeaseError {
    StoreError::Broken("it answered something else than it was asked".into()).into()
}

impl Leases for StoreLeases {
    fn acquire(&self, name: &Name, holder: &Name, span: Duration) -> Answer<'_, Result<Lease, LeaseError>> {
        let unit = LeaseUnit::Acquire { name: name.clone(), holder: holder.clone(), span };
        Box::pin(self.commit(unit))
    }

    fn renew(&self, name: &Name, term: u64, span: Duration) -> Answer<'_, Result<Lease, LeaseError>> {
        Box::pin(self.commit(LeaseUnit::Renew { name: name.clone(), term, span }))
    }

    fn release(&self, name: &Name, term: u64) -> Answer<'_, Result<(), LeaseError>> {
        let unit = LeaseUnit::Release { name: name.clone(), term };
        Box::pin(async move { self.commit(unit).await.map(drop) })
    }

    fn members(&self) -> Answer<'_, Result<Vec<Session>, LeaseError>> {
        Box::pin(self.living())
    }
}

/// A lease as its holder sees it, on the holder's own clock, which must never go back.
///
/// The store counts the span from when it takes a request, and that is never before the request was sent. So
/// a holder that counts from before it sent the request, and takes a margin off for clocks that run at
/// different speeds, stops trusting itself before the store gives the lease to somebody else. Answers may be
/// late, lost or out of order: trust is never longer than what was granted.
#[derive(Clone, Debug)]
pub struct Holder {
    lease: Lease,
    span: Duration,
    margin: Duration,
    /// Until when, on the holder's clock; nothing once the lease is known to be lost.
    trusted_until: Option<Time>,
}

impl Holder {
    /// A lease was granted for a span. `asked` is the time before the request was sent.
    pub fn new(lease: Lease, asked: Time, span: Duration, margin: Duration) -> Self {
        Holder { lease, span, margin, trusted_until: Some(trust(asked, span, margin)) }
    }

    /// More time was granted, for the same span. An answer about another term says nothing about this one.
    pub fn renewed(&mut self, lease: &Lease, asked: Time) {
        if lease.term != self.lease.term {
            return;
        }
        if let Some(until) = &mut self.trusted_until {
            *until = trust(asked, self.span, self.margin).max(*until);
            self.lease.until = self.lease.until.max(lease.until);
        }
    }

    /// The lease was refused or given back: trust ends at once, whatever answers are still under way.
    pub fn lost(&mut self) {
        self.trusted_until = None;
    }

    /// Whether the holder may still act as such.
    pub fn is_trusted(&self, now: Time) -> bool {
        self.trusted_until.is_some_and(|until| now < until)
    }

    /// When the holder must have stopped, on its own clock; nothing if it is to stop at once.
    pub fn trusted_until(&self) -> Option<Time> {
        self.trusted_until
    }

    /// The lease as it was last granted.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The term to sign with.
    pub fn term(&self) -> u64 {
        self.lease.term
    }
}

/// The end of trust. A margin as long as the span leaves none.
fn trust(asked: Time, span: Duration, margin: Duration) -> Time {
    asked + span.saturating_sub(margin)
}

#[cfg(test)]
mod tests {
    use turnwise_core::time::{millis, secs};

    use super::*;

    const SPAN: Duration = secs(10);
    const MARGIN: Duration = secs(1);

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    fn lease(term: u64, until: Time) -> Lease {
        Lease { name: Name::new("leader").unwrap(), holder: Name::new("a").unwrap(), term, until }
    }

    fn held() -> Holder {
        Holder::new(lease(3, at(1_010)), at(100), SPAN, MARGIN)
    }

    #[test]
    fn trust_ends_a_margin_before_the_lease() {
        let holder = held();
        assert_eq!((holder.term(), holder.trusted_until()), (3, Some(at(109))));
        assert!(holder.is_trusted(at(109) - millis(1)));
        assert!(!holder.is_trusted(at(109)));
    }

    #[test]
    fn it_is_counted_from_before_the_request_however_late_the_answer() {
        let mut holder = held();
        // Sent at 103, answered at 108: the five seconds on the way are gone.
        holder.renewed(&lease(3, at(1_015)), at(103));
        assert_eq!(holder.trusted_until(), Some(at(112)));
        assert_eq!(holder.lease().until, at(1_015));
    }

    #[test]
    fn an_answer_after_the_end_of_trust_brings_it_back_only_as_far_as_granted() {
        let mut holder = held();
        assert!(!holder.is_trusted(at(110)));
        holder.renewed(&lease(3, at(1_014)), at(102));
        assert!(holder.is_trusted(at(110)) && !holder.is_trusted(at(111)));
    }

    #[test]
    fn answers_out_of_order_take_nothing_away() {
        let mut holder = held();
        holder.renewed(&lease(3, at(1_016)), at(106));
        holder.renewed(&lease(3, at(1_013)), at(103));
        assert_eq!((holder.trusted_until(), holder.lease().until), (Some(at(115)), at(1_016)));
    }

    #[test]
    fn another_term_is_another_lease() {
        let mut holder = held();
        holder.renewed(&lease(4, at(1_020)), at(108));
        assert_eq!((holder.term(), holder.trusted_until()), (3, Some(at(109))));
    }

    #[test]
    fn what_is_lost_stays_lost() {
        let mut holder = held();
        holder.lost();
        assert!(!holder.is_trusted(at(100)));
        holder.renewed(&lease(3, at(1_014)), at(104));
        assert_eq!(holder.trusted_until(), None);
    }

    #[test]
    fn a_margin_as_long_as_the_span_leaves_no_trust() {
        let holder = Holder::new(lease(1, at(1_010)), at(100), SPAN, SPAN + SPAN);
        assert!(!holder.is_trusted(at(100)));
    }
}
