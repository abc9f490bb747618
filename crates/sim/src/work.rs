//! What jobs do: each carries its own script, so that what happens depends on the seed alone.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnwise::runtime::Runtime;
use turnwise::{Context, Engine, Job, Outcome, Rate, Retry, Stop, millis, secs};

use crate::executor::ProcessRuntime;
use crate::world::World;

/// What a panicking handler says, so that it can be told from a real panic.
pub(crate) const SCRIPTED: &str = "a scripted panic";

/// How a handler ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// Well.
    #[default]
    Done,
    /// Badly at first.
    Retry,
    /// Badly at first, with a wait of its own.
    RetryAfter,
    /// With a panic at first.
    Panic,
    /// In a way that no other attempt can mend.
    Never,
    /// As a dead letter.
    Dead,
    /// As cancelled.
    Cancel,
    /// Later, so many times.
    Snooze(u32),
    /// With the death of its process, so many times.
    Poison(u32),
}

/// A job's script.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Names the job beyond its id: a job that a handler submits twice has the same tag twice. 0 for none.
    pub(crate) tag: u64,
    /// How long it takes, in milliseconds.
    pub(crate) takes: u64,
    /// Attempts that end badly.
    pub(crate) fails: u16,
    /// How it ends.
    pub(crate) end: End,
    /// Does not care about being told to stop.
    pub(crate) stubborn: bool,
    /// Its steps, and what each submits.
    pub(crate) steps: Vec<Vec<Child>>,
    /// What it submits at its end.
    pub(crate) children: Vec<Child>,
    /// What it submits into its own batch.
    pub(crate) grow: Vec<Work>,
    /// A batch that it submits, with a job that follows.
    pub(crate) batch: Vec<Work>,
}

/// A job that a handler submits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Child {
    /// Its lane.
    pub(crate) lane: Option<u8>,
    /// Its script.
    pub(crate) work: Work,
}

macro_rules! kinds {
    ($($type:ident $name:literal,)*) => {
        $(
            #[derive(Serialize, Deserialize)]
            struct $type(Work);

            impl Job for $type {
                const KIND: &'static str = $name;
                type Output = u64;
            }
        )*

        /// The names of all kinds.
        pub(crate) const KINDS: &[&str] = &[$($name),*];
    };
}

kinds! {
    Plain "plain",
    Capped "capped",
    Keyed "keyed",
    Rated "rated",
    Timed "timed",
    Blocking "blocking",
    Poison "poison",
    LeasedA "leased.a",
    LeasedB "leased.b",
    LeasedC "leased.c",
    Then "then",
}

/// Kinds that share the main pool.
pub(crate) const MAIN: &str = "main";

/// Slots of one process in the main pool.
pub(crate) const MAIN_SLOTS: u32 = 5;

/// Registers a handler for every kind.
pub(crate) fn register(engine: &Engine, world: &Arc<World>, process: usize) {
    let life = world.executor.life(process);
    macro_rules! worker {
        ($type:ident) => {{
            let world = world.clone();
            engine
                .worker(move |job: $type, context: Context| run(world.clone(), process, life, job.0, context))
                .retry(Retry::exponential(millis(200)).cap(secs(2)).jitter(10).attempts(4))
                .rescues(3)
        }};
    }
    worker!(Plain).pool(MAIN).slots(2);
    worker!(Capped).pool(MAIN).cap(2);
    worker!(Keyed).pool(MAIN).cap_per_key(1);
    worker!(Rated).pool(MAIN).rate(Rate::per_second(5).burst(2)).rate_per_key(Rate::per_second(2));
    worker!(Timed).deadline(secs(2)).slots(2);
    worker!(Poison).rescues(1);
    // The same lease before and after another one, in the order of their names.
    worker!(LeasedA).lease("alpha");
    worker!(LeasedB).lease("beta");
    worker!(LeasedC).lease("alpha");
    worker!(Then).slots(2);
    let world = world.clone();
    engine
        .blocking_worker(move |job: Blocking, context: Context| {
            let _run = world.begin(process, life, &context);
            verdict(&world, process, &job.0, &context)
        })
        .retry(Retry::fixed(millis(300)).attempts(3));
}

async fn run(world: Arc<World>, process: usize, life: u32, work: Work, context: Context) -> Outcome<u64> {
    let _run = world.begin(process, life, &context);
    let runtime = ProcessRuntime::new(world.executor.clone(), process);
    let parts = work.steps.len() as u64 + 1;
    let part = Duration::from_micros(work.takes * 1_000 / parts);
    for (number, children) in work.steps.iter().enumerate() {
        rest(&runtime, part, &work, &context).await?;
        let name = format!("step-{number}");
        let given = context
            .step(&name, || async {
                for child in children {
                    submit(&context, child)?;
                }
                Ok(number as u64)
            })
            .await?;
        if given != number as u64 {
            return Err(Stop::never("a step gave another one's result"));
        }
    }
    rest(&runtime, part, &work, &context).await?;
    verdict(&world, process, &work, &context)
}

/// Takes its time, unless it is told to stop and listens.
async fn rest(runtime: &ProcessRuntime, span: Duration, work: &Work, context: &Context) -> Outcome {
    let sleep = runtime.sleep_until(runtime.now() + span);
    if work.stubborn {
        sleep.await;
        return Ok(());
    }
    tokio::select! {
        biased;
        () = context.cancelled() => Err(Stop::cancel()),
        () = sleep => Ok(()),
    }
}

/// Ends as scripted.
fn verdict(world: &World, process: usize, work: &Work, context: &Context) -> Outcome<u64> {
    let early = context.attempt() <= work.fails;
    match work.end {
        End::Retry if early => return Err(Stop::retry("not yet")),
        End::RetryAfter if early => return Err(Stop::retry_after(millis(700), "not yet")),
        End::Panic if early => std::panic::panic_any(SCRIPTED),
        End::Never => return Err(Stop::never("never")),
        End::Dead => return Err(Stop::dead("dead")),
        End::Cancel => return Err(Stop::cancel()),
        End::Snooze(times) if world.times(context.job()) < times => return Err(Stop::snooze(millis(400))),
        End::Poison(times) if world.times(context.job()) < times => {
            world.crash(process, "of a poisonous job");
            return Err(Stop::retry("the process dies"));
        }
        _ => {}
    }
    for child in &work.children {
        submit(context, child)?;
    }
    for work in &work.grow {
        if context.batch_id().is_some() {
            context.submit_into_batch(Plain(work.clone()))?;
        }
    }
    if !work.batch.is_empty() {
        let jobs = work.batch.iter().map(|work| Plain(work.clone()));
        context.batch_then("fan-out", jobs, Then(Work::default()))?;
    }
    Ok(work.tag)
}

fn submit(context: &Context, child: &Child) -> Outcome {
    let job = Plain(child.work.clone()).owner(context.owner().to_owned());
    let job = match child.lane {
        Some(lane) => in_lane(job, lane),
        None => job,
    };
    context.submit(job).map(drop)
}

/// The lane with this number; the last one halts after a dead letter.
pub(crate) fn in_lane<J>(job: turnwise::Submit<J>, lane: u8) -> turnwise::Submit<J> {
    match lane {
        0 | 1 => job.lane(lane_name(lane)),
        _ => job.strict_lane(lane_name(lane)),
    }
}

/// A lane's name.
pub(crate) fn lane_name(lane: u8) -> String {
    format!("lane-{lane}")
}

/// The job of a schedule: it takes so many milliseconds.
pub(crate) fn every(takes: u64) -> impl Job {
    Plain(Work { takes, ..Work::default() })
}
