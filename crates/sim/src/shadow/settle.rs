//! A run ends: only by its own claim, and as its verdict says.

use turnwise_core::event::Cause;
use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::job::State;
use turnwise_core::name::Name;
use turnwise_core::retry::Class;
use turnwise_core::time::Time;
use turnwise_drivers::store::Verdict;

use super::{JobShadow, Sent, Shadow};
use crate::world::{Broken, broken};

impl Shadow {
    pub(super) fn settle(
        &mut self,
        id: JobId,
        job: &JobShadow,
        state: State,
        cause: &Cause,
        sent: &Sent<'_>,
        now: Time,
    ) -> Result<(), Broken> {
        let Some(settle) = sent.settles.get(&id) else {
            return broken(2, format!("the run of {id} ended ({cause:?}), but nobody said so"));
        };
        if job.state != State::Running || settle.fence != job.fence {
            let text = format!(
                "a completion of {id} with fence {} was accepted; it is {} at {}",
                settle.fence, job.state, job.fence
            );
            return broken(2, text);
        }
        let (expected, due) = self.outcome(id, job, &settle.verdict, now);
        if state != expected {
            return broken(6, format!("{id} is {state} after {:?}, not {expected}", settle.verdict));
        }
        if let (Cause::Failed { due: Some(told), .. } | Cause::Snoozed { due: told }, Some(due)) =
            (cause, due)
            && *told != due
        {
            return broken(6, format!("{id} is due again at {told}, not at {due}"));
        }
        if settle.verdict == Verdict::Cancelled && !job.cancel && !job.cancels_itself {
            return broken(6, format!("{id} was cancelled by a shutdown: nobody asked for its end"));
        }
        let unburnt = matches!(settle.verdict, Verdict::Released)
            || matches!(settle.verdict, Verdict::Snoozed(_)) && !job.cancel;
        let failed = matches!(settle.verdict, Verdict::Failed { .. } | Verdict::Dead(_));
        let job = self.shadow_of(id)?;
        job.session = None;
        job.attempt -= u16::from(unburnt);
        job.errors += usize::from(failed);
        job.due = due.unwrap_or(Time::ZERO);
        Ok(())
    }

    /// The state after a verdict, and when the job is due again.
    fn outcome(&self, id: JobId, job: &JobShadow, verdict: &Verdict, now: Time) -> (State, Option<Time>) {
        match verdict {
            Verdict::Done(_) => (State::Done, None),
            _ if job.cancel => (State::Cancelled, None),
            Verdict::Cancelled => (State::Cancelled, None),
            Verdict::Dead(_) => (State::Dead, None),
            Verdict::Released => (State::Ready, None),
            Verdict::Snoozed(span) => (State::Scheduled, Some(now + *span)),
            Verdict::Failed { class: Class::Never, .. } => (State::Dead, None),
            Verdict::Failed { .. } if job.attempt >= job.attempts => (State::Dead, None),
            Verdict::Failed { class, .. } => {
                let retry = self.kinds.get(&job.kind).map(|kind| &kind.retry);
                let wait = retry.and_then(|retry| retry.wait(*class, id, job.attempt));
                (State::Retrying, wait.map(|wait| now + wait))
            }
        }
    }

    pub(super) fn rescued(
        &mut self,
        id: JobId,
        job: &JobShadow,
        session: SessionId,
        state: State,
        now: Time,
    ) -> Result<(), Broken> {
        if job.state != State::Running || job.session != Some(session) {
            return broken(2, format!("{id} was taken from session {session}, which did not run it"));
        }
        if self.sessions.get(&session).is_some_and(|session| session.until > now) {
            return broken(2, format!("{id} was taken from session {session}, which is alive"));
        }
        let limit = self.kinds.get(&job.kind).map_or(u16::MAX, |kind| kind.rescues);
        let expected = match job.cancel {
            true => State::Cancelled,
            false if job.rescues + 1 > limit => State::Dead,
            false => State::Ready,
        };
        if state != expected {
            return broken(6, format!("{id} is {state} after rescue {} of {limit}", job.rescues + 1));
        }
        let job = self.shadow_of(id)?;
        job.rescues += 1;
        job.attempt -= 1;
        job.errors += 1;
        job.session = None;
        Ok(())
    }

    pub(super) fn job_cancelled(&mut self, id: JobId, job: &JobShadow, state: State) -> Result<(), Broken> {
        let expected = if job.state == State::Running { State::Running } else { State::Cancelled };
        if job.state.is_final() || state != expected {
            return broken(6, format!("{id} is {state} after a cancel, and was {}", job.state));
        }
        self.shadow_of(id)?.cancel = true;
        Ok(())
    }

    pub(super) fn ripened(
        &mut self,
        id: JobId,
        job: &JobShadow,
        cause: &Cause,
        state: State,
        now: Time,
    ) -> Result<(), Broken> {
        let waits = matches!(job.state, State::Scheduled | State::Retrying);
        if !waits || state != State::Ready || *cause == Cause::Ripened && job.due > now {
            return broken(
                6,
                format!("{id} was {} until {}, and is {state} ({cause:?})", job.state, job.due),
            );
        }
        Ok(())
    }

    pub(super) fn replayed(&mut self, id: JobId, job: &JobShadow, state: State) -> Result<(), Broken> {
        if !matches!(job.state, State::Dead | State::Cancelled) {
            return broken(7, format!("{id} was replayed while it was {}", job.state));
        }
        let waits = job.lane.is_some_and(|lane| self.joins(lane, id));
        let expected = if waits { State::Waiting } else { State::Ready };
        if state != expected {
            return broken(4, format!("{id} is {state} after a replay, not {expected}"));
        }
        let job = self.shadow_of(id)?;
        (job.attempt, job.rescues, job.cancel, job.due) = (0, 0, false, Time::ZERO);
        job.replayed = true;
        Ok(())
    }

    pub(super) fn stepped(
        &mut self,
        id: JobId,
        job: &JobShadow,
        name: &Name,
        sent: &Sent<'_>,
    ) -> Result<(), Broken> {
        let step = sent.steps.iter().find(|step| step.job == id && step.name == *name);
        if job.state != State::Running || step.is_none_or(|step| step.fence != job.fence) {
            return broken(2, format!("step {name} of {id} was accepted from an older claim"));
        }
        match self.shadow_of(id)?.steps.insert(name.clone()) {
            true => Ok(()),
            false => broken(2, format!("step {name} of {id} was taken twice")),
        }
    }
}
