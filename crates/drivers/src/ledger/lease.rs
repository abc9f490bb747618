//! Leases: the rules are in the core; here they meet the row.

use turnwise_core::event::Event;
use turnwise_core::ids::JobId;
use turnwise_core::kind::Kind;
use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::{LeaseUnit, Receipt};

pub(super) fn lease<B: Backend>(w: &mut Working<B>, unit: &LeaseUnit, now: Time) -> Result<Receipt, Trouble> {
    let lease = match unit {
        LeaseUnit::Acquire { name, holder, span } => {
            let current = w.get::<spaces::Leases>(name)?;
            let lease = Lease::acquire(current.as_ref(), name, holder, *span, now)?;
            w.events.push(Event::LeaseTaken { name: name.clone(), term: lease.term });
            lease
        }
        LeaseUnit::Renew { name, term, span } => load(w, name)?.renew(*term, *span, now)?,
        LeaseUnit::Release { name, term } => load(w, name)?.release(*term, now)?,
    };
    w.put::<spaces::Leases>(lease.name.clone(), lease.clone());
    Ok(Receipt::Leased(lease))
}

fn load<B: Backend>(w: &mut Working<B>, name: &Name) -> Result<Lease, Trouble> {
    Ok(w.get::<spaces::Leases>(name)?.ok_or_else(|| Refusal::StaleTerm(name.clone()))?)
}

/// A claim of a kind that is bound to a lease: only its holder's is accepted, and its term is remembered while the
/// claim lives.
pub(super) fn claimed_under<B: Backend>(
    w: &mut Working<B>,
    kind: &Kind,
    job: JobId,
    term: Option<u64>,
    now: Time,
) -> Result<(), Trouble> {
    let Some(name) = &kind.lease else { return Ok(()) };
    let term = term.ok_or_else(|| Refusal::StaleTerm(name.clone()))?;
    load(w, name)?.check(term, now)?;
    w.get::<spaces::Terms>(&job)?;
    w.put::<spaces::Terms>(job, term);
    Ok(())
}

/// What a claim writes is refused when the term it was made under is over. A claim from before the kind was bound
/// has none, and is judged by its fence alone.
pub(super) fn still_held<B: Backend>(
    w: &mut Working<B>,
    kind: &Kind,
    job: JobId,
    now: Time,
) -> Result<(), Trouble> {
    let Some(name) = &kind.lease else { return Ok(()) };
    match w.get::<spaces::Terms>(&job)? {
        Some(term) => Ok(load(w, name)?.check(term, now)?),
        None => Ok(()),
    }
}
