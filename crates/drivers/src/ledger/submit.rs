//! Work comes: [commit 1] of a job's life.

use std::sync::Arc;

use turnwise_core::event::Cause;
use turnwise_core::ids::{BatchId, JobId, LineId};
use turnwise_core::job::{Flags, Header, State};
use turnwise_core::limits as most;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_core::unique::{Taken, Unique, Window};

use super::working::spaces;
use super::{Backend, Trouble, Working, batch, effects, lane};
use crate::store::{NewJob, Start, Submission, Submitted};

/// Opens, accepts and seals, as one. `grower` is the batch whose own running job submits.
pub(super) fn submit<B: Backend>(
    w: &mut Working<B>,
    submission: &Submission,
    grower: Option<BatchId>,
    now: Time,
) -> Result<Vec<Submitted>, Trouble> {
    Refusal::unless_within("a submission, in jobs,", submission.jobs.len(), most::JOBS_PER_SUBMIT)?;
    let bytes = submission.jobs.iter().map(|job| job.payload.len()).sum();
    Refusal::unless_within("a submission, in bytes of payload,", bytes, most::SUBMIT_BYTES)?;
    let mut accepted = Vec::with_capacity(submission.jobs.len() + submission.open.len());
    let mut last_line = None;
    let mut continuations = Vec::new();
    for new in &submission.open {
        let opened = batch::open(w, new, now)?;
        if let Some(then) = &new.then {
            continuations.push(match opened {
                true => accept_continuation(w, new.id, &then.job, now)?,
                // It came with its batch, and may have ended and been forgotten since.
                false => Submitted { id: then.job.id, existing: true },
            });
        }
    }
    for job in &submission.jobs {
        accepted.push(accept(w, job, false, grower, &mut last_line, now)?);
    }
    for id in &submission.seal {
        batch::seal(w, *id, now)?;
    }
    accepted.extend(continuations);
    Ok(accepted)
}

/// Accepts the job that follows a batch. It belongs to the batch, but is not counted in it.
fn accept_continuation<B: Backend>(
    w: &mut Working<B>,
    batch: BatchId,
    job: &NewJob,
    now: Time,
) -> Result<Submitted, Trouble> {
    if job.batch.is_some_and(|other| other != batch) {
        return Err(Refusal::Invalid("a continuation belongs to its own batch, to no other".into()).into());
    }
    let job = NewJob { batch: Some(batch), ..job.clone() };
    let submitted = accept(w, &job, true, None, &mut None, now)?;
    if submitted.id != job.id {
        let text = format!("the continuation's unique key belongs to job {}: choose another", submitted.id);
        return Err(Refusal::Invalid(text).into());
    }
    Ok(submitted)
}

type KnownLine = Option<(LineId, Arc<LineKey>)>;

fn accept<B: Backend>(
    w: &mut Working<B>,
    job: &NewJob,
    continuation: bool,
    grower: Option<BatchId>,
    last_line: &mut KnownLine,
    now: Time,
) -> Result<Submitted, Trouble> {
    let kind = w.kind(&job.kind)?;
    let due = due(job.start, now)?;
    Refusal::unless_within("a payload, in bytes,", job.payload.len(), most::PAYLOAD_BYTES)?;
    let (line_id, line) = line_of(w, job, last_line)?;
    if let Some(known) = w.known_job(job.id)? {
        // A continuation is not counted in its batch: it must not stand for a job that is.
        if known.line != line_id || known.flags.continuation != continuation {
            return Err(Refusal::IdTaken(job.id).into());
        }
        return Ok(Submitted { id: job.id, existing: true });
    }
    sane_keys(&job.unique)?;
    if let Some(known) = taken(w, job, now)? {
        lend_keys(w, job, known, now)?;
        return Ok(Submitted { id: known, existing: true });
    }
    within_quota(w, job)?;
    if let Some(id) = job.batch.filter(|_| !continuation) {
        batch::add(w, id, job.id, grower)?;
    }
    let flags = Flags {
        continuation,
        unique: job.unique.iter().any(|unique| unique.window == Window::UntilSettled),
        ..Flags::default()
    };
    let mut header = Header {
        id: job.id,
        version: 1,
        state: State::Ready,
        line: line_id,
        place: None,
        attempt: 0,
        attempts: job.attempts.unwrap_or(kind.retry.attempts).clamp(1, most::ATTEMPTS),
        rescues: 0,
        fence: 0,
        session: None,
        submitted: now,
        at: now,
        flags,
    };
    let waits = take_place(w, job, &mut header)?;
    if waits || continuation {
        (header.state, header.at) = (State::Waiting, due.unwrap_or(Time::ZERO));
    } else if let Some(due) = due {
        (header.state, header.at) = (State::Scheduled, due);
    }
    for unique in &job.unique {
        take_key(w, &job.kind, unique, job.id, now)?;
    }
    w.put::<spaces::Payloads>(job.id, job.payload.clone());
    effects::backlog(w, &line, 1)?;
    effects::write(w, &header, None, &line, Cause::Submitted)?;
    Ok(Submitted { id: job.id, existing: false })
}

