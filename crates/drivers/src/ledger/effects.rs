//! What a change of a job's header brings with it, in the same commit: counts, its lane, its batch, its unique
//! key, the event, and the hint that something is ready.

use std::sync::Arc;

use turnwise_core::event::{Cause, Event};
use turnwise_core::job::{Header, State};
use turnwise_core::kind::Kind;
use turnwise_core::line::LineKey;
use turnwise_core::machine::{self, Command, Step};
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, batch, lane, limits};

/// Carries out an allowed step.
pub(super) fn carry_out<B: Backend>(
    w: &mut Working<B>,
    step: Step,
    line: &Arc<LineKey>,
    kind: &Kind,
    cause: Cause,
    now: Time,
) -> Result<State, Trouble> {
    let Step { mut header, from } = step;
    let first_end = step.settles() && !header.flags.counted;
    header.flags.counted |= step.settles();
    write(w, &header, Some(from), line, cause)?;
    if step.ends_run() {
        limits::ended(w, line, kind)?;
        if kind.lease.is_some() {
            w.remove::<spaces::Terms>(&header.id)?;
        }
        if !step.settles() && lane::hold_if_standing(w, &header, now)? {
            return Ok(State::Waiting);
        }
    }
    if step.settles() {
        backlog(w, line, -1)?;
        if header.flags.unique {
            release_key(w, &header)?;
        }
        lane::leave(w, &header, now)?;
        if let Some(id) = line.batch
            && !header.flags.continuation
        {
            batch::job_ended(w, id, header.state, first_end, now)?;
        }
    }
    Ok(header.state)
}

/// Writes a header with its count, its event and its hint.
pub(super) fn write<B: Backend>(
    w: &mut Working<B>,
    header: &Header,
    from: Option<State>,
    line: &LineKey,
    cause: Cause,
) -> Result<(), Trouble> {
    if from != Some(header.state) {
        let key = (line.owner.clone(), line.kind.clone());
        let mut tally = w.get::<spaces::Tallies>(&key)?.unwrap_or_default();
        tally.shift(from, Some(header.state));
        w.put::<spaces::Tallies>(key, tally);
    }
    w.put::<spaces::Jobs>(header.id, *header);
    w.events.push(Event::Job { job: header.id, line: header.line, state: header.state, cause });
    if header.state == State::Ready {
        w.ready.push(header.line);
    }
    Ok(())
}

/// The owner has one unfinished job more, or less.
pub(super) fn backlog<B: Backend>(w: &mut Working<B>, line: &LineKey, change: i64) -> Result<(), Trouble> {
    let mut account = w.get::<spaces::Accounts>(&line.owner)?.unwrap_or_default();
    account.backlog = account.backlog.saturating_add_signed(change);
    w.put::<spaces::Accounts>(line.owner.clone(), account);
    Ok(())
}

/// Applies a command to a job that needs nothing but its header, and carries it out.
pub(super) fn apply<B: Backend>(
    w: &mut Working<B>,
    header: &Header,
    command: Command<'_>,
    cause: Cause,
    now: Time,
) -> Result<State, Trouble> {
    let step = machine::apply(header, command, now)?;
    if step.header == *header {
        return Ok(header.state);
    }
    let line = w.line(header.line)?;
    let kind = w.kind(&line.kind)?;
    carry_out(w, step, &line, &kind, cause, now)
}

fn release_key<B: Backend>(w: &mut Working<B>, header: &Header) -> Result<(), Trouble> {
    if let Some(key) = w.get::<spaces::UniqueOf>(&header.id)? {
        w.remove::<spaces::Uniques>(&key)?;
        w.remove::<spaces::UniqueOf>(&header.id)?;
    }
    Ok(())
}
