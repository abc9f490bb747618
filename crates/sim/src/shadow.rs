//! The shadow: what the store must be like, kept up from the units that were sent and the events that came of them,
//! by rules of its own. Every commit is judged against it; nothing here asks the store.

mod accept;
mod around;
mod batch;
mod claim;
mod lane;
mod settle;

use std::collections::{BTreeMap, BTreeSet};

use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::{BatchId, JobId, LaneId, SessionId};
use turnwise_core::job::State;
use turnwise_core::kind::Kind;
use turnwise_core::name::Name;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;
use turnwise_core::unique::Window;
use turnwise_drivers::store::{Claim, NewBatch, NewJob, Outcome, Settle, StepDone, Submission, Unit};

use crate::world::{Broken, broken};

pub(crate) use batch::BatchShadow;
pub(crate) use claim::is_target;
pub(crate) use lane::LaneShadow;

/// A commit as it was seen from outside.
pub(crate) struct Seen<'a> {
    /// When, on the store's clock.
    pub(crate) now: Time,
    /// Who sent it.
    pub(crate) process: usize,
    /// In which life.
    pub(crate) life: u32,
    /// What was sent.
    pub(crate) units: &'a [Unit],
    /// What was answered.
    pub(crate) outcomes: &'a [Outcome],
    /// What happened.
    pub(crate) events: &'a [Event],
}

/// A job as it must be.
#[derive(Clone, Debug)]
pub(crate) struct JobShadow {
    /// Its kind.
    pub(crate) kind: Name,
    /// Whose turn it takes.
    pub(crate) owner: Name,
    /// Its batch.
    pub(crate) batch: Option<BatchId>,
    /// Its limit key.
    pub(crate) key: Option<Name>,
    /// Its lane.
    pub(crate) lane: Option<LaneId>,
    /// It follows its batch.
    pub(crate) continuation: bool,
    /// Where it is.
    pub(crate) state: State,
    /// When it is due, if later.
    pub(crate) due: Time,
    /// Its last claim.
    pub(crate) fence: u32,
    /// Its attempt.
    pub(crate) attempt: u16,
    /// How many it may have.
    pub(crate) attempts: u16,
    /// How often it was rescued.
    pub(crate) rescues: u16,
    /// Who runs it.
    pub(crate) session: Option<SessionId>,
    /// Somebody asked for its end.
    pub(crate) cancel: bool,
    /// Its batch has counted it.
    pub(crate) counted: bool,
    /// Errors that must be kept.
    pub(crate) errors: usize,
    /// Its finished steps.
    pub(crate) steps: BTreeSet<Name>,
    /// Its script says that it cancels itself.
    pub(crate) cancels_itself: bool,
    /// Somebody wanted it again.
    pub(crate) replayed: bool,
    /// Since when it is in its state.
    pub(crate) since: Time,
}

#[derive(Clone, Copy, Debug)]
struct SessionShadow {
    process: usize,
    life: u32,
    until: Time,
}

#[derive(Clone, Debug)]
struct LeaseShadow {
    holder: Name,
    process: usize,
    term: u64,
    until: Time,
}

#[derive(Clone, Copy, Debug)]
struct ClaimShadow {
    process: usize,
    life: u32,
    term: Option<u64>,
}

/// The whole of it.
#[derive(Default)]
pub(crate) struct Shadow {
    /// Jobs.
    pub(crate) jobs: BTreeMap<JobId, JobShadow>,
    /// Batches.
    pub(crate) batches: BTreeMap<BatchId, BatchShadow>,
    /// Lanes.
    pub(crate) lanes: BTreeMap<LaneId, LaneShadow>,
    /// What is paused.
    pub(crate) paused: BTreeSet<Target>,
    /// Kinds.
    pub(crate) kinds: BTreeMap<Name, Kind>,
    /// Starts by owner, in the order they came.
    pub(crate) starts: Vec<(Time, JobId)>,
    sessions: BTreeMap<SessionId, SessionShadow>,
    leases: BTreeMap<Name, LeaseShadow>,
    claims: BTreeMap<(JobId, u32), ClaimShadow>,
    uniques: BTreeMap<(Name, Name), (JobId, Time, Window)>,
    /// Which batch a continuation follows.
    follows: BTreeMap<JobId, BatchId>,
    tags: BTreeMap<u64, JobId>,
    /// No fault happens: nobody has a reason to ask for what he has.
    calm: bool,
    /// Schedules that were removed; no name is used again.
    unscheduled: BTreeSet<Name>,
    rates: BTreeMap<(Name, Option<Name>), Vec<Time>>,
}

/// The accepted units of a commit, by what they are about.
#[derive(Default)]
struct Sent<'a> {
    jobs: BTreeMap<JobId, &'a NewJob>,
    opened: BTreeMap<BatchId, &'a NewBatch>,
    claims: BTreeMap<JobId, &'a Claim>,
    settles: BTreeMap<JobId, &'a Settle>,
    steps: Vec<&'a StepDone>,
}

impl<'a> Sent<'a> {
    fn of(seen: &Seen<'a>) -> Self {
        let mut sent = Sent::default();
        for (unit, outcome) in seen.units.iter().zip(seen.outcomes) {
            if outcome.is_err() {
                continue;
            }
            match unit {
                Unit::Submit(submission) => sent.submission(submission),
                Unit::Claim(claim) => drop(sent.claims.insert(claim.job, claim)),
                Unit::Settle(settle) => {
                    sent.submission(&settle.submission);
                    sent.settles.insert(settle.job, settle);
                }
                Unit::Step(step) => {
                    sent.submission(&step.submission);
                    sent.steps.push(step);
                }
                _ => {}
            }
        }
        sent
    }

