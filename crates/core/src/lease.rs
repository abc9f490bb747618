//! A lease is a named right with an end and a term. Terms only grow, and they are issued where the truth is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Time;

/// A lease as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The right.
    pub name: Name,
    /// Who has it.
    pub holder: Name,
    /// Which holding this is; an older one is refused everywhere.
    pub term: u64,
    /// Until when, on the store's clock.
    pub until: Time,
}

impl Lease {
    /// Somebody asks for the lease. The same holder asking again gets a new term, because it may be a new
    /// life of that process that knows nothing of the old one.
    pub fn acquire(
        current: Option<&Lease>,
        name: &Name,
        holder: &Name,
        span: Duration,
        now: Time,
    ) -> Result<Lease, Refusal> {
        if let Some(lease) = current.filter(|lease| lease.until > now && lease.holder != *holder) {
            return Err(Refusal::LeaseHeld {
                name: name.clone(),
                holder: lease.holder.clone(),
                until: lease.until,
            });
        }
        let term = current.map_or(0, |lease| lease.term) + 1;
        Ok(Lease { name: name.clone(), holder: holder.clone(), term, until: now + span })
    }

    /// The holder asks for more time. A lease that has ended is not renewed: somebody may have relied on it.
    pub fn renew(&self, term: u64, span: Duration, now: Time) -> Result<Lease, Refusal> {
        self.check(term, now)?;
        Ok(Lease { until: now + span, ..self.clone() })
    }

    /// The holder gives it back before its time.
    pub fn release(&self, term: u64, now: Time) -> Result<Lease, Refusal> {
        self.check(term, now)?;
        Ok(Lease { until: now, ..self.clone() })
    }

    /// Refuses any term but the current one, and any after its end.
    pub fn check(&self, term: u64, now: Time) -> Result<(), Refusal> {
        if self.term != term || self.until <= now {
            return Err(Refusal::StaleTerm(self.name.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn one_holder_and_growing_terms() {
        let now = Time::from_millis(1_000);
        let first = Lease::acquire(None, &name("leader"), &name("a"), SPAN, now).unwrap();
        assert_eq!((first.term, first.until), (1, now + SPAN));
        let refused = Lease::acquire(Some(&first), &name("leader"), &name("b"), SPAN, now);
        assert!(matches!(refused, Err(Refusal::LeaseHeld { .. })));
        let later = now + SPAN;
        let second = Lease::acquire(Some(&first), &name("leader"), &name("b"), SPAN, later).unwrap();
        assert_eq!(second.term, 2);
        assert!(second.check(1, later).is_err());
        assert!(first.renew(1, SPAN, later).is_err(), "what has ended is not renewed");
    }

    #[test]
    fn a_new_life_of_the_same_holder_gets_a_new_term() {
        let now = Time::from_millis(1_000);
        let first = Lease::acquire(None, &name("leader"), &name("a"), SPAN, now).unwrap();
        let again = Lease::acquire(Some(&first), &name("leader"), &name("a"), SPAN, now).unwrap();
        assert_eq!(again.term, 2);
        assert!(again.check(1, now).is_err());
    }

    #[test]
    fn given_back_is_free_at_once() {
        let now = Time::from_millis(1_000);
        let first = Lease::acquire(None, &name("leader"), &name("a"), SPAN, now).unwrap();
        let released = first.release(1, now).unwrap();
        assert!(Lease::acquire(Some(&released), &name("leader"), &name("b"), SPAN, now).is_ok());
        assert!(released.check(1, now).is_err());
    }
}
