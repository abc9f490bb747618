//! Batches: counted once, settled once, and followed once.

use turnwise_core::batch::{Phase, When};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_drivers::store::{Control, Unit};

use super::{JobShadow, Seen, Sent, Shadow};
use crate::world::{Broken, broken};

/// A batch as it must be.
#[derive(Clone, Debug)]
pub(crate) struct BatchShadow {
    /// Where it is.
    pub(crate) phase: Phase,
    /// Its jobs.
    pub(crate) total: u64,
    /// Those that were done, died and were cancelled.
    pub(crate) ends: [u64; 3],
    /// Those that were done after a replay.
    pub(crate) repaired: u64,
    /// Somebody wants it to end.
    pub(crate) cancel: bool,
    then: Option<(JobId, When)>,
}

impl BatchShadow {
    fn pending(&self) -> u64 {
        self.total - self.ends.iter().sum::<u64>()
    }

    fn failures(&self) -> u64 {
        (self.ends[1] + self.ends[2]).saturating_sub(self.repaired)
    }

    /// Whether it has settled for good.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Settled
    }

    /// Whether nothing keeps it from settling.
    pub(crate) fn should_be_over(&self) -> bool {
        self.phase == Phase::Sealed && self.pending() == 0
    }

    fn should_park(&self) -> bool {
        self.failures() > 0 && self.then.is_some_and(|(_, when)| when == When::AllDone)
    }
}

impl Shadow {
    fn batch(&mut self, id: BatchId) -> Result<&mut BatchShadow, Broken> {
        let missing = || Broken { promise: 5, how: format!("batch {id} was never opened") };
        self.batches.get_mut(&id).ok_or_else(missing)
    }

    pub(super) fn opened(&mut self, id: BatchId, sent: &Sent<'_>) -> Result<(), Broken> {
        let Some(new) = sent.opened.get(&id) else {
            return broken(5, format!("batch {id} was opened, but nobody sent it"));
        };
        let then = new.then.as_ref().map(|then| (then.job.id, then.when));
        if let Some((job, _)) = then {
            self.follows.insert(job, id);
        }
        let batch =
            BatchShadow { phase: Phase::Open, total: 0, ends: [0; 3], repaired: 0, cancel: false, then };
        match self.batches.insert(id, batch) {
            Some(_) => broken(5, format!("batch {id} was opened twice")),
            None => Ok(()),
        }
    }

    /// A job joins: while the batch is open, or from one of its own running jobs.
    pub(super) fn grows(&mut self, id: BatchId, job: JobId, sent: &Sent<'_>) -> Result<(), Broken> {
        let of_batch = |sender: &JobId| self.jobs.get(sender).is_some_and(|sender| sender.batch == Some(id));
        let own = sent.settles.keys().any(of_batch) || sent.steps.iter().any(|step| of_batch(&step.job));
        let batch = self.batch(id)?;
        if batch.cancel || !(batch.phase == Phase::Open || own && batch.pending() > 0) {
            return broken(5, format!("batch {id} took {job} in although it was {}", batch.phase.word()));
        }
        batch.total += 1;
        Ok(())
    }

    pub(super) fn sealed(&mut self, id: BatchId) -> Result<(), Broken> {
        let batch = self.batch(id)?;
        if batch.phase != Phase::Open {
            return broken(5, format!("batch {id} was sealed twice"));
        }
        batch.phase = Phase::Sealed;
        Ok(())
    }

    /// A job of a batch ended.
    pub(super) fn counts(&mut self, id: JobId, before: &JobShadow, end: State) -> Result<(), Broken> {
        let Some(batch) = before.batch.filter(|_| !before.continuation) else { return Ok(()) };
        let first = !before.counted;
        self.shadow_of(id)?.counted = true;
        let batch = self.batch(batch)?;
        match (first, end) {
            (true, State::Done) => batch.ends[0] += 1,
            (true, State::Dead) => batch.ends[1] += 1,
            (true, _) => batch.ends[2] += 1,
            (false, State::Done) => batch.repaired += 1,
            (false, _) => {}
        }
        Ok(())
    }

    pub(super) fn settled(&mut self, id: BatchId) -> Result<(), Broken> {
        let batch = self.batch(id)?;
        if !batch.should_be_over() || batch.should_park() {
            return broken(
                5,
                format!("batch {id} settled too early, twice, or instead of parking: {batch:?}"),
            );
        }
        batch.phase = Phase::Settled;
        self.lets_follow(id)
    }

    pub(super) fn parked(&mut self, id: BatchId) -> Result<(), Broken> {
        let batch = self.batch(id)?;
        if !batch.should_be_over() || !batch.should_park() {
            return broken(5, format!("batch {id} was parked without a reason: {batch:?}"));
        }
        batch.phase = Phase::Parked;
        Ok(())
    }

    pub(super) fn released(&mut self, id: BatchId, seen: &Seen<'_>) -> Result<(), Broken> {
        let asked = |unit: &Unit| matches!(unit, Unit::Control(Control::ReleaseBatch(batch)) if *batch == id);
        let asked = seen.units.iter().any(asked);
        let batch = self.batch(id)?;
        if batch.phase != Phase::Parked || !(asked || batch.failures() == 0) {
            return broken(5, format!("batch {id} was released by nobody: {batch:?}"));
        }
        batch.phase = Phase::Settled;
        self.lets_follow(id)
    }

    pub(super) fn batch_cancelled(&mut self, id: BatchId) -> Result<(), Broken> {
        let batch = self.batch(id)?;
        match batch.phase {
            Phase::Parked => batch.phase = Phase::Settled,
            Phase::Settled => return broken(5, format!("batch {id} was cancelled after it had settled")),
            Phase::Open | Phase::Sealed => {
                batch.cancel = true;
                batch.phase = if batch.total == 0 { Phase::Settled } else { Phase::Sealed };
            }
        }
        Ok(())
    }

    /// The continuation's turn: in its lane it joins the tail now.
    fn lets_follow(&mut self, id: BatchId) -> Result<(), Broken> {
        let Some((then, _)) = self.batch(id)?.then else { return Ok(()) };
        if let Some(job) = self.jobs.get(&then).filter(|job| job.state == State::Waiting)
            && let Some(lane) = job.lane
        {
            self.joins(lane, then);
        }
        Ok(())
    }

    /// A continuation starts after its batch has settled, and nothing starts in a cancelled batch.
    pub(super) fn batch_allows(&self, id: JobId, job: &JobShadow) -> Result<(), Broken> {
        let Some((batch, shadow)) = job.batch.and_then(|id| Some((id, self.batches.get(&id)?))) else {
            return Ok(());
        };
        if job.continuation && !shadow.is_over() {
            return broken(5, format!("{id} follows batch {batch}, which is {}", shadow.phase.word()));
        }
        if shadow.cancel && shadow.pending() > 0 && job.state != State::Waiting {
            return broken(5, format!("{id} was started although batch {batch} was cancelled"));
        }
        Ok(())
    }

    /// Whether a job follows a batch that has not settled, or may never.
    pub(super) fn waits_for_a_decision(&self, id: JobId) -> bool {
        let batch = self.follows.get(&id).and_then(|batch| self.batches.get(batch));
        batch.is_some_and(|batch| batch.phase == Phase::Parked)
    }
}
