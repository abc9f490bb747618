//! Clients and operators: what they ask of the engine, drawn from the seed. A client that hears of an error cannot
//! know whether it was done: only the shadow knows, which watches the store.

use std::sync::Arc;

use serde_json::Value;
use turnwise::{Engine, Error, Overlap, Raw, RawBatch, Submit, Target, When, millis, secs};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::name::Name;

use crate::chance::Chance;
use crate::executor::lock;
use crate::work::{Child, End, Work, in_lane, lane_name};
use crate::world::World;

/// What a client asks for.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Submit(Vec<Wish>),
    Batch { jobs: Vec<Wish>, then: Option<Box<(Wish, bool)>>, open: bool },
    Cancel,
    CancelBatch,
    ReleaseBatch,
    Seal,
    Pause(bool),
    PauseLane(u8, bool),
    Replay,
    ReplayAll,
    RetryNow,
    Weight(u32),
    Schedule(u64),
    Unschedule(u64),
}

/// A job that a client wants.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    kind: &'static str,
    owner: u64,
    lane: Option<u8>,
    priority: u8,
    key: Option<u64>,
    delay: Option<u64>,
    attempts: Option<u16>,
    unique: Option<(u64, bool)>,
    /// One key more, for a time.
    id: Option<u64>,
    work: Work,
}

/// Draws what clients do.
pub(crate) struct Script {
    tags: u64,
    schedules: u64,
    /// No job kills its process.
    calm: bool,
}

impl Script {
    pub(crate) fn new(calm: bool) -> Self {
        Script { tags: 0, schedules: 0, calm }
    }

    fn tag(&mut self) -> u64 {
        self.tags += 1;
        self.tags
    }

    pub(crate) fn action(&mut self, chance: &mut Chance) -> Action {
        match chance.below(100) {
            0..40 => Action::Submit((0..chance.between(1, 6)).map(|_| self.wish(chance)).collect()),
            40..58 => {
                let jobs = (0..chance.between(1, 5)).map(|_| self.wish(chance)).collect();
                let then =
                    chance.percent(80).then(|| Box::new((self.wish_of(chance, "then"), chance.percent(50))));
                Action::Batch { jobs, then, open: chance.percent(15) }
            }
            58..66 => Action::Cancel,
            66..69 => Action::CancelBatch,
            69..72 => Action::ReleaseBatch,
            72..74 => Action::Seal,
            74..79 => Action::Pause(chance.percent(40)),
            79..84 => Action::PauseLane(chance.below(3) as u8, chance.percent(40)),
            84..89 => Action::Replay,
            89..90 => Action::ReplayAll,
            90..93 => Action::RetryNow,
            93..95 => Action::Weight(chance.between(1, 5) as u32),
            95..98 => {
                self.schedules += 1;
                Action::Schedule(self.schedules)
            }
            _ => Action::Unschedule(chance.between(1, self.schedules.max(1))),
        }
    }

    fn wish(&mut self, chance: &mut Chance) -> Wish {
        let kind = match chance.below(100) {
            0..40 => "plain",
            40..50 => "capped",
            50..60 => "keyed",
            60..68 => "rated",
            68..76 => "timed",
            76..84 => "blocking",
            84..88 => "leased.a",
            88..91 => "leased.b",
            91..94 => "leased.c",
            94..96 => "poison",
            _ => "then",
        };
        self.wish_of(chance, kind)
    }

    fn wish_of(&mut self, chance: &mut Chance, kind: &'static str) -> Wish {
        Wish {
            kind,
            owner: chance.below(3),
            lane: chance.percent(35).then(|| chance.below(3) as u8),
            priority: if chance.percent(70) { 5 } else { chance.below(10) as u8 },
            key: (kind == "keyed" || chance.percent(10)).then(|| chance.below(2)),
            delay: chance.percent(15).then(|| chance.skewed(8_000)),
            attempts: chance.percent(20).then(|| chance.between(1, 4) as u16),
            unique: (kind != "then" && chance.percent(12)).then(|| (chance.below(4), chance.percent(50))),
            id: (kind != "then" && chance.percent(6)).then(|| chance.below(6)),
            work: self.work(chance, kind, 1),
        }
    }

    fn work(&mut self, chance: &mut Chance, kind: &str, depth: u32) -> Work {
        let end = match chance.below(100) {
            _ if kind == "poison" && !self.calm => End::Poison(chance.between(1, 4) as u32),
            0..55 => End::Done,
            55..72 => End::Retry,
            72..76 => End::RetryAfter,
            76..80 => End::Panic,
            80..84 => End::Never,
            84..87 => End::Dead,
            87..90 => End::Cancel,
            _ => End::Snooze(chance.between(1, 2) as u32),
        };
        let takes = if chance.percent(10) { chance.skewed(12_000) } else { chance.skewed(800) };
        let mut work = Work {
            tag: self.tag(),
            takes,
            fails: chance.between(1, 5) as u16,
            end,
            stubborn: chance.percent(30),
            ..Work::default()
        };
        if depth == 0 || kind == "blocking" && chance.percent(50) {
            return work;
        }
        if chance.percent(20) {
            let steps = chance.between(1, 3);
            work.steps = (0..steps).map(|_| self.children(chance, 1)).collect();
        }
        if chance.percent(20) {
            work.children = self.children(chance, 3);
        }
        if chance.percent(15) {
            work.grow = (0..chance.between(1, 2)).map(|_| self.work(chance, "plain", 0)).collect();
        }
        if chance.percent(8) {
            work.batch = (0..chance.between(1, 3)).map(|_| self.work(chance, "plain", 0)).collect();
        }
        work
    }

