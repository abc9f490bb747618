//! A batch counts the ends of its jobs and releases its continuation exactly once.
//!
//! The counts change in the same commit as the job that ended, and each job is counted once in its life
//! (its header remembers it). Nothing here counts events or messages.

use serde::{Deserialize, Serialize};

use crate::ids::{BatchId, JobId};
use crate::job::State;
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Time;

/// When a continuation is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When the last job has settled, however it ended.
    Settled,
    /// Only if every job was done; otherwise the batch is parked and a person or a replay decides.
    AllDone,
}

/// The job that follows a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// It waits in the store from the beginning.
    pub job: JobId,
    /// When it is released.
    pub when: When,
}

/// Where a batch is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Phase {
    /// Takes more jobs.
    Open = 0,
    /// Takes no more jobs; some have not ended.
    Sealed = 1,
    /// All have ended.
    Settled = 2,
    /// All have ended, not all well, and the continuation waits for a decision.
    Parked = 3,
}

impl Phase {
    /// The phase with this number.
    pub fn from_number(number: u8) -> Option<Phase> {
        [Phase::Open, Phase::Sealed, Phase::Settled, Phase::Parked].get(usize::from(number)).copied()
    }

    /// The word that people see.
    pub const fn word(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Sealed => "sealed",
            Phase::Settled => "settled",
            Phase::Parked => "parked",
        }
    }
}

/// A batch and its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Which batch.
    pub id: BatchId,
    /// What people call it.
    pub name: Name,
    /// Whose.
    pub owner: Name,
    /// When it was opened.
    pub opened: Time,
    /// When it settled, or [`Time::ZERO`].
    pub settled: Time,
    /// Where it is in its life.
    pub phase: Phase,
    /// Jobs in it.
    pub total: u64,
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that died.
    pub dead: u64,
    /// Jobs that were cancelled.
    pub cancelled: u64,
    /// Jobs that had been counted dead or cancelled and were done after a replay.
    pub repaired: u64,
    /// What follows.
    pub then: Option<Continuation>,
    /// Somebody wants all of it to end.
    pub cancel: bool,
    /// The largest job id in it, so that its jobs can be found without an index.
    pub last: JobId,
    /// The smallest, for the same.
    pub first: JobId,
}

/// What the end of a job means for its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing more.
    Nothing,
    /// The batch settled, and this continuation is to be released.
    Settled(Option<JobId>),
    /// The batch settled, but not all was done: its continuation waits for a decision.
    Parked,
    /// The batch was parked, and the last failure has been repaired: release.
    Repaired(JobId),
}

impl Batch {
    /// Jobs that have not ended.
    pub fn pending(&self) -> u64 {
        self.total - self.done - self.dead - self.cancelled
    }

    /// Takes in more jobs.
    pub fn add(&mut self, jobs: u64, job: JobId) -> Result<(), Refusal> {
        if self.cancel {
            return Err(Refusal::BatchCancelled(self.id));
        }
        if self.phase != Phase::Open {
            return Err(Refusal::Sealed(self.id));
        }
        self.take_in(jobs, job);
        Ok(())
    }

    /// Takes in jobs that one of its own running jobs submits: allowed until the batch settles, because
    /// that job itself keeps it from settling.
    pub fn grow(&mut self, jobs: u64, job: JobId) -> Result<(), Refusal> {
        if self.cancel {
            return Err(Refusal::BatchCancelled(self.id));
        }
        if self.pending() == 0 {
            return Err(Refusal::Sealed(self.id));
        }
        self.take_in(jobs, job);
        Ok(())
    }

    fn take_in(&mut self, jobs: u64, job: JobId) {
        self.first = if self.total == 0 { job } else { self.first.min(job) };
        self.last = self.last.max(job);
        self.total += jobs;
    }

    /// The ids from and to which its jobs lie, its continuation among them; none if there are no jobs.
    pub fn ids(&self) -> Option<(JobId, JobId)> {
        let jobs = (self.total > 0).then_some([self.first, self.last]);
        let all = jobs.into_iter().flatten().chain(self.then.map(|then| then.job));
        Some((all.clone().min()?, all.max()?))
    }

    /// Closes the batch to more jobs. Sealing twice is sealing once.
    pub fn seal(&mut self, now: Time) -> Result<Turn, Refusal> {
        if self.phase != Phase::Open {
            return Ok(Turn::Nothing);
        }
        if self.total == 0 {
            return Err(Refusal::EmptyBatch(self.id));
        }
        self.phase = Phase::Sealed;
        Ok(self.settle_if_over(now))
    }

    /// Counts the first end of one of its jobs.
    pub fn count(&mut self, end: State, now: Time) -> Turn {
        match end {
            State::Done => self.done += 1,
            State::Dead => self.dead += 1,
            _ => self.cancelled += 1,
        }
        self.settle_if_over(now)
    }

    /// A job that had been counted as dead or cancelled was done after a replay. The counts stay as they
    /// are; only a parked batch is moved by it.
    pub fn repair(&mut self, now: Time) -> Turn {
        self.repaired += 1;
        match self.then {
            Some(then) if self.phase == Phase::Parked && self.failures() == 0 => {
                self.phase = Phase::Settled;
                self.settled = now;
                Turn::Repaired(then.job)
            }
            _ => Turn::Nothing,
        }
    }

