//! What handlers do to the world outside of the engine: a log that no fence protects. Whatever the engine let run
//! at the wrong time shows here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use turnwise::Context;
use turnwise_core::ids::JobId;

use crate::executor::lock;
use crate::world::{Broken, World, broken};

/// A handler at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    /// Where.
    pub(crate) process: usize,
    /// On which job.
    pub(crate) job: JobId,
    /// Under which claim.
    pub(crate) fence: u32,
}

/// The log.
#[derive(Default)]
pub(crate) struct Outside {
    /// Handlers at work.
    pub(crate) active: BTreeMap<u64, Active>,
    begun: BTreeSet<(JobId, u32)>,
    times: BTreeMap<JobId, u32>,
    numbers: u64,
}

/// A handler at work; it is not any more when this is dropped, however that came about.
pub(crate) struct Running {
    world: Arc<World>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.world.outside).active.remove(&self.number);
    }
}

impl World {
    /// A handler begins.
    pub(crate) fn begin(self: &Arc<Self>, process: usize, life: u32, context: &Context) -> Running {
        let (job, fence) = (context.job(), context.fence());
        self.note(process, format_args!("runs {job} f{fence} attempt {}", context.attempt()));
        let claimed = self.shadow().claimed_by(job, fence) == Some((process, life));
        let mut outside = lock(&self.outside);
        let first = outside.begun.insert((job, fence));
        outside.numbers += 1;
        let number = outside.numbers;
        outside.active.insert(number, Active { process, job, fence });
        *outside.times.entry(job).or_default() += 1;
        drop(outside);
        if !claimed {
            self.judge(broken(
                2,
                format!("{job} runs in process {process} under fence {fence}, which it never claimed"),
            ));
        } else if !first {
            self.judge(broken(2, format!("{job} runs twice under fence {fence}")));
        }
        Running { world: self.clone(), number }
    }

    /// How often a job ran before the run that asks.
    pub(crate) fn times(&self, job: JobId) -> u32 {
        lock(&self.outside).times.get(&job).map_or(0, |times| times.saturating_sub(1))
    }

    /// Time passes: nobody may be at work who should have stopped. Who stands still cannot stop, and is excused.
    pub(crate) fn nobody_overstays(&self) -> Result<(), Broken> {
        let outside = lock(&self.outside);
        let mut jobs: BTreeMap<JobId, Active> = BTreeMap::new();
        let shadow = self.shadow();
        for active in outside.active.values() {
            if self.executor.is_stalled(active.process) {
                continue;
            }
            if let Some(other) = jobs.insert(active.job, *active) {
                return broken(2, format!("two handlers work on the same job: {other:?} and {active:?}"));
            }
            if let Some(holder) = shadow.lease_lost(active) {
                return broken(10, format!("{active:?} works under a lease that process {holder} has"));
            }
        }
        Ok(())
    }
}
