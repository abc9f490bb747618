//! What is around jobs: sessions, leases, kinds, and the answers to submissions.

use turnwise_core::time::Time;
use turnwise_drivers::store::{LeaseUnit, NewJob, Receipt, SessionUnit, Submitted, Unit};

use super::{LeaseShadow, Seen, SessionShadow, Shadow};
use crate::outside::Active;
use crate::world::{Broken, broken};

impl Shadow {
    pub(super) fn around(&mut self, unit: &Unit, receipt: &Receipt, seen: &Seen<'_>) -> Result<(), Broken> {
        match (unit, receipt) {
            (Unit::Declare(kind), _) => {
                self.kinds.insert(kind.name.clone(), kind.clone());
                Ok(())
            }
            (Unit::Session(unit), _) => self.session(unit, seen),
            (Unit::Lease(unit), Receipt::Leased(lease)) => {
                let granted = LeaseShadow {
                    holder: lease.holder.clone(),
                    process: seen.process,
                    term: lease.term,
                    until: lease.until,
                };
                self.lease(unit, granted, seen)
            }
            (Unit::Schedule(name, None), _) => {
                self.unscheduled.insert(name.clone());
                Ok(())
            }
            (Unit::Schedule(name, Some(_)), _) if self.unscheduled.contains(name) => {
                broken(0, format!("{name} was removed, and came back"))
            }
            _ => Ok(()),
        }
    }

    /// What submissions were answered.
    pub(super) fn answers(&mut self, seen: &Seen<'_>) -> Result<(), Broken> {
        let ([Unit::Submit(submission)], [Ok(Receipt::Submitted(answers))]) = (seen.units, seen.outcomes)
        else {
            return Ok(());
        };
        submission
            .jobs
            .iter()
            .zip(answers)
            .try_for_each(|(job, answer)| self.answered(job, *answer, seen.now))
    }

    /// The same key answers with the same job.
    fn answered(&mut self, job: &NewJob, answer: Submitted, now: Time) -> Result<(), Broken> {
        match self.has_key(job, now) {
            Some(known) if known != answer.id => broken(
                8,
                format!("a submission was answered with {}, but its key belongs to {known}", answer.id),
            ),
            Some(known) => {
                self.lends_keys(known, job, now);
                Ok(())
            }
            None if answer.existing && !self.jobs.contains_key(&answer.id) => {
                broken(1, format!("a submission was answered with {}, which is not there", answer.id))
            }
            None => Ok(()),
        }
    }

    fn session(&mut self, unit: &SessionUnit, seen: &Seen<'_>) -> Result<(), Broken> {
        let Seen { now, process, life, .. } = *seen;
        match unit {
            SessionUnit::Open { id, span, .. } => {
                if self.sessions.insert(*id, SessionShadow { process, life, until: now + *span }).is_some() {
                    return broken(2, format!("session {id} was opened twice"));
                }
            }
            SessionUnit::Beat { id, span } => match self.sessions.get_mut(id) {
                Some(session) if session.until > now => session.until = now + *span,
                _ => return broken(2, format!("session {id} has ended, and a beat of it was accepted")),
            },
            SessionUnit::Close { id } => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.until = session.until.min(now);
                }
            }
        }
        Ok(())
    }

    fn lease(&mut self, unit: &LeaseUnit, granted: LeaseShadow, seen: &Seen<'_>) -> Result<(), Broken> {
        let (LeaseUnit::Acquire { name, .. }
        | LeaseUnit::Renew { name, .. }
        | LeaseUnit::Release { name, .. }) = unit;
        let before = self.leases.get(name);
        let current = before.filter(|lease| lease.until > seen.now);
        match unit {
            LeaseUnit::Acquire { holder, .. } => {
                if let Some(other) = current.filter(|lease| lease.holder != *holder) {
                    return broken(
                        10,
                        format!("lease {name} was given to {holder} while {} had it", other.holder),
                    );
                }
                if self.calm && current.is_some() {
                    return broken(10, format!("{holder} asks for lease {name}, which it has"));
                }
                if before.is_some_and(|lease| lease.term >= granted.term) {
                    return broken(10, format!("the term of lease {name} did not grow"));
                }
            }
            LeaseUnit::Renew { term, .. } | LeaseUnit::Release { term, .. } => {
                if current.is_none_or(|lease| lease.term != *term) {
                    return broken(10, format!("term {term} of lease {name} is over, and was accepted"));
                }
            }
        }
        self.leases.insert(name.clone(), granted);
        Ok(())
    }

    /// Who has the lease that a handler believes to work under, if somebody else has.
    pub(crate) fn lease_lost(&self, active: &Active) -> Option<usize> {
        let job = self.jobs.get(&active.job)?;
        let lease = self.leases.get(self.kinds.get(&job.kind)?.lease.as_ref()?)?;
        let term = self.claims.get(&(active.job, active.fence))?.term?;
        (lease.term > term && lease.process != active.process).then_some(lease.process)
    }
}
