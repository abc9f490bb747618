//! A run ended: [commit 3] of a job's life. Result, counts, lane, batch, continuation, what the handler
//! submitted, and the event are one.

use turnwise_core::event::Cause;
use turnwise_core::job::{Header, State};
use turnwise_core::limits as most;
use turnwise_core::machine::{self, Command};
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::stream::cut;
use super::working::spaces;
use super::{Backend, Trouble, Working, effects, lease, submit};
use crate::store::{AttemptError, Failure, Receipt, Settle, Verdict};

pub(super) fn settle<B: Backend>(w: &mut Working<B>, settle: &Settle, now: Time) -> Result<Receipt, Trouble> {
    let header = w.job(settle.job)?;
    let line = w.line(header.line)?;
    let kind = w.kind(&line.kind)?;
    let fence = settle.fence;
    let command = match &settle.verdict {
        Verdict::Done(_) => Command::Complete { fence },
        Verdict::Failed { class, .. } => Command::Fail { fence, class: *class, retry: &kind.retry },
        Verdict::Snoozed(span) => Command::Snooze { fence, span: *span },
        Verdict::Cancelled => Command::Stop { fence, dead: false },
        Verdict::Dead(_) => Command::Stop { fence, dead: true },
        Verdict::Released => Command::Release { fence },
    };
    let mut step = machine::apply(&header, command, now)?;
    // Giving a job back is always allowed: it is what a holder does that has lost its lease.
    if settle.verdict != Verdict::Released {
        lease::still_held(w, &kind, header.id, now)?;
    }
    if let Verdict::Done(result) = &settle.verdict {
        Refusal::unless_within("a fan-out, in jobs,", settle.submission.jobs.len(), most::JOBS_PER_FANOUT)?;
        if !settle.submission.is_empty() {
            submit::submit(w, &settle.submission, line.batch, now)?;
        }
        if let Some(result) = result {
            Refusal::unless_within("a result, in bytes,", result.len(), most::RESULT_BYTES)?;
            w.put::<spaces::Results>(header.id, result.clone());
        }
    }
    if let Some((failure, text)) = error_of(&settle.verdict) {
        record_error(w, &header, failure, text, now)?;
        step.header.flags.errors = true;
    }
    let cause = cause(&settle.verdict, &step.header);
    let state = effects::carry_out(w, step, &line, &kind, cause, now)?;
    Ok(Receipt::Moved(state))
}

fn error_of(verdict: &Verdict) -> Option<(Failure, &str)> {
    match verdict {
        Verdict::Failed { failure, error, .. } => Some((*failure, error)),
        Verdict::Dead(error) => Some((Failure::Error, error)),
        _ => None,
    }
}

fn cause(verdict: &Verdict, after: &Header) -> Cause {
    match verdict {
        Verdict::Done(_) => Cause::Completed,
        Verdict::Failed { .. } => {
            let due = (after.state == State::Retrying).then_some(after.at);
            Cause::Failed { attempt: after.attempt, due }
        }
        Verdict::Snoozed(_) => Cause::Snoozed { due: after.at },
        Verdict::Cancelled | Verdict::Dead(_) => Cause::Stopped,
        Verdict::Released => Cause::Released,
    }
}

/// Keeps what an attempt said, and no more than a bounded number of them.
pub(super) fn record_error<B: Backend>(
    w: &mut Working<B>,
    header: &Header,
    failure: Failure,
    text: &str,
    now: Time,
) -> Result<(), Trouble> {
    let error = AttemptError {
        attempt: header.attempt,
        fence: header.fence,
        started: header.at,
        ended: now,
        failure,
        error: cut(text, most::ERROR_BYTES).to_owned(),
    };
    w.put::<spaces::Errors>((header.id, header.fence), error);
    // Before so many claims there cannot be more errors than are kept.
    if header.fence as usize > most::ERRORS_KEPT {
        w.drop_old_errors(header.id)?;
    }
    Ok(())
}