    fn children(&mut self, chance: &mut Chance, most: u64) -> Vec<Child> {
        let child = |script: &mut Self, chance: &mut Chance| Child {
            lane: chance.percent(25).then(|| chance.below(3) as u8),
            work: script.work(chance, "plain", 0),
        };
        (0..chance.between(0, most)).map(|_| child(self, chance)).collect()
    }
}

fn raw(wish: &Wish) -> Submit<Raw> {
    let payload = serde_json::to_value(&wish.work).unwrap_or(Value::Null);
    let mut job = Raw::job(wish.kind, payload).owner(format!("owner-{}", wish.owner)).priority(wish.priority);
    if let Some(lane) = wish.lane {
        job = in_lane(job, lane);
    }
    if let Some(key) = wish.key {
        job = job.limit_key(format!("key-{key}"));
    }
    if let Some(delay) = wish.delay {
        job = job.delay(millis(delay));
    }
    if let Some(attempts) = wish.attempts {
        job = job.attempts(attempts);
    }
    if let Some(id) = wish.id {
        job = job.unique_for(format!("id-{id}"), secs(20));
    }
    match wish.unique {
        Some((key, true)) => job.unique_for(format!("unique-{key}"), secs(10)),
        Some((key, false)) => job.unique_while_unfinished(format!("unique-{key}")),
        None => job,
    }
}

/// Some job that satisfies.
fn some_job(world: &World, wanted: impl Fn(State) -> bool) -> Option<JobId> {
    let shadow = world.shadow();
    let jobs: Vec<JobId> =
        shadow.jobs.iter().filter(|(_, job)| wanted(job.state)).map(|(id, _)| *id).collect();
    drop(shadow);
    world.draw(|chance| chance.pick(&jobs).copied())
}

fn some_batch(world: &World) -> Option<BatchId> {
    let batches: Vec<BatchId> = world.shadow().batches.keys().copied().collect();
    world.draw(|chance| chance.pick(&batches).copied())
}

fn some_target(world: &World) -> Option<Target> {
    let batch = some_batch(world);
    world.draw(|chance| match chance.below(4) {
        0 => Name::new(*chance.pick(crate::work::KINDS)?).ok().map(Target::Kind),
        1 => Name::new(format!("owner-{}", chance.below(3))).ok().map(Target::Owner),
        2 => Name::new(format!("node-{}", 1 + chance.below(2))).ok().map(Target::Node),
        _ => batch.map(Target::Batch),
    })
}

/// Does what was asked for, in some process that is up.
pub(crate) fn act(world: &Arc<World>, action: Action) {
    let up: Vec<(usize, Engine)> = (1..world.places.len())
        .filter_map(|process| Some((process, lock(&world.places[process].engine).clone()?)))
        .collect();
    let Some((process, engine)) = world.draw(|chance| chance.pick(&up).cloned()) else { return };
    let world = world.clone();
    world.clone().executor.spawn(
        process,
        Box::pin(async move {
            if let Err(error) = ask(&world, &engine, action).await {
                world.note(process, format_args!("a client hears: {error}"));
            }
        }),
    );
}

async fn ask(world: &World, engine: &Engine, action: Action) -> Result<(), Error> {
    match action {
        Action::Submit(wishes) => engine.submit_raw(wishes.iter().map(raw).collect()).await.map(drop),
        Action::Batch { jobs, then, open } => {
            let when = |all: bool| if all { When::AllDone } else { When::Settled };
            let then = then.map(|then| (raw(&then.0), when(then.1)));
            let jobs = jobs.iter().map(raw).collect();
            let batch = RawBatch { name: "batch".into(), owner: Some("owner-0".into()), jobs, then, open };
            engine.submit_raw_batch(batch).await.map(drop)
        }
        Action::Cancel => match some_job(world, |state| !state.is_final()) {
            Some(job) => engine.cancel(job).await.map(drop),
            None => Ok(()),
        },
        Action::Replay => match some_job(world, |state| matches!(state, State::Dead | State::Cancelled)) {
            Some(job) => engine.replay(job).await.map(drop),
            None => Ok(()),
        },
        Action::RetryNow => {
            match some_job(world, |state| matches!(state, State::Scheduled | State::Retrying)) {
                Some(job) => engine.retry_now(job).await.map(drop),
                None => Ok(()),
            }
        }
        Action::ReplayAll => engine.replay_dead(None, None).await.map(drop),
        Action::CancelBatch => match some_batch(world) {
            Some(batch) => engine.cancel_batch(batch).await,
            None => Ok(()),
        },
        Action::ReleaseBatch => match some_batch(world) {
            Some(batch) => engine.release_batch(batch).await,
            None => Ok(()),
        },
        Action::Seal => match some_batch(world) {
            Some(batch) => engine.seal_batch(batch).await,
            None => Ok(()),
        },
        Action::Pause(paused) => match some_target(world) {
            Some(target) if paused => engine.pause(target).await,
            Some(target) => engine.resume(target).await,
            None => Ok(()),
        },
        Action::PauseLane(lane, true) => engine.pause_lane(&lane_name(lane)).await,
        Action::PauseLane(lane, false) => engine.resume_lane(&lane_name(lane)).await,
        Action::Weight(weight) => engine.set_weight("owner-1", weight).await,
        Action::Schedule(number) => {
            let skip = number % 2 == 0;
            let overlap = if skip { Overlap::Skip } else { Overlap::Allow };
            let owner = if skip { format!("skip-{number}") } else { format!("cron-{number}") };
            let schedule =
                engine.schedule(schedule_name(number), "*/3 * * * * *").overlap(overlap).owner(owner);
            schedule.job(crate::work::every(2_000)).await
        }
        Action::Unschedule(number) => engine.unschedule(&schedule_name(number)).await,
    }
}

pub(crate) fn schedule_name(number: u64) -> String {
    format!("schedule-{number}")
}
