//! Work comes: accepted once, in the right state, under its own key.

use turnwise_core::ids::{BatchId, JobId, LaneId};
use turnwise_core::job::State;
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_core::unique::{Unique, Window};
use turnwise_drivers::store::{NewJob, Start};

use super::{BatchShadow, JobShadow, Sent, Shadow};
use crate::work::{End, Work};
use crate::world::{Broken, broken};

impl Shadow {
    pub(super) fn accepted(
        &mut self,
        id: JobId,
        state: State,
        sent: &Sent<'_>,
        now: Time,
    ) -> Result<(), Broken> {
        let Some(new) = sent.jobs.get(&id) else {
            return broken(1, format!("{id} was accepted, but nobody sent it"));
        };
        if self.jobs.contains_key(&id) {
            return broken(2, format!("{id} was accepted twice"));
        }
        let work: Work = serde_json::from_slice(&new.payload).unwrap_or_default();
        if work.tag != 0
            && let Some(twin) = self.tags.insert(work.tag, id)
        {
            return broken(2, format!("{twin} and {id} are the same job, accepted twice"));
        }
        self.takes_keys(id, new, now)?;
        let due = match new.start {
            Start::Now => Time::ZERO,
            Start::After(span) => now + span,
            Start::At(time) => time,
        };
        let follows = self.follows.get(&id).copied();
        let lane = new.lane.as_ref().map(|lane| (Lane::id_of(&lane.name), lane.on_dead));
        let waits = self.may_not_start(id, follows, lane);
        let expected = match waits {
            true => State::Waiting,
            false if due > now => State::Scheduled,
            false => State::Ready,
        };
        if state != expected {
            let promise = if follows.is_some() { 5 } else { 4 };
            return broken(promise, format!("{id} was accepted as {state}, not as {expected}"));
        }
        self.ticks_do_not_overlap(id, new)?;
        let kind = self.kinds.get(&new.kind);
        let attempts = new.attempts.or(kind.map(|kind| kind.retry.attempts)).unwrap_or(1);
        let job = JobShadow {
            kind: new.kind.clone(),
            owner: new.owner.clone(),
            batch: new.batch.or(follows),
            key: new.limit_key.clone(),
            lane: lane.map(|(id, _)| id),
            continuation: follows.is_some(),
            state,
            due,
            fence: 0,
            attempt: 0,
            attempts,
            rescues: 0,
            session: None,
            cancel: false,
            counted: false,
            errors: 0,
            steps: Default::default(),
            cancels_itself: work.end == End::Cancel,
            replayed: false,
            since: now,
        };
        self.jobs.insert(id, job);
        if let Some(batch) = new.batch.filter(|_| follows.is_none()) {
            self.grows(batch, id, sent)?;
        }
        Ok(())
    }

    /// A schedule that skips submits nothing while the job of its last tick is unfinished.
    fn ticks_do_not_overlap(&self, id: JobId, new: &NewJob) -> Result<(), Broken> {
        // One that somebody wanted again is no tick any more.
        let overlaps = |job: &JobShadow| job.owner == new.owner && !job.state.is_final() && !job.replayed;
        if new.owner.starts_with("skip-") && self.jobs.values().any(overlaps) {
            return broken(
                8,
                format!("{id} is a tick of a schedule that skips, and the one before has not ended"),
            );
        }
        Ok(())
    }

    /// Whether a new job must wait: behind its lane, or for its batch.
    fn may_not_start(&mut self, id: JobId, follows: Option<BatchId>, lane: Option<(LaneId, OnDead)>) -> bool {
        if let Some((lane, on_dead)) = lane {
            let halts = on_dead == OnDead::Halt;
            self.lanes.entry(lane).or_insert_with(|| super::LaneShadow { halts, ..Default::default() });
        }
        if let Some(batch) = follows {
            return !self.batches.get(&batch).is_some_and(BatchShadow::is_over);
        }
        match lane {
            Some((lane, _)) => self.joins(lane, id),
            None => false,
        }
    }

    fn takes_keys(&mut self, id: JobId, new: &NewJob, now: Time) -> Result<(), Broken> {
        if let Some(other) = self.has_key(new, now) {
            return broken(8, format!("{id} was accepted although its key belongs to {other}"));
        }
        for unique in &new.unique {
            self.takes_key(id, &new.kind, unique, now);
        }
        Ok(())
    }

    fn takes_key(&mut self, id: JobId, kind: &Name, unique: &Unique, now: Time) {
        let until = match unique.window {
            Window::For(span) => now + span,
            Window::UntilSettled => Time::MAX,
        };
        self.uniques.insert((kind.clone(), unique.key.clone()), (id, until, unique.window));
    }

    /// The job that has the first of the keys that are taken now.
    pub(super) fn has_key(&self, new: &NewJob, now: Time) -> Option<JobId> {
        new.unique.iter().find_map(|unique| self.holder(&new.kind, unique, now))
    }

    fn holder(&self, kind: &Name, unique: &Unique, now: Time) -> Option<JobId> {
        let taken = self.uniques.get(&(kind.clone(), unique.key.clone()));
        taken.filter(|(_, until, _)| *until > now).map(|(job, ..)| *job)
    }

    /// A job answered for another submission: that one's free keys which are for a time are the job's from now on.
    pub(super) fn lends_keys(&mut self, id: JobId, new: &NewJob, now: Time) {
        for unique in new.unique.iter().filter(|unique| unique.window != Window::UntilSettled) {
            if self.holder(&new.kind, unique, now).is_none() {
                self.takes_key(id, &new.kind, unique, now);
            }
        }
    }
}
