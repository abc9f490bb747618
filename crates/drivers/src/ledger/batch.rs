//! Batches: opened, grown, sealed, settled; their continuation released once.

use turnwise_core::batch::{Batch, Continuation, Phase, Turn};
use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::{Header, State};
use turnwise_core::line::LineKey;
use turnwise_core::machine::Command;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, effects, lane};
use crate::store::{NewBatch, Receipt, StoreError};

pub(super) fn load<B: Backend>(w: &mut Working<B>, id: BatchId) -> Result<Batch, Trouble> {
    Ok(w.get::<spaces::Batches>(&id)?.ok_or(Refusal::UnknownBatch(id))?)
}

/// Opens a batch. One with the same id, name, owner and continuation is the same batch, sent again.
/// Whether it is new.
pub(super) fn open<B: Backend>(w: &mut Working<B>, new: &NewBatch, now: Time) -> Result<bool, Trouble> {
    let then = new.then.as_ref().map(|then| Continuation { job: then.job.id, when: then.when });
    if let Some(batch) = w.get::<spaces::Batches>(&new.id)? {
        if batch.name == new.name && batch.owner == new.owner && batch.then == then {
            return Ok(false);
        }
        return Err(Refusal::Invalid(format!("batch id {} is taken: make a new id", new.id)).into());
    }
    let batch = Batch {
        id: new.id,
        name: new.name.clone(),
        owner: new.owner.clone(),
        opened: now,
        settled: Time::ZERO,
        phase: Phase::Open,
        total: 0,
        done: 0,
        dead: 0,
        cancelled: 0,
        repaired: 0,
        then,
        cancel: false,
        last: JobId::from_u64(0),
        first: JobId::from_u64(0),
    };
    w.put::<spaces::Batches>(new.id, batch);
    w.events.push(Event::BatchOpened(new.id));
    Ok(true)
}

/// Takes one more job into a batch; a running job of the batch may do that even when it is sealed.
pub(super) fn add<B: Backend>(
    w: &mut Working<B>,
    id: BatchId,
    job: JobId,
    grower: Option<BatchId>,
) -> Result<(), Trouble> {
    let mut batch = load(w, id)?;
    let grows = grower == Some(id) && batch.phase != Phase::Open;
    if grows { batch.grow(1, job) } else { batch.add(1, job) }?;
    w.put::<spaces::Batches>(id, batch);
    Ok(())
}

pub(super) fn seal<B: Backend>(w: &mut Working<B>, id: BatchId, now: Time) -> Result<(), Trouble> {
    let mut batch = load(w, id)?;
    let was_open = batch.phase == Phase::Open;
    let turn = batch.seal(now)?;
    w.put::<spaces::Batches>(id, batch);
    if was_open {
        w.events.push(Event::BatchSealed(id));
    }
    take(w, id, turn, now)
}

/// One of its jobs ended, for the first time or again after a replay.
pub(super) fn job_ended<B: Backend>(
    w: &mut Working<B>,
    id: BatchId,
    end: State,
    first: bool,
    now: Time,
) -> Result<(), Trouble> {
    let Some(mut batch) = w.get::<spaces::Batches>(&id)? else { return Ok(()) };
    let turn = match (first, end) {
        (true, _) => batch.count(end, now),
        (false, State::Done) => batch.repair(now),
        (false, _) => Turn::Nothing,
    };
    w.put::<spaces::Batches>(id, batch);
    take(w, id, turn, now)
}

/// Somebody wants the whole batch to end; the sweep finds its jobs.
pub(super) fn cancel<B: Backend>(w: &mut Working<B>, id: BatchId, now: Time) -> Result<Receipt, Trouble> {
    let mut batch = load(w, id)?;
    match batch.phase {
        Phase::Settled => {
            return Err(
                Refusal::Invalid(format!("batch {id} has settled: there is nothing to cancel")).into()
            );
        }
        // The decision about a parked batch is "no": its continuation ends, and the batch with it.
        Phase::Parked => {
            batch.phase = Phase::Settled;
            let then = batch.then;
            w.put::<spaces::Batches>(id, batch);
            w.events.push(Event::BatchCancelled(id));
            cancel_job(w, then, now)?;
        }
        Phase::Open | Phase::Sealed if batch.cancel => {}
        Phase::Open | Phase::Sealed => {
            batch.cancel = true;
            batch.phase = Phase::Sealed;
            let empty = batch.total == 0;
            if empty {
                batch.phase = Phase::Settled;
                batch.settled = now;
            }
            let then = batch.then;
            w.put::<spaces::Batches>(id, batch);
            w.events.push(Event::BatchCancelled(id));
            if empty {
                cancel_job(w, then, now)?;
            } else {
                settle_if_over(w, id, now)?;
            }
        }
    }
    Ok(Receipt::Accepted)
}

