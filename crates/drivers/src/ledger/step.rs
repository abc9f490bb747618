//! Steps and progress of a running job.

use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::JobId;
use turnwise_core::limits as most;
use turnwise_core::machine::{self, Command};
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, lease, submit};
use crate::store::{Progress, Receipt, StepDone};

/// A step that is there already is the same step, sent again: what it submitted is not submitted twice.
pub(super) fn step<B: Backend>(w: &mut Working<B>, step: &StepDone, now: Time) -> Result<Receipt, Trouble> {
    let mut header = w.job(step.job)?;
    machine::apply(&header, Command::Touch { fence: step.fence }, now)?;
    Refusal::unless_within("a step's result, in bytes,", step.output.len(), most::RESULT_BYTES)?;
    let key = (step.job, step.name.clone());
    if w.get::<spaces::Steps>(&key)?.is_some() {
        return Ok(Receipt::Accepted);
    }
    let line = w.line(header.line)?;
    let kind = w.kind(&line.kind)?;
    lease::still_held(w, &kind, step.job, now)?;
    let count = w.backend.count_steps(&mut w.tables, step.job)?;
    Refusal::unless_within("a job, in steps,", count + 1, most::STEPS_PER_JOB)?;
    if !step.submission.is_empty() {
        submit::submit(w, &step.submission, line.batch, now)?;
    }
    w.put::<spaces::Steps>(key, step.output.clone());
    header.flags.steps = true;
    w.put::<spaces::Jobs>(step.job, header);
    let cause = Cause::Stepped { name: step.name.clone() };
    w.events.push(Event::Job { job: step.job, line: header.line, state: header.state, cause });
    Ok(Receipt::Accepted)
}

pub(super) fn progress<B: Backend>(
    w: &mut Working<B>,
    job: JobId,
    fence: u32,
    progress: &Progress,
    now: Time,
) -> Result<Receipt, Trouble> {
    let header = w.job(job)?;
    machine::apply(&header, Command::Touch { fence }, now)?;
    Refusal::unless_within("a progress note, in bytes,", progress.note.len(), most::NOTE_BYTES)?;
    if !(0.0..=1.0).contains(&progress.fraction) {
        return Err(Refusal::Invalid("progress goes from 0 to 1".into()).into());
    }
    w.get::<spaces::ProgressOf>(&job)?;
    w.put::<spaces::ProgressOf>(job, Progress { at: now, ..progress.clone() });
    Ok(Receipt::Accepted)
}
