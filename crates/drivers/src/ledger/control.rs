//! What operators and programs set: cancel, hurry, replay, pause; kinds, owners, schedules, secrets.

use std::sync::Arc;

use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::JobId;
use turnwise_core::kind::Kind;
use turnwise_core::limits as most;
use turnwise_core::machine::{self, Command};
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, batch, effects, lane};
use crate::store::{Control, Receipt, Schedule, Secret};

pub(super) fn control<B: Backend>(
    w: &mut Working<B>,
    control: &Control,
    now: Time,
) -> Result<Receipt, Trouble> {
    match control {
        Control::Cancel(job) => direct(w, *job, Command::Cancel, Cause::Cancelled, now),
        Control::RetryNow(job) => direct(w, *job, Command::Expedite, Cause::Expedited, now),
        Control::Replay(job) => replay(w, *job, now),
        Control::CancelBatch(id) => batch::cancel(w, *id, now),
        Control::ReleaseBatch(id) => batch::release(w, *id, now),
        Control::Pause(target, paused) => pause(w, target, *paused),
        Control::PauseLane(name, paused) => lane::pause(w, name, *paused, now),
        Control::SetOwner { owner, weight, quota } => set_owner(w, owner, *weight, *quota),
        Control::SetLimits(kind, change) => {
            let changed = w.kind(kind)?.with_limits(*change);
            declare(w, &changed)
        }
    }
}

fn direct<B: Backend>(
    w: &mut Working<B>,
    job: JobId,
    command: Command<'_>,
    cause: Cause,
    now: Time,
) -> Result<Receipt, Trouble> {
    let header = w.job(job)?;
    effects::apply(w, &header, command, cause, now).map(Receipt::Moved)
}

/// A replayed job joins the tail of its lane.
fn replay<B: Backend>(w: &mut Working<B>, job: JobId, now: Time) -> Result<Receipt, Trouble> {
    let mut header = w.job(job)?;
    machine::apply(&header, Command::Replay { waits: false }, now)?;
    let line = w.line(header.line)?;
    if header.flags.continuation {
        batch::may_replay_continuation(w, &line)?;
    }
    let mut waits = false;
    if let Some(place) = header.place {
        let lane = w.get::<spaces::Lanes>(&place.lane)?;
        let lane = lane.ok_or_else(|| Refusal::Invalid("its lane is gone: submit a new job".into()))?;
        let (place, must_wait) = lane::join(w, lane, job);
        (header.place, waits) = (Some(place), must_wait);
    }
    let step = machine::apply(&header, Command::Replay { waits }, now)?;
    effects::backlog(w, &line, 1)?;
    effects::write(w, &step.header, Some(step.from), &line, Cause::Replayed)?;
    Ok(Receipt::Moved(step.header.state))
}

pub(super) fn pause<B: Backend>(
    w: &mut Working<B>,
    target: &Target,
    paused: bool,
) -> Result<Receipt, Trouble> {
    match target {
        // What is gone can still be resumed: it may be in the way of a job that was replayed.
        _ if !paused => {}
        Target::Kind(kind) => drop(w.kind(kind)?),
        Target::Batch(id) => drop(batch::load(w, *id)?),
        // A node may be drained before it comes up.
        Target::Owner(_) | Target::Node(_) => {}
    }
    let mut pauses = w.get::<spaces::PausesRow>(&())?.unwrap_or_default();
    let changed = if paused { pauses.0.insert(target.clone()) } else { pauses.0.remove(target) };
    Refusal::unless_within("the list of pauses", pauses.0.len(), most::PAGE_ROWS)?;
    if changed {
        w.put::<spaces::PausesRow>((), pauses);
        w.events.push(Event::Paused(target.clone(), paused));
    }
    Ok(Receipt::Accepted)
}

fn set_owner<B: Backend>(
    w: &mut Working<B>,
    owner: &Name,
    weight: Option<u32>,
    quota: Option<u64>,
) -> Result<Receipt, Trouble> {
    if weight.is_some_and(|weight| weight == 0 || weight > most::WEIGHT) {
        let text = format!("a weight must be from 1 to {}: pause the owner to stop it", most::WEIGHT);
        return Err(Refusal::Invalid(text).into());
    }
    let mut account = w.get::<spaces::Accounts>(owner)?.unwrap_or_default();
    account.weight = weight.unwrap_or(account.weight);
    // Databases count with a sign.
    account.quota = quota.unwrap_or(account.quota).min(i64::MAX as u64);
    w.put::<spaces::Accounts>(owner.clone(), account);
    w.events.push(Event::OwnerChanged(owner.clone()));
    Ok(Receipt::Accepted)
}

/// Declaring the same rules again changes nothing.
pub(super) fn declare<B: Backend>(w: &mut Working<B>, kind: &Kind) -> Result<Receipt, Trouble> {
    kind.validate()?;
    let known = w.get::<spaces::Kinds>(&kind.name)?;
    if known.as_deref() != Some(kind) {
        w.put::<spaces::Kinds>(kind.name.clone(), Arc::new(kind.clone()));
        w.events.push(Event::KindDeclared(kind.name.clone()));
    }
    Ok(Receipt::Accepted)
}

pub(super) fn schedule<B: Backend>(
    w: &mut Working<B>,
    name: &Name,
    schedule: Option<&Schedule>,
) -> Result<Receipt, Trouble> {
    let known = w.get::<spaces::Schedules>(name)?;
    match (schedule, known) {
        (Some(schedule), _) => {
            w.kind(&schedule.kind)?;
            w.put::<spaces::Schedules>(name.clone(), schedule.clone());
        }
        (None, Some(_)) => w.remove::<spaces::Schedules>(name)?,
        (None, None) => return Err(Refusal::UnknownSchedule(name.clone()).into()),
    }
    Ok(Receipt::Accepted)
}

pub(super) fn secret<B: Backend>(
    w: &mut Working<B>,
    name: &Name,
    secret: Option<&Secret>,
) -> Result<Receipt, Trouble> {
    w.get::<spaces::Secrets>(name)?;
    match secret {
        Some(secret) => {
            Refusal::unless_within("a secret, in bytes,", secret.sealed.len(), most::SECRET_BYTES)?;
            w.put::<spaces::Secrets>(name.clone(), secret.clone());
        }
        None => w.remove::<spaces::Secrets>(name)?,
    }
    Ok(Receipt::Accepted)
}
