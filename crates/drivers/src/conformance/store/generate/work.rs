//! Work comes, is claimed, and ends.

use std::time::Duration;

use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::priority::Priority;
use turnwise_core::retry::Class;
use turnwise_core::time::{Time, millis, secs};
use turnwise_core::unique::{Unique, Window};

use super::{Generator, KEYS, KINDS, LANES, name};
use crate::store::{
    Claim, Failure, LaneChoice, NewBatch, NewJob, NewThen, Progress, Settle, Start, StepDone, Submission,
    Unit, Verdict,
};

impl Generator {
    pub(super) fn submit(&mut self) -> Unit {
        let mut submission = Submission::default();
        if self.chance.percent(20) {
            submission.open.push(self.new_batch());
        }
        let mut batches: Vec<BatchId> = self.batches.iter().map(|batch| batch.0).collect();
        batches.extend(submission.open.iter().map(|batch| batch.id));
        for _ in 0..self.chance.below(4) {
            let batch = if self.chance.percent(40) { self.chance.maybe(&batches) } else { None };
            let batch =
                submission.open.first().map(|batch| batch.id).filter(|_| self.chance.percent(80)).or(batch);
            let job = self.new_job(batch);
            submission.jobs.push(job);
        }
        if self.chance.percent(10) && !submission.jobs.is_empty() {
            let double = self.chance.pick(&submission.jobs);
            submission.jobs.push(double);
        }
        let seal = submission.open.first().map(|batch| batch.id).filter(|_| self.chance.percent(60));
        submission.seal.extend(seal);
        if self.chance.percent(10) {
            submission.seal.extend(self.chance.maybe(&batches));
        }
        self.fresh.extend(submission.jobs.iter().map(|job| job.id));
        self.sent.push(submission.clone());
        if self.sent.len() > 8 {
            self.sent.remove(0);
        }
        Unit::Submit(submission)
    }

    pub(super) fn new_batch(&mut self) -> NewBatch {
        let id = match self.chance.maybe(&self.batches) {
            Some((known, _)) if self.chance.percent(5) => known,
            _ => BatchId::from_u64(self.number()),
        };
        let when = if self.chance.percent(50) { When::Settled } else { When::AllDone };
        let then = self.chance.percent(70).then(|| NewThen { job: self.new_job(Some(id)), when });
        NewBatch { id, name: name("batch"), owner: self.owner(), then }
    }

    pub(super) fn new_job(&mut self, batch: Option<BatchId>) -> NewJob {
        let id = match self.chance.maybe(&self.headers) {
            Some((known, _)) if self.chance.percent(2) => known.id,
            _ => JobId::from_u64(self.number()),
        };
        let kind = if self.chance.percent(1) { "unknown" } else { self.chance.pick(&KINDS) };
        let lane = self.chance.percent(40).then(|| self.chance.pick(&LANES));
        let start = match self.chance.below(20) {
            0..3 => Start::After(millis(self.chance.below(20_000) as u64)),
            3 => Start::At(self.now + secs(self.chance.below(30) as u64)),
            4 if self.chance.percent(10) => Start::After(Duration::MAX),
            _ => Start::Now,
        };
        NewJob {
            id,
            kind: name(kind),
            owner: self.owner(),
            priority: Priority::new(self.chance.below(3) as u8 + 4).unwrap(),
            batch,
            limit_key: self.chance.percent(40).then(|| name(self.chance.pick(&KEYS))),
            lane: lane.map(|(lane, on_dead)| LaneChoice { name: name(lane), on_dead }),
            start,
            attempts: self.chance.percent(30).then(|| self.chance.below(3) as u16),
            unique: (0..self.chance.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2])).map(|_| self.unique()).collect(),
            payload: self.blob(),
        }
    }

    pub(super) fn unique(&mut self) -> Unique {
        let window = match self.chance.below(5) {
            0..2 => Window::UntilSettled,
            2..4 => Window::For(secs(1 + self.chance.below(30) as u64)),
            _ => Window::For(millis(self.chance.below(3) as u64 * 500)),
        };
        Unique { key: name(self.chance.pick(&KEYS)), window }
    }

    pub(super) fn claim(&mut self) -> Unit {
        let claimable = [State::Ready, State::Scheduled, State::Retrying];
        let header = self.job_in(&claimable, 95);
        let version = if self.chance.percent(92) { header.version } else { header.version.wrapping_sub(1) };
        let (mut job, mut version) = (header.id, version);
        if let Some(fresh) = self.chance.maybe(&self.fresh)
            && self.chance.percent(40)
        {
            (job, version) = (fresh, 1);
        }
        let term = self.chance.percent(80).then(|| self.term());
        self.claimed.push((job, if job == header.id { header.fence + 1 } else { 1 }));
        Unit::Claim(Claim { job, version, session: self.session_id(), term })
    }

    /// A running job and its fence, mostly the right one; sometimes one that was claimed in the same commit.
    pub(super) fn running(&mut self) -> (JobId, u32) {
        let header = self.job_in(&[State::Running], 97);
        let now = self.chance.maybe(&self.claimed).filter(|_| self.chance.percent(40));
        let (job, fence) = now.unwrap_or((header.id, header.fence));
        (job, if self.chance.percent(95) { fence } else { fence.wrapping_sub(1) })
    }

    pub(super) fn settle(&mut self) -> Unit {
        let (job, fence) = self.running();
        let class = match self.chance.below(4) {
            0 => Class::Never,
            1 => Class::RetryAfter(millis(self.chance.below(9_000) as u64)),
            _ => Class::Retry,
        };
        let verdict = match self.chance.below(12) {
            0..6 => Verdict::Done(self.chance.percent(50).then(|| self.blob())),
            6..8 => Verdict::Failed { class, failure: Failure::Panic, error: "oh".into() },
            8 => Verdict::Snoozed(millis(self.chance.below(5_000) as u64)),
            9 => Verdict::Cancelled,
            10 => Verdict::Dead("no".into()),
            _ => Verdict::Released,
        };
        Unit::Settle(Settle { job, fence, verdict, submission: self.fan_out(job) })
    }

    pub(super) fn step(&mut self) -> Unit {
        let (job, fence) = self.running();
        let step = name(self.chance.pick(&["first", "second", "third"]));
        let submission = self.fan_out(job);
        Unit::Step(StepDone { job, fence, name: step, output: self.blob(), submission })
    }

    /// What a handler submits, sometimes into its own batch.
    pub(super) fn fan_out(&mut self, job: JobId) -> Submission {
        let mut submission = Submission::default();
        if self.chance.percent(25) {
            let own = self.headers.iter().find(|known| known.0.id == job).and_then(|known| known.1);
            let own = own.filter(|_| self.chance.percent(70));
            for _ in 0..=self.chance.below(2) {
                let job = self.new_job(own);
                submission.jobs.push(job);
            }
        }
        submission
    }

    pub(super) fn progress(&mut self) -> Unit {
        let (job, fence) = self.running();
        let fraction = self.chance.pick(&[0.0, 0.25, 1.0, f32::NAN]);
        Unit::Progress(job, fence, Progress { fraction, note: "on".into(), at: Time::ZERO })
    }
}
