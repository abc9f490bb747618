//! A process: boots, works, stops or dies, and comes back.

use std::sync::Arc;
use std::time::Duration;

use turnwise::runtime::Runtime;
use turnwise::{Config, Engine, Running, millis};
use turnwise_drivers::open::Drivers;
use turnwise_drivers::store::Store;
use turnwise_drivers::store_leases::StoreLeases;

use crate::executor::{OUTSIDE, ProcessRuntime, lock};
use crate::faulty::{FaultyBroker, FaultyStore};
use crate::work;
use crate::world::{World, broken};

/// How often an engine that cannot start is asked again before it is given up.
const TRIES: usize = 3;

/// Boots a process.
pub(crate) fn boot(world: &Arc<World>, process: usize) {
    world.places[process].stop.send_replace(false);
    world.note(process, format_args!("boots"));
    world.executor.spawn(process, Box::pin(live(world.clone(), process)));
}

/// A process died: somebody boots it again.
pub(crate) fn died(world: &Arc<World>, process: usize) {
    drop(lock(&world.places[process].engine).take());
    let most = if world.is_faulty() { 12_000 } else { 500 };
    let later = world.executor.sleep(millis(world.draw(|chance| 50 + chance.skewed(most))));
    let world = world.clone();
    world.clone().executor.spawn(
        OUTSIDE,
        Box::pin(async move {
            later.await;
            boot(&world, process);
        }),
    );
}

fn drivers(world: &Arc<World>, process: usize) -> Drivers {
    let store: Arc<dyn Store> = Arc::new(FaultyStore::new(world.clone(), process));
    let broker = Arc::new(FaultyBroker::new(world.clone()));
    Drivers { leases: Arc::new(StoreLeases::new(store.clone())), store, broker, alone: false }
}

async fn live(world: Arc<World>, process: usize) {
    let runtime = Arc::new(ProcessRuntime::new(world.executor.clone(), process));
    let config = Config::memory()
        .node(format!("node-{process}"))
        .session(world.plan.session)
        .scheduler_lease(world.plan.scheduler_lease)
        .grace(world.plan.grace)
        .runtime(runtime.clone());
    let (engine, running) = loop {
        match Engine::on(config.clone(), drivers(&world, process)).await {
            Ok(engine) => {
                work::register(&engine, &world, process);
                *lock(&world.places[process].engine) = Some(engine.clone());
                if let Some(running) = start(&world, process, &engine, &runtime).await {
                    break (engine, running);
                }
                drop(lock(&world.places[process].engine).take());
            }
            Err(error) => world.note(process, format_args!("cannot open: {error}")),
        }
        runtime.sleep_until(runtime.now() + millis(300)).await;
    };
    world.note(process, format_args!("runs"));
    // The sender lives as long as the world.
    let _ = world.places[process].stop.subscribe().wait_for(|stop| *stop).await;
    world.note(process, format_args!("stops"));
    running.stop().await;
    drop(lock(&world.places[process].engine).take());
    drop(engine);
    world.note(process, format_args!("has stopped"));
    if world.plan.calm {
        let left = world.shadow().runs_in(process, world.executor.life(process));
        if let Some(job) = left {
            world
                .judge(broken(6, format!("{job} still runs in process {process}, which stopped gracefully")));
        }
    }
    let longer = Duration::from_millis(world.draw(|chance| chance.skewed(2_000)));
    runtime.sleep_until(runtime.now() + longer).await;
    world.note(process, format_args!("exits"));
    world.executor.doom(process);
}

async fn start(world: &World, process: usize, engine: &Engine, runtime: &ProcessRuntime) -> Option<Running> {
    for _ in 0..TRIES {
        match engine.start().await {
            Ok(running) => return Some(running),
            Err(error) => world.note(process, format_args!("cannot start: {error}")),
        }
        runtime.sleep_until(runtime.now() + millis(200)).await;
    }
    None
}
