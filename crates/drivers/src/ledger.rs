//! What a unit means, written once for every store.
//!
//! A store gives the ledger its rows through [`Backend`], lets it execute units on a [`Working`] set, and then
//! writes the rows that changed in one transaction. So no promise depends on which database is underneath.
//! One file per family of units.

mod batch;
mod claim;
mod control;
mod effects;
mod lane;
mod lease;
mod limits;
mod queue;
mod session;
mod settle;
mod step;
mod stream;
mod submit;
mod sweep;
mod table;
mod token;
mod working;

use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use crate::store::{Outcome, Receipt, StoreError, Unit};

pub(crate) use stream::{blocks, hinted, last_of, page, trimmed};
pub(crate) use table::{Change, Load, Space, Table};
pub(crate) use working::{Backend, Tables, Working, spaces};

/// Why a unit did not happen.
pub(crate) enum Trouble {
    /// It was refused: an answer.
    Refused(Refusal),
    /// The store failed: nobody's unit happens.
    Failed(StoreError),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Trouble::Refused(refusal)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Trouble::Failed(error)
    }
}

/// Executes one unit: all of it, or none of it.
pub(crate) fn execute<B: Backend>(w: &mut Working<B>, unit: &Unit, now: Time) -> Result<Outcome, StoreError> {
    w.begin_unit();
    match attempt(w, unit, now) {
        Ok(receipt) => Ok(Ok(receipt)),
        Err(Trouble::Refused(refusal)) => {
            w.undo_unit();
            Ok(Err(refusal))
        }
        Err(Trouble::Failed(error)) => Err(error),
    }
}

fn attempt<B: Backend>(w: &mut Working<B>, unit: &Unit, now: Time) -> Result<Receipt, Trouble> {
    match unit {
        Unit::Submit(submission) => submit::submit(w, submission, None, now).map(Receipt::Submitted),
        Unit::Claim(claim) => claim::claim(w, claim, now),
        Unit::Settle(settle) => settle::settle(w, settle, now),
        Unit::Step(step) => step::step(w, step, now),
        Unit::Progress(job, fence, progress) => step::progress(w, *job, *fence, progress, now),
        Unit::Control(control) => control::control(w, control, now),
        Unit::Session(unit) => session::session(w, unit, now),
        Unit::Lease(unit) => lease::lease(w, unit, now),
        Unit::Declare(kind) => control::declare(w, kind),
        Unit::Schedule(name, schedule) => control::schedule(w, name, schedule.as_ref()),
        Unit::Secret(name, secret) => control::secret(w, name, secret.as_ref()),
        Unit::Sweep(unit) => sweep::sweep(w, unit, now),
        Unit::Queue(unit) => queue::queue(w, unit),
        Unit::Audit { by, what } => Ok(stream::audit(w, by, what)),
        Unit::Token(name, token) => token::token(w, name, token.as_ref()),
    }
}