    /// A person decides that a parked batch goes on.
    pub fn release(&mut self) -> Result<Option<JobId>, Refusal> {
        if self.phase != Phase::Parked {
            return Err(Refusal::NotParked(self.id));
        }
        self.phase = Phase::Settled;
        Ok(self.then.map(|then| then.job))
    }

    fn failures(&self) -> u64 {
        (self.dead + self.cancelled).saturating_sub(self.repaired)
    }

    /// Settles a sealed batch whose jobs have all ended.
    pub fn settle_if_over(&mut self, now: Time) -> Turn {
        if self.phase != Phase::Sealed || self.pending() > 0 {
            return Turn::Nothing;
        }
        self.settled = now;
        match self.then {
            Some(then) if then.when == When::AllDone && self.failures() > 0 => {
                self.phase = Phase::Parked;
                Turn::Parked
            }
            then => {
                self.phase = Phase::Settled;
                Turn::Settled(then.map(|then| then.job))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Time = Time::from_millis(5);

    fn batch(when: Option<When>) -> Batch {
        Batch {
            id: BatchId::from_u64(1),
            name: Name::new("b").unwrap(),
            owner: Name::new("o").unwrap(),
            opened: Time::ZERO,
            settled: Time::ZERO,
            phase: Phase::Open,
            total: 0,
            done: 0,
            dead: 0,
            cancelled: 0,
            repaired: 0,
            then: when.map(|when| Continuation { job: JobId::from_u64(99), when }),
            cancel: false,
            last: JobId::from_u64(0),
            first: JobId::from_u64(0),
        }
    }

    #[test]
    fn its_jobs_lie_between_two_ids() {
        let ids = |batch: &Batch| batch.ids().map(|(first, last)| (first.as_u64(), last.as_u64()));
        assert_eq!((ids(&batch(None)), ids(&batch(Some(When::Settled)))), (None, Some((99, 99))));
        let mut batch = batch(None);
        for id in [7, 5, 9] {
            batch.add(1, JobId::from_u64(id)).unwrap();
        }
        assert_eq!(ids(&batch), Some((5, 9)));
    }

    #[test]
    fn an_open_batch_never_settles() {
        let mut batch = batch(Some(When::Settled));
        batch.add(1, JobId::from_u64(1)).unwrap();
        assert_eq!(batch.count(State::Done, NOW), Turn::Nothing);
        assert_eq!(batch.seal(NOW), Ok(Turn::Settled(Some(JobId::from_u64(99)))));
        assert_eq!(batch.seal(NOW), Ok(Turn::Nothing));
    }

    #[test]
    fn an_empty_batch_is_refused() {
        assert_eq!(batch(None).seal(NOW), Err(Refusal::EmptyBatch(BatchId::from_u64(1))));
    }

    #[test]
    fn a_failure_parks_and_a_replay_releases_once() {
        let mut batch = batch(Some(When::AllDone));
        batch.add(2, JobId::from_u64(2)).unwrap();
        batch.seal(NOW).unwrap();
        assert_eq!(batch.count(State::Dead, NOW), Turn::Nothing);
        assert_eq!(batch.count(State::Done, NOW), Turn::Parked);
        assert_eq!(batch.repair(NOW), Turn::Repaired(JobId::from_u64(99)));
        assert_eq!(batch.repair(NOW), Turn::Nothing);
        assert_eq!(batch.release(), Err(Refusal::NotParked(batch.id)));
        assert_eq!((batch.done, batch.dead), (1, 1), "replay after settling never counts again");
    }

    #[test]
    fn a_running_job_grows_its_own_sealed_batch() {
        let mut batch = batch(None);
        batch.add(1, JobId::from_u64(1)).unwrap();
        batch.seal(NOW).unwrap();
        assert!(batch.add(1, JobId::from_u64(2)).is_err());
        batch.grow(1, JobId::from_u64(2)).unwrap();
        assert_eq!(batch.count(State::Done, NOW), Turn::Nothing);
        assert_eq!(batch.count(State::Done, NOW), Turn::Settled(None));
        assert!(batch.grow(1, JobId::from_u64(3)).is_err());
    }

    proptest! {
        #[test]
        fn settles_exactly_once(ends in prop::collection::vec(0u8..3, 1..40), seal_at in 0usize..40, all in any::<bool>()) {
            let mut batch = batch(Some(if all { When::AllDone } else { When::Settled }));
            batch.add(ends.len() as u64, JobId::from_u64(1)).unwrap();
            let seal_at = seal_at.min(ends.len());
            let mut turns = Vec::new();
            for (place, end) in ends.iter().enumerate() {
                if place == seal_at {
                    turns.push(batch.seal(NOW).unwrap());
                }
                turns.push(batch.count([State::Done, State::Dead, State::Cancelled][usize::from(*end)], NOW));
            }
            if seal_at == ends.len() {
                turns.push(batch.seal(NOW).unwrap());
            }
            let over = turns.iter().filter(|turn| **turn != Turn::Nothing).count();
            prop_assert_eq!(over, 1);
            prop_assert_ne!(turns.last(), Some(&Turn::Nothing));
            let bad = ends.iter().any(|&end| end != 0);
            prop_assert_eq!(batch.phase, if all && bad { Phase::Parked } else { Phase::Settled });
        }
    }
}
