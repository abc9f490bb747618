//! A node of a fleet for tests of what one worker or one owner does to the others.
//!
//! `node NAME ROLES SLOTS DIRECTORY`: its servers, schema and prefix are in the environment. It is up when it says so,
//! works until it is killed, and says farewell when it is asked to end.

// It speaks to the test that runs it.
#![allow(clippy::print_stdout, reason = "the test reads its output")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use system_tests::troubles::{Crunch, Keep, Poison, Stuck, config};
use tokio::signal::unix::{SignalKind, signal};
use turnwise::{Context, Engine, Outcome, Retry, Roles, millis};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().context("a name")?;
    let roles = args.next().context("roles")?;
    let slots: u32 = args.next().context("slots")?.parse()?;
    let directory: Arc<PathBuf> = Arc::new(args.next().context("a directory")?.into());
    let has = |role: &str| roles.split(',').any(|one| one == role);
    let roles = Roles { scheduler: has("scheduler"), worker: has("worker"), ..Roles::NONE };
    let engine = Engine::open(config()?.node(name).roles(roles)).await?;
    engine.blocking_worker(crunch).slots(slots);
    engine.worker(|_: Poison, _: Context| async { std::process::abort() }).slots(slots);
    // Nobody waits for ever: a deadline gives the slot back, and the cap leaves slots to others until then.
    let stuck = |_: Stuck, ctx: Context| async move {
        ctx.cancelled().await;
        Outcome::Ok(())
    };
    engine.worker(stuck).slots(slots).pool("shared").cap_per_key(1).deadline(millis(500));
    let keep = move |job: Keep, _: Context| {
        let path = directory.join(job.number.to_string());
        async move { Ok(std::fs::write(path, vec![7; 256 * 1024])?) }
    };
    engine.worker(keep).slots(slots).pool("shared").retry(Retry::fixed(millis(50)).attempts(1_000));
    let mut asked_to_end = signal(SignalKind::terminate())?;
    let running = engine.start().await?;
    println!("up");
    asked_to_end.recv().await;
    running.stop().await;
    Ok(())
}

/// Nothing but work for the processor.
fn crunch(Crunch { mut number, ms }: Crunch, _: Context) -> Outcome {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(ms) {
        for _ in 0..10_000 {
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    Ok(())
}
