//! A worker takes a job: [commit 2] of its life. Pauses, caps, rates and the lease are judged here, in the
//! commit itself, so that no failover can exceed them.

use turnwise_core::event::Cause;
use turnwise_core::line::LineKey;
use turnwise_core::machine::{self, Command};
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, effects, lease, limits, session};
use crate::store::{Claim, Claimed, Receipt, StoreError};

pub(super) fn claim<B: Backend>(w: &mut Working<B>, claim: &Claim, now: Time) -> Result<Receipt, Trouble> {
    let session = session::check(w, claim.session, now)?;
    let header = w.job(claim.job)?;
    let command = Command::Claim { version: claim.version, session: claim.session };
    let step = machine::apply(&header, command, now)?;
    let line = w.line(header.line)?;
    let kind = w.kind(&line.kind)?;
    not_paused(w, &line, &session.node)?;
    batch_alive(w, &line)?;
    lease::claimed_under(w, &kind, claim.job, claim.term, now)?;
    limits::start(w, &line, &kind, now)?;
    let header = step.header;
    let cause = Cause::Claimed { session: claim.session, fence: header.fence, attempt: header.attempt };
    effects::write(w, &header, Some(step.from), &line, cause)?;
    let payload = w.get::<spaces::Payloads>(&claim.job)?;
    let payload =
        payload.ok_or_else(|| StoreError::Broken(format!("payload of {} is missing", claim.job)))?;
    let deadline = kind.deadline;
    Ok(Receipt::Claimed(Box::new(Claimed { header, line, payload, deadline })))
}

fn not_paused<B: Backend>(w: &mut Working<B>, line: &LineKey, node: &Name) -> Result<(), Trouble> {
    let Some(pauses) = w.get::<spaces::PausesRow>(&())? else { return Ok(()) };
    if pauses.drains(node) {
        return Err(Refusal::Draining.into());
    }
    match pauses.holds(line) {
        true => Err(Refusal::Paused.into()),
        false => Ok(()),
    }
}

fn batch_alive<B: Backend>(w: &mut Working<B>, line: &LineKey) -> Result<(), Trouble> {
    let Some(id) = line.batch else { return Ok(()) };
    match w.get::<spaces::Batches>(&id)? {
        // Once it has settled, what still comes was asked for: its continuation, or a replay.
        Some(batch) if batch.cancel && batch.pending() > 0 => Err(Refusal::BatchCancelled(id).into()),
        _ => Ok(()),
    }
}
