//! The course of a world: clients and faults for a while, then calm until everything has ended.

use std::sync::Arc;
use std::time::Duration;

use turnwise::{Raw, Target, millis, secs};
use turnwise_core::batch::Phase;
use turnwise_core::ids::BatchId;
use turnwise_core::name::Name;
use turnwise_drivers::store::{Control, Found, Read, Unit};

use crate::chance::Chance;
use crate::clients::{Action, Script, act};
use crate::executor::{OUTSIDE, lock};
use crate::work::{Work, lane_name};
use crate::world::{World, broken};

/// How long the world may take to come to rest after the last fault.
const PATIENCE: Duration = Duration::from_secs(900);
/// Owners whose turns are counted in a calm world, with their weights.
pub(crate) const FAIR: [(&str, u32); 3] = [("fair-1", 1), ("fair-2", 2), ("fair-3", 3)];
/// How many jobs each of them has.
pub(crate) const FAIR_JOBS: usize = 40;

enum Happening {
    Action(Action),
    Crash,
    Stall(Duration),
    Restart,
    BrokerRestart,
}

/// Everything that happens, until the world is at rest.
pub(crate) async fn conduct(world: Arc<World>) {
    if world.plan.calm {
        count_turns(&world).await;
    }
    let begin = world.now();
    for (after, happening) in happenings(&world) {
        world.executor.sleep_until(begin + after).await;
        happen(&world, happening);
    }
    world.executor.sleep_until(begin + world.plan.span).await;
    world.end_faults();
    (1..world.places.len()).for_each(|process| world.executor.stall(process, false));
    world.note(OUTSIDE, format_args!("the faults end"));
    rest(&world).await;
}

fn happenings(world: &World) -> Vec<(Duration, Happening)> {
    let plan = &world.plan;
    world.draw(|chance| {
        let mut script = Script::new(plan.calm);
        let mut all = Vec::new();
        let when = |chance: &mut Chance| millis(chance.below(plan.span.as_millis() as u64));
        for _ in 0..plan.actions {
            all.push((when(chance), Happening::Action(script.action(chance))));
        }
        for _ in 0..plan.crashes {
            all.push((when(chance), Happening::Crash));
        }
        for _ in 0..plan.stalls {
            all.push((when(chance), Happening::Stall(millis(chance.skewed(40_000)))));
        }
        for _ in 0..plan.restarts {
            all.push((when(chance), Happening::Restart));
        }
        for _ in 0..plan.broker_restarts {
            all.push((when(chance), Happening::BrokerRestart));
        }
        all.sort_by_key(|(when, _)| *when);
        all
    })
}

fn happen(world: &Arc<World>, happening: Happening) {
    let process = world.draw(|chance| chance.between(1, world.plan.processes as u64) as usize);
    match happening {
        Happening::Action(action) => act(world, action),
        Happening::Crash => world.crash(process, "just so"),
        Happening::Restart => {
            world.count("graceful restarts");
            world.places[process].stop.send_replace(true);
        }
        Happening::BrokerRestart => {
            world.count("broker restarts");
            world.note(OUTSIDE, format_args!("the broker restarts"));
            lock(&world.post).restart();
        }
        Happening::Stall(span) => {
            world.count("stalls");
            world.note(process, format_args!("stands still for {span:?}"));
            world.executor.stall(process, true);
            let (sleep, world) = (world.executor.sleep(span), world.clone());
            world.clone().executor.spawn(
                OUTSIDE,
                Box::pin(async move {
                    sleep.await;
                    world.note(process, format_args!("goes on"));
                    world.executor.stall(process, false);
                }),
            );
        }
    }
}

/// An operator repairs what stands still, until nothing is left that could go on.
async fn rest(world: &Arc<World>) {
    let until = world.now() + PATIENCE;
    let mut quiet = 0;
    while quiet < 3 {
        world.executor.sleep(secs(1)).await;
        repair(world);
        let left: Vec<String> = {
            let shadow = world.shadow();
            shadow.unfinished().map(|(id, job)| format!("{id} {} {}", job.kind, job.state)).collect()
        };
        quiet = if left.is_empty() { quiet + 1 } else { 0 };
        if world.now() > until {
            return world.judge(broken(1, format!("these never end: {}", left.join(", "))));
        }
    }
    world.note(OUTSIDE, format_args!("everything has ended"));
    world.finish();
}

fn repair(world: &World) {
    let mut units = Vec::new();
    {
        let shadow = world.shadow();
        let resume = |target: &Target| Unit::Control(Control::Pause(target.clone(), false));
        units.extend(shadow.paused.iter().map(resume));
        let names = (0..3).filter_map(|lane| Name::new(lane_name(lane)).ok());
        for name in names {
            let lane = shadow.lanes.get(&turnwise_core::lane::Lane::id_of(&name));
            if lane.is_some_and(|lane| lane.halted || lane.paused) {
                units.push(Unit::Control(Control::PauseLane(name, false)));
            }
        }
        let open = shadow.batches.iter().filter(|(_, batch)| batch.phase == Phase::Open);
        let cancel = |(id, _): (&BatchId, _)| Unit::Control(Control::CancelBatch(*id));
        units.extend(open.map(cancel));
    }
    if let Some(Found::Schedules(schedules)) = world.look(Read::Schedules) {
        units.extend(schedules.into_iter().map(|schedule| Unit::Schedule(schedule.name, None)));
    }
    if !units.is_empty() {
        // What fails is tried again.
        let _ = world.apply(OUTSIDE, 0, &units);
    }
}

/// In a calm world: owners with different weights begin at the same moment, each with a backlog.
async fn count_turns(world: &Arc<World>) {
    let name = |owner: &str| Name::new(owner).ok();
    let owners: Vec<(Name, u32)> =
        FAIR.iter().filter_map(|(owner, weight)| Some((name(owner)?, *weight))).collect();
    let set = owners.iter().map(|(owner, weight)| Control::SetOwner {
        owner: owner.clone(),
        weight: Some(*weight),
        quota: None,
    });
    let pause = |paused: bool| {
        owners.iter().map(move |(owner, _)| Control::Pause(Target::Owner(owner.clone()), paused))
    };
    let units: Vec<Unit> = set.chain(pause(true)).map(Unit::Control).collect();
    // A calm world refuses nothing of this.
    let _ = world.apply(OUTSIDE, 0, &units);
    world.executor.sleep(secs(3)).await;
    let engine = lock(&world.places[1].engine).clone();
    if let Some(engine) = engine {
        let script = Work { takes: 40, ..Work::default() };
        let job = |owner: &str| {
            let payload = serde_json::to_value(&script).unwrap_or_default();
            Raw::job("plain", payload).owner(owner)
        };
        let jobs = FAIR.iter().flat_map(|(owner, _)| (0..FAIR_JOBS).map(|_| job(owner))).collect();
        if let Err(error) = engine.submit_raw(jobs).await {
            world.judge(broken(1, format!("a calm world refused jobs: {error}")));
        }
    }
    world.executor.sleep(secs(2)).await;
    let units: Vec<Unit> = pause(false).map(Unit::Control).collect();
    // A calm world refuses nothing of this.
    let _ = world.apply(OUTSIDE, 0, &units);
}
