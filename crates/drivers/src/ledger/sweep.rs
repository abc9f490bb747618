//! What time alone brings about. Whoever sends these may be late, doubled or wrong: each is judged here.

use turnwise_core::batch::Phase;
use turnwise_core::event::Cause;
use turnwise_core::ids::{BatchId, JobId, SessionId};
use turnwise_core::job::State;
use turnwise_core::limits as most;
use turnwise_core::machine::{self, Command};
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, batch, control, effects, session, settle};
use crate::store::{Failure, Receipt, Sweep};

pub(super) fn sweep<B: Backend>(w: &mut Working<B>, unit: &Sweep, now: Time) -> Result<Receipt, Trouble> {
    match unit {
        Sweep::Ripen(jobs) => each(w, jobs, now, ripen),
        Sweep::Rescue(job, session) => rescue(w, *job, *session, now),
        Sweep::Bury(id) => session::bury(w, *id, now),
        Sweep::CancelJobs(jobs) => each(w, jobs, now, cancel_in_batch),
        Sweep::Forget(jobs) => each(w, jobs, now, forget),
        Sweep::ForgetBatch(id) => forget_batch(w, *id),
        // A block goes as a whole, so the one that the cursor points into stays.
        Sweep::Trim(cursor) => Ok(Receipt::Changed(w.backend.trim(cursor.block())?)),
        Sweep::Expire => Ok(Receipt::Changed(w.backend.expire(&mut w.tables, now)?)),
        // A store that can be handed jobs in another way makes submissions of them.
        Sweep::TakeIn => Ok(Receipt::Changed(0)),
        Sweep::Ticked { schedule, from, to, key } => ticked(w, schedule, *from, *to, key.as_ref()),
    }
}

/// Does something to every job for which it may be done.
fn each<B: Backend>(
    w: &mut Working<B>,
    jobs: &[JobId],
    now: Time,
    what: fn(&mut Working<B>, JobId, Time) -> Result<(), Trouble>,
) -> Result<Receipt, Trouble> {
    Refusal::unless_within("a sweep, in jobs,", jobs.len(), most::JOBS_PER_SUBMIT)?;
    let mut changed = 0;
    for &job in jobs {
        match what(w, job, now) {
            Ok(()) => changed += 1,
            Err(Trouble::Refused(_)) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(Receipt::Changed(changed))
}

fn ripen<B: Backend>(w: &mut Working<B>, job: JobId, now: Time) -> Result<(), Trouble> {
    let header = w.job(job)?;
    effects::apply(w, &header, Command::Ripen, Cause::Ripened, now).map(drop)
}

/// Takes a job from a session that has ended. The one who asks does not decide whether it has.
fn rescue<B: Backend>(
    w: &mut Working<B>,
    job: JobId,
    session: SessionId,
    now: Time,
) -> Result<Receipt, Trouble> {
    if w.get::<spaces::Sessions>(&session)?.is_some_and(|session| session.until > now) {
        return Err(Refusal::Invalid(format!("session {session} is alive: its jobs stay with it")).into());
    }
    let header = w.job(job)?;
    let line = w.line(header.line)?;
    let kind = w.kind(&line.kind)?;
    let mut step = machine::apply(&header, Command::Rescue { session, limit: kind.rescues }, now)?;
    settle::record_error(w, &header, Failure::Lost, "the worker was lost while it ran this job", now)?;
    step.header.flags.errors = true;
    let cause = Cause::Rescued { session };
    effects::carry_out(w, step, &line, &kind, cause, now).map(Receipt::Moved)
}

fn cancel_in_batch<B: Backend>(w: &mut Working<B>, job: JobId, now: Time) -> Result<(), Trouble> {
    let header = w.job(job)?;
    let line = w.line(header.line)?;
    let Some(id) = line.batch else { return Err(Refusal::UnknownJob(job).into()) };
    if !batch::load(w, id)?.cancel {
        return Err(Refusal::Invalid(format!("batch {id} was not cancelled")).into());
    }
    effects::apply(w, &header, Command::Cancel, Cause::Cancelled, now).map(drop)
}

/// Ticks were dealt with, unless the schedule is not as whoever dealt with them saw it.
fn ticked<B: Backend>(
    w: &mut Working<B>,
    name: &Name,
    from: Time,
    to: Time,
    key: Option<&Name>,
) -> Result<Receipt, Trouble> {
    let found = w.get::<spaces::Schedules>(name)?.filter(|schedule| schedule.last == from);
    let Some(mut schedule) = found else { return Ok(Receipt::Changed(0)) };
    if let Some(key) = key {
        let taken = w.get::<spaces::Uniques>(&(schedule.kind.clone(), key.clone()))?;
        let Some(taken) = taken else { return Ok(Receipt::Changed(0)) };
        schedule.job = Some(taken.job);
    }
    schedule.last = to;
    w.put::<spaces::Schedules>(name.clone(), schedule);
    Ok(Receipt::Changed(1))
}

/// Forgets an ended job and all that belongs to it. Its count goes with it.
fn forget<B: Backend>(w: &mut Working<B>, job: JobId, _now: Time) -> Result<(), Trouble> {
    let header = w.job(job)?;
    if !header.state.is_final() {
        return Err(Refusal::WrongState { state: header.state, hint: "it has not ended" }.into());
    }
    let line = w.line(header.line)?;
    let key = (line.owner.clone(), line.kind.clone());
    let mut tally = w.get::<spaces::Tallies>(&key)?.unwrap_or_default();
    // Dead letters and cancelled jobs are shown as what is there; `done` counts all that ever were.
    if header.state != State::Done {
        tally.shift(Some(header.state), None);
        w.put::<spaces::Tallies>(key, tally);
    }
    w.forget(&header)?;
    Ok(())
}

fn forget_batch<B: Backend>(w: &mut Working<B>, id: BatchId) -> Result<Receipt, Trouble> {
    let batch = batch::load(w, id)?;
    if batch.phase != Phase::Settled {
        return Err(Refusal::Invalid(format!("batch {id} has not settled")).into());
    }
    w.remove::<spaces::Batches>(&id)?;
    // Nobody could name it any more to end its pause.
    control::pause(w, &Target::Batch(id), false)
}
