//! The whole engine from one seed: processes, store, broker, clients and faults in one thread on simulated time, and
//! a shadow that checks the promises after every commit.
//!
//! The same seed gives the same world, to the letter of its [trace]. A failure is replayed with
//! `cargo xtask sim --seed N --trace`.
//!
//! [trace]: trace::Trace

pub mod chance;
mod clients;
mod conduct;
pub mod executor;
mod faulty;
mod invariants;
mod oracle;
mod outside;
pub mod plan;
mod plant;
mod process;
mod shadow;
pub mod trace;
mod work;
mod world;

use std::panic;
use std::sync::Once;
use std::time::Duration;

use chance::{Chance, spread};
use executor::{BEGINNING, Executor, OUTSIDE, Skew, Stopped, lock};
use plan::{Faults, Plan};

pub use plant::Plant;
pub use world::Broken;
use world::{World, broken};

/// Which world to run, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The seed.
    pub seed: u64,
    /// A fault that must be found.
    pub plant: Option<Plant>,
    /// Print the trace.
    pub print: bool,
}

/// What came of a world.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// The promise that was broken, if one was.
    pub broken: Option<Broken>,
    /// The hash of its trace.
    pub hash: u64,
    /// The end of its trace.
    pub last: Vec<String>,
    /// Commits.
    pub commits: u64,
    /// Jobs that were accepted.
    pub jobs: u64,
    /// Polls of tasks.
    pub polls: u64,
    /// Simulated time.
    pub span: Duration,
    /// What went wrong on purpose.
    pub faults: Faults,
}

/// Runs the world of a seed to its end.
pub fn run(options: Options) -> Report {
    hide_scripted_panics();
    let mut chance = Chance::new(options.seed);
    let plan = Plan::of(&mut chance);
    let executor = Executor::new(spread(options.seed), plan.processes);
    for process in 1..=plan.processes {
        let around = |chance: &mut Chance, most: u64| chance.below(2 * most + 1) as i64 - most as i64;
        let skew = Skew { offset: around(&mut chance, plan.offset), drift: around(&mut chance, plan.drift) };
        executor.set_skew(process, skew);
    }
    let world = World::new(executor.clone(), plan, options.plant, options.print);
    world.note(OUTSIDE, format_args!("seed {} {:?}", options.seed, world.plan));
    (1..=world.plan.processes).for_each(|process| process::boot(&world, process));
    executor.spawn(OUTSIDE, Box::pin(conduct::conduct(world.clone())));
    let mut idle = invariants::Idle::default();
    let stopped = executor.run(
        |died| {
            died.iter().for_each(|process| process::died(&world, *process));
            world.broken().is_some() || world.is_finished()
        },
        |before, now| {
            world.judge(world.nobody_overstays());
            if world.plan.calm {
                world.judge(idle.passes(&world, before, now));
            }
        },
    );
    match stopped {
        Stopped::Told if world.broken().is_none() => world.judge(oracle::judge(&world)),
        Stopped::Told => {}
        Stopped::Dead => world.judge(broken(1, "nothing can go on, and no timer runs")),
        Stopped::Spinning => world.judge(broken(3, "tasks go round and round without time passing")),
    }
    let (hash, last) = {
        let trace = world.trace();
        (trace.hash(), trace.last().map(str::to_owned).collect())
    };
    let report = Report {
        seed: options.seed,
        broken: world.broken(),
        hash,
        last,
        commits: world.commits(),
        jobs: world.shadow().jobs.len() as u64,
        polls: executor.polls(),
        span: executor.now().since(BEGINNING),
        faults: world.faults(),
    };
    world.places.iter().for_each(|place| drop(lock(&place.engine).take()));
    executor.clear();
    report
}

/// Handlers that panic because their script says so need not fill the terminal.
fn hide_scripted_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&work::SCRIPTED) {
                usual(info);
            }
        }));
    });
}
