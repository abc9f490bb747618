//! The tickets that are out: planned, and not heard of since.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::JobId;
use crate::limits;
use crate::time::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Out {
    pub(super) job: JobId,
    pub(super) version: u32,
    pub(super) line: u32,
    /// The pool that it was counted in, also if its kind has moved since.
    pub(super) pool: u32,
    pub(super) at: Time,
}

impl Out {
    /// A ticket from a future that the clock has stepped back from is old as well.
    fn is_old(&self, now: Time) -> bool {
        now.since(self.at).max(self.at.since(now)) >= limits::TICKET
    }
}

#[derive(Debug, Default)]
pub(super) struct Outs {
    by_job: BTreeMap<JobId, Out>,
    /// In the order they went out; entries of tickets that have come back are skipped.
    order: VecDeque<(JobId, Time)>,
}

impl Outs {
    pub(super) fn len(&self) -> usize {
        self.by_job.len()
    }

    pub(super) fn get(&self, job: JobId) -> Option<&Out> {
        self.by_job.get(&job)
    }

    pub(super) fn insert(&mut self, out: Out) {
        self.by_job.insert(out.job, out);
        self.order.push_back((out.job, out.at));
    }

    /// The ticket for this version of the job, if it is the one that is out.
    pub(super) fn remove(&mut self, job: JobId, version: u32) -> Option<Out> {
        if self.by_job.get(&job)?.version != version {
            return None;
        }
        let out = self.by_job.remove(&job);
        self.skip();
        out
    }

    /// A ticket that nobody claimed in time.
    pub(super) fn pop_old(&mut self, now: Time) -> Option<Out> {
        let &(job, _) = self.order.front()?;
        let out = *self.by_job.get(&job).filter(|out| out.is_old(now))?;
        self.remove(job, out.version)
    }

    /// When the first ticket will be too old.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.order.front().map(|&(_, at)| at + limits::TICKET)
    }

    /// The first in order is always one that is out.
    fn skip(&mut self) {
        while let Some(&(job, at)) = self.order.front()
            && self.by_job.get(&job).is_none_or(|out| out.at != at)
        {
            self.order.pop_front();
        }
    }
}