/// When a job is due, if later than now.
fn due(start: Start, now: Time) -> Result<Option<Time>, Refusal> {
    let due = match start {
        Start::Now => return Ok(None),
        Start::After(delay) => now + delay,
        Start::At(time) => time,
    };
    Refusal::unless_sane_delay(due.since(now))?;
    Ok((due > now).then_some(due))
}

/// The line of a job. Neighbours in a submission mostly share it, and then it is not computed again.
fn line_of<B: Backend>(
    w: &mut Working<B>,
    job: &NewJob,
    last: &mut KnownLine,
) -> Result<(LineId, Arc<LineKey>), Trouble> {
    if let Some((id, line)) = last
        && line.kind == job.kind
        && line.owner == job.owner
        && line.batch == job.batch
        && line.priority == job.priority
        && line.limit_key == job.limit_key
    {
        return Ok((*id, line.clone()));
    }
    let line = LineKey {
        kind: job.kind.clone(),
        owner: job.owner.clone(),
        priority: job.priority,
        batch: job.batch,
        limit_key: job.limit_key.clone(),
    };
    let id = line.id();
    let line = match w.get::<spaces::Lines>(&id)? {
        Some(known) if *known == line => known,
        Some(_) => {
            let text = "kind, owner and key have the digest of another line: change the limit key";
            return Err(Refusal::Invalid(text.into()).into());
        }
        None => {
            let line = Arc::new(line);
            w.put::<spaces::Lines>(id, line.clone());
            line
        }
    };
    *last = Some((id, line.clone()));
    Ok((id, line))
}

/// Keys of one job differ, and only one of them ends with it: a job's end looks for one.
fn sane_keys(keys: &[Unique]) -> Result<(), Refusal> {
    Refusal::unless_within("the unique keys of a job", keys.len(), most::UNIQUE_KEYS)?;
    let differ = keys.iter().enumerate().all(|(at, one)| keys[..at].iter().all(|other| other.key != one.key));
    let settled = keys.iter().filter(|unique| unique.window == Window::UntilSettled).count();
    if differ && settled <= 1 {
        return Ok(());
    }
    let text = "unique keys of one job must differ, and only one of them may last until the job has ended";
    Err(Refusal::Invalid(text.into()))
}

/// The job that has a key of this one now.
fn taken<B: Backend>(w: &mut Working<B>, job: &NewJob, now: Time) -> Result<Option<JobId>, Trouble> {
    for unique in &job.unique {
        if let Some(holder) = holder(w, &job.kind, unique, now)? {
            return Ok(Some(holder));
        }
    }
    Ok(None)
}

fn holder<B: Backend>(
    w: &mut Working<B>,
    kind: &Name,
    unique: &Unique,
    now: Time,
) -> Result<Option<JobId>, Trouble> {
    let key = (kind.clone(), unique.key.clone());
    Ok(w.get::<spaces::Uniques>(&key)?.filter(|taken| taken.until > now).map(|taken| taken.job))
}

/// Whoever comes again with a key that is for a time gets the same answer, although another key decided it.
fn lend_keys<B: Backend>(w: &mut Working<B>, job: &NewJob, to: JobId, now: Time) -> Result<(), Trouble> {
    for unique in job.unique.iter().filter(|unique| unique.window != Window::UntilSettled) {
        if holder(w, &job.kind, unique, now)?.is_none() {
            take_key(w, &job.kind, unique, to, now)?;
        }
    }
    Ok(())
}

fn take_key<B: Backend>(
    w: &mut Working<B>,
    kind: &Name,
    unique: &Unique,
    job: JobId,
    now: Time,
) -> Result<(), Trouble> {
    let until = unique.window.end(now)?;
    let key = (kind.clone(), unique.key.clone());
    w.put::<spaces::Uniques>(key.clone(), Taken { kind: key.0.clone(), key: key.1.clone(), job, until });
    if unique.window == Window::UntilSettled {
        w.put::<spaces::UniqueOf>(job, key);
    }
    Ok(())
}

fn within_quota<B: Backend>(w: &mut Working<B>, job: &NewJob) -> Result<(), Trouble> {
    let account = w.get::<spaces::Accounts>(&job.owner)?.unwrap_or_default();
    if account.backlog >= account.quota {
        let (backlog, quota) = (account.backlog, account.quota);
        return Err(Refusal::Quota { owner: job.owner.clone(), backlog, quota }.into());
    }
    Ok(())
}

/// Takes the job's place in its lane, under the lane's row. A continuation takes it when it is released.
fn take_place<B: Backend>(w: &mut Working<B>, job: &NewJob, header: &mut Header) -> Result<bool, Trouble> {
    let Some(choice) = &job.lane else { return Ok(false) };
    let lane = lane::open(w, &choice.name, choice.on_dead)?;
    if header.flags.continuation {
        header.place = Some(turnwise_core::job::Place { lane: lane.id, position: 0 });
        w.put::<spaces::Lanes>(lane.id, lane);
        return Ok(true);
    }
    let (place, waits) = lane::join(w, lane, job.id);
    header.place = Some(place);
    Ok(waits)
}