    fn submission(&mut self, submission: &'a Submission) {
        for new in &submission.open {
            self.opened.insert(new.id, new);
            if let Some(then) = &new.then {
                self.jobs.insert(then.job.id, &then.job);
            }
        }
        self.jobs.extend(submission.jobs.iter().map(|job| (job.id, job)));
    }
}

impl Shadow {
    /// Of an empty store, in a calm world or not.
    pub(crate) fn new(calm: bool) -> Self {
        Shadow { calm, ..Shadow::default() }
    }

    /// Judges a commit, and takes it in.
    pub(crate) fn observe(&mut self, seen: &Seen<'_>) -> Result<(), Broken> {
        let sent = Sent::of(seen);
        for (unit, outcome) in seen.units.iter().zip(seen.outcomes) {
            if let Ok(receipt) = outcome {
                self.around(unit, receipt, seen)?;
            }
        }
        for event in seen.events {
            self.take(event, &sent, seen)?;
        }
        self.answers(seen)?;
        self.nobody_is_stuck(seen.events)
    }

    fn take(&mut self, event: &Event, sent: &Sent<'_>, seen: &Seen<'_>) -> Result<(), Broken> {
        match event {
            Event::Job { job, state, cause, .. } => self.job(*job, *state, cause, sent, seen),
            Event::BatchOpened(id) => self.opened(*id, sent),
            Event::BatchSealed(id) => self.sealed(*id),
            Event::BatchSettled(id) => self.settled(*id),
            Event::BatchParked(id) => self.parked(*id),
            Event::BatchReleased(id) => self.released(*id, seen),
            Event::BatchCancelled(id) => self.batch_cancelled(*id),
            Event::LaneHalted(id) => self.halted(*id),
            Event::LanePaused(id, paused) => {
                let lane = self.lanes.entry(*id).or_default();
                lane.paused = *paused;
                lane.halted &= *paused;
                Ok(())
            }
            Event::Paused(target, true) => {
                self.paused.insert(target.clone());
                Ok(())
            }
            Event::Paused(target, false) => {
                self.paused.remove(target);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn job(
        &mut self,
        id: JobId,
        state: State,
        cause: &Cause,
        sent: &Sent<'_>,
        seen: &Seen<'_>,
    ) -> Result<(), Broken> {
        if *cause == Cause::Submitted {
            return self.accepted(id, state, sent, seen.now);
        }
        let Some(before) = self.jobs.get(&id).cloned() else {
            return broken(1, format!("{id} moved ({cause:?}), but was never accepted"));
        };
        match cause {
            Cause::Submitted => {}
            Cause::Claimed { session, fence, attempt } => {
                self.claimed(id, &before, (*session, *fence, *attempt), sent, seen)?;
            }
            Cause::Completed
            | Cause::Failed { .. }
            | Cause::Snoozed { .. }
            | Cause::Stopped
            | Cause::Released => self.settle(id, &before, state, cause, sent, seen.now)?,
            Cause::Rescued { session } => self.rescued(id, &before, *session, state, seen.now)?,
            Cause::Cancelled => self.job_cancelled(id, &before, state)?,
            Cause::Ripened | Cause::Expedited => self.ripened(id, &before, cause, state, seen.now)?,
            Cause::Promoted => self.promoted(id, &before, state, seen.now)?,
            Cause::Held => self.held(id, &before, state)?,
            Cause::Replayed => self.replayed(id, &before, state)?,
            Cause::Stepped { name } => self.stepped(id, &before, name, sent)?,
        }
        let job = self.shadow_of(id)?;
        job.state = state;
        if before.state != state {
            job.since = seen.now;
        }
        if state.is_final() && !before.state.is_final() {
            self.ended(id, &before, state)?;
        }
        Ok(())
    }

    fn shadow_of(&mut self, id: JobId) -> Result<&mut JobShadow, Broken> {
        let missing = || Broken { promise: 1, how: format!("{id} was never accepted") };
        self.jobs.get_mut(&id).ok_or_else(missing)
    }

    /// What ends with a job.
    fn ended(&mut self, id: JobId, before: &JobShadow, end: State) -> Result<(), Broken> {
        self.uniques.retain(|_, (job, _, window)| *job != id || *window != Window::UntilSettled);
        self.leaves(id, before, end)?;
        self.counts(id, before, end)
    }

    /// Which process claimed a job under a fence.
    pub(crate) fn claimed_by(&self, job: JobId, fence: u32) -> Option<(usize, u32)> {
        self.claims.get(&(job, fence)).map(|claim| (claim.process, claim.life))
    }

    /// Jobs that have not ended and could, or must: all but continuations that wait for a decision.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&JobId, &JobShadow)> {
        self.jobs.iter().filter(|(id, job)| !job.state.is_final() && !self.waits_for_a_decision(**id))
    }

    /// A job that runs in a life of a process, other than one whose thread cannot be stopped.
    pub(crate) fn runs_in(&self, process: usize, life: u32) -> Option<JobId> {
        let mine = |job: &JobShadow| {
            let session = job.session.and_then(|session| self.sessions.get(&session));
            job.state == State::Running
                && *job.kind != *"blocking"
                && session.is_some_and(|session| (session.process, session.life) == (process, life))
        };
        self.jobs.iter().find(|(_, job)| mine(job)).map(|(id, _)| *id)
    }

    /// How many run, of a kind or of one of its keys.
    pub(crate) fn running(&self, kind: &Name, key: Option<&Name>) -> usize {
        let runs = |job: &&JobShadow| {
            job.state == State::Running && job.kind == *kind && (key.is_none() || job.key.as_ref() == key)
        };
        self.jobs.values().filter(runs).count()
    }
}
