//! What must hold while time passes, and what is only judged in a calm world: turns are shared by weight, and no slot
//! idles while a job that could take it is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use turnwise_core::job::State;
use turnwise_core::name::Name;
use turnwise_core::schedule::Target;
use turnwise_core::time::{Time, secs};

use crate::conduct::{FAIR, FAIR_JOBS};
use crate::executor::{BEGINNING, lock};
use crate::shadow::{JobShadow, Shadow};
use crate::work::{MAIN, MAIN_SLOTS};
use crate::world::{Broken, World, broken};

/// How long a slot may idle while a job is on its way to it.
const IDLE: Duration = Duration::from_millis(200);
/// Nothing is judged before processes are up, one of them leads, and all have beaten once.
const WARM: Duration = secs(4);

/// Since when slots idle.
#[derive(Default)]
pub(crate) struct Idle {
    since: Option<Time>,
    warm: Option<Time>,
}

impl Idle {
    /// Time passes from one moment to the next, and nothing happened at the first that could have.
    pub(crate) fn passes(&mut self, world: &World, before: Time, now: Time) -> Result<(), Broken> {
        let up = world.places[1..].iter().all(|place| lock(&place.engine).is_some() && !*place.stop.borrow());
        // A node that was drained hears of its end with a beat.
        let drained = world.shadow().paused.iter().any(|target| matches!(target, Target::Node(_)));
        if !up || drained {
            (self.warm, self.since) = (None, None);
            return Ok(());
        }
        let warm = *self.warm.get_or_insert(before);
        let shadow = world.shadow();
        let slots = u64::from(MAIN_SLOTS) * world.plan.processes as u64;
        let busy =
            shadow.jobs.values().filter(|job| job.state == State::Running && is_main(&shadow, job)).count();
        let oldest = shadow.jobs.values().filter(|job| could_start(&shadow, job)).map(|job| job.since).min();
        let (Some(oldest), true) = (oldest, (busy as u64) < slots) else {
            self.since = None;
            return Ok(());
        };
        let since = *self.since.get_or_insert(before);
        let from = since.max(oldest).max(warm + WARM).max(BEGINNING + WARM);
        if now.since(from) > IDLE {
            return broken(
                3,
                format!("a slot idles since {from}, and a job is ready ({busy} of {slots} are busy)"),
            );
        }
        Ok(())
    }
}

fn is_main(shadow: &Shadow, job: &JobShadow) -> bool {
    shadow.kinds.get(&job.kind).is_some_and(|kind| *kind.pool == *MAIN)
}

/// Whether nothing but a slot is missing. Kinds with limits are left out: they may have to wait.
fn could_start(shadow: &Shadow, job: &JobShadow) -> bool {
    let paused = shadow.paused.iter().any(|target| crate::shadow::is_target(target, job));
    let cancelled = job.batch.and_then(|id| shadow.batches.get(&id)).is_some_and(|batch| batch.cancel);
    job.state == State::Ready && *job.kind == *"plain" && !paused && !cancelled
}

/// Turns by weight: two owners with a backlog are never further apart than one visit and the tickets that are out.
pub(crate) fn turns_were_shared(world: &World) -> Result<(), Broken> {
    let shadow = world.shadow();
    let slots = f64::from(MAIN_SLOTS) * world.plan.processes as f64;
    let weights: BTreeMap<Name, u32> =
        FAIR.iter().filter_map(|(owner, weight)| Some((Name::new(owner).ok()?, *weight))).collect();
    let mut starts: BTreeMap<&Name, u32> = BTreeMap::new();
    let mut begun = BTreeSet::new();
    for (_, job) in &shadow.starts {
        // A job that a shutdown gave back has had its turn.
        if !begun.insert(*job) {
            continue;
        }
        let Some((owner, weight)) = shadow.jobs.get(job).and_then(|job| weights.get_key_value(&job.owner))
        else {
            continue;
        };
        let count = starts.entry(owner).or_default();
        *count += 1;
        if *count + *weight + slots as u32 >= FAIR_JOBS as u32 {
            return Ok(());
        }
        let share = |owner: &Name| f64::from(*starts.get(owner).unwrap_or(&0)) / f64::from(weights[owner]);
        for (a, heavy) in &weights {
            for (b, light) in weights.iter().filter(|(_, light)| *light <= heavy) {
                let apart = (share(a) - share(b)).abs();
                let bound = 1.0 + slots / f64::from(*light);
                if apart > bound {
                    return broken(
                        3,
                        format!("{a} and {b} are {apart} visits apart, over {bound}: {starts:?}"),
                    );
                }
            }
        }
    }
    Ok(())
}
