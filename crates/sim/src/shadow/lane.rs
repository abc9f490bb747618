//! Lanes: a queue in the order in which jobs joined; only its front may start, and only one at a time.

use turnwise_core::event::Event;
use turnwise_core::ids::{JobId, LaneId};
use turnwise_core::job::State;
use turnwise_core::time::Time;

use super::{JobShadow, Shadow};
use crate::world::{Broken, broken};

/// A lane as it must be.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneShadow {
    /// Its jobs that have not ended, in the order in which they joined.
    pub(crate) queue: Vec<JobId>,
    /// It stands still after a dead letter.
    pub(crate) halts: bool,
    /// It stands still because of one.
    pub(crate) halted: bool,
    /// It was paused.
    pub(crate) paused: bool,
}

impl LaneShadow {
    fn stands(&self) -> bool {
        self.halted || self.paused
    }
}

impl Shadow {
    /// A job joins the tail. Whether it must wait.
    pub(super) fn joins(&mut self, lane: LaneId, id: JobId) -> bool {
        let lane = self.lanes.entry(lane).or_default();
        lane.queue.push(id);
        lane.stands() || lane.queue.len() > 1
    }

    /// A job ended and leaves its lane.
    pub(super) fn leaves(&mut self, id: JobId, before: &JobShadow, end: State) -> Result<(), Broken> {
        let Some(lane) = before.lane.and_then(|lane| self.lanes.get_mut(&lane)) else { return Ok(()) };
        lane.queue.retain(|job| *job != id);
        lane.halted |= lane.halts && end == State::Dead;
        Ok(())
    }

    pub(super) fn halted(&mut self, id: LaneId) -> Result<(), Broken> {
        match self.lanes.get(&id).is_some_and(|lane| lane.halted) {
            true => Ok(()),
            false => broken(4, format!("lane {id} halted without a dead letter")),
        }
    }

    pub(super) fn lane_allows(&self, id: JobId, job: &JobShadow) -> Result<(), Broken> {
        let Some(lane) = job.lane.and_then(|lane| self.lanes.get(&lane)) else { return Ok(()) };
        if lane.queue.first() != Some(&id) {
            let first = lane.queue.first().and_then(|first| Some((first, self.jobs.get(first)?.state)));
            return broken(4, format!("{id} overtook {first:?} in its lane"));
        }
        if lane.stands() {
            return broken(4, format!("{id} was started although its lane stands still"));
        }
        Ok(())
    }

    /// A waiting job's turn came: in its lane, or because its batch released it.
    pub(super) fn promoted(
        &mut self,
        id: JobId,
        job: &JobShadow,
        state: State,
        now: Time,
    ) -> Result<(), Broken> {
        let expected = if job.due > now { State::Scheduled } else { State::Ready };
        if job.state != State::Waiting || state != expected {
            return broken(4, format!("{id} was promoted from {} to {state}, due {}", job.state, job.due));
        }
        self.batch_allows(id, job)?;
        self.lane_allows(id, job)
    }

    pub(super) fn held(&mut self, id: JobId, job: &JobShadow, state: State) -> Result<(), Broken> {
        let stands = job.lane.and_then(|lane| self.lanes.get(&lane)).is_some_and(LaneShadow::stands);
        if !stands || state != State::Waiting {
            return broken(4, format!("{id} was held, but its lane does not stand still"));
        }
        if matches!(job.state, State::Ready) {
            self.shadow_of(id)?.due = Time::ZERO;
        }
        Ok(())
    }

    /// A lane that does not stand still has its first job on its way; a batch whose jobs have ended has settled.
    pub(super) fn nobody_is_stuck(&self, events: &[Event]) -> Result<(), Broken> {
        for event in events {
            let Event::Job { job, .. } = event else { continue };
            let Some(job) = self.jobs.get(job) else { continue };
            if let Some(lane) = job.lane.and_then(|lane| self.lanes.get(&lane))
                && let Some(first) = lane.queue.first()
                && !lane.stands()
                && self.jobs.get(first).is_some_and(|job| job.state == State::Waiting)
            {
                return broken(4, format!("{first} is the first of its lane, but nobody let it go on"));
            }
            if let Some((id, batch)) = job.batch.and_then(|id| Some((id, self.batches.get(&id)?)))
                && batch.should_be_over()
            {
                return broken(5, format!("the last job of batch {id} ended, but the batch did not settle"));
            }
        }
        Ok(())
    }
}