/// A person decides that a parked batch goes on.
pub(super) fn release<B: Backend>(w: &mut Working<B>, id: BatchId, now: Time) -> Result<Receipt, Trouble> {
    let mut batch = load(w, id)?;
    let then = batch.release()?;
    w.put::<spaces::Batches>(id, batch);
    w.events.push(Event::BatchReleased(id));
    if let Some(job) = then {
        release_job(w, job, now)?;
    }
    Ok(Receipt::Accepted)
}

/// Sealing by cancelling may find that every job has ended already.
fn settle_if_over<B: Backend>(w: &mut Working<B>, id: BatchId, now: Time) -> Result<(), Trouble> {
    let mut batch = load(w, id)?;
    let turn = batch.settle_if_over(now);
    w.put::<spaces::Batches>(id, batch);
    take(w, id, turn, now)
}

fn take<B: Backend>(w: &mut Working<B>, id: BatchId, turn: Turn, now: Time) -> Result<(), Trouble> {
    match turn {
        Turn::Nothing => Ok(()),
        Turn::Parked => {
            w.events.push(Event::BatchParked(id));
            Ok(())
        }
        Turn::Settled(then) => {
            w.events.push(Event::BatchSettled(id));
            then.map_or(Ok(()), |job| release_job(w, job, now))
        }
        Turn::Repaired(job) => {
            w.events.push(Event::BatchReleased(id));
            release_job(w, job, now)
        }
    }
}

/// A continuation that was cancelled before its batch settled stays so: nothing would hold it back.
pub(super) fn may_replay_continuation<B: Backend>(w: &mut Working<B>, line: &LineKey) -> Result<(), Trouble> {
    let Some(id) = line.batch else { return Ok(()) };
    match w.get::<spaces::Batches>(&id)? {
        Some(batch) if batch.phase != Phase::Settled => {
            let text = format!("batch {id} has not settled: its continuation can be replayed when it has");
            Err(Refusal::Invalid(text).into())
        }
        _ => Ok(()),
    }
}

/// A continuation that is still held. It may have been cancelled meanwhile, and forgotten, and its id may be
/// another job's.
fn held<B: Backend>(w: &mut Working<B>, job: JobId) -> Result<Option<Header>, Trouble> {
    let found = w.get::<spaces::Jobs>(&job)?;
    Ok(found.filter(|header| header.flags.continuation && header.state == State::Waiting))
}

/// The continuation shall not be.
fn cancel_job<B: Backend>(w: &mut Working<B>, then: Option<Continuation>, now: Time) -> Result<(), Trouble> {
    let Some(then) = then else { return Ok(()) };
    match held(w, then.job)? {
        Some(header) => effects::apply(w, &header, Command::Cancel, Cause::Cancelled, now).map(drop),
        None => Ok(()),
    }
}

/// The continuation's turn. One that was cancelled meanwhile stays cancelled.
fn release_job<B: Backend>(w: &mut Working<B>, job: JobId, now: Time) -> Result<(), Trouble> {
    let Some(mut header) = held(w, job)? else { return Ok(()) };
    if let Some(place) = header.place {
        let lane = w.get::<spaces::Lanes>(&place.lane)?;
        let lane = lane.ok_or_else(|| StoreError::Broken(format!("lane {} is missing", place.lane)))?;
        let (place, waits) = lane::join(w, lane, job);
        header.place = Some(place);
        w.put::<spaces::Jobs>(job, header);
        if waits {
            return Ok(());
        }
    }
    effects::apply(w, &header, Command::Promote, Cause::Promoted, now)?;
    Ok(())
}
