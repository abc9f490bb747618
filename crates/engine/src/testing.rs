//! For tests: an engine in memory whose time stands still until the test moves it. Nothing sleeps.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use turnwise::testing::TestEngine;
//! use turnwise::{Context, Job, Outcome, State, Stop, hours, secs};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Flaky;
//! impl Job for Flaky {
//!     const KIND: &'static str = "flaky";
//!     type Output = u16;
//! }
//!
//! async fn flaky(_job: Flaky, ctx: Context) -> Outcome<u16> {
//!     if ctx.attempt() < 3 { Err(Stop::retry("not yet")) } else { Ok(ctx.attempt()) }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), turnwise::Error> {
//! let test = TestEngine::new().await?;
//! test.engine.worker(flaky);
//! let running = test.engine.start().await?;
//! let job = test.engine.submit(Flaky).await?;
//! test.idle().await?;
//! assert_eq!(test.engine.job(job).await?.unwrap().state, State::Retrying);
//! test.advance(hours(1)).await?;
//! test.advance(hours(1)).await?;
//! assert_eq!(test.engine.wait(job).await?.result::<Flaky>()?, Some(3));
//! running.stop().await;
//! # let _ = secs(1);
//! # Ok(())
//! # }
//! ```

mod manual;

use std::sync::Arc;
use std::time::Duration;

use turnwise_core::job::State;
use turnwise_core::line::LineKey;
use turnwise_drivers::store::{Found, Read, Ready, ReadyAnswer};

pub use manual::ManualTime;

use crate::engine::odd_answer;
use crate::{Config, Engine, Error};

/// A session that no test outlives: time may jump by days.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// An engine in memory on manual time.
#[derive(Debug)]
pub struct TestEngine {
    /// The engine.
    pub engine: Engine,
    /// Its time.
    pub time: Arc<ManualTime>,
}

impl TestEngine {
    /// An empty engine.
    pub async fn new() -> Result<Self, Error> {
        TestEngine::with(Config::memory()).await
    }

    /// An engine with these settings, on manual time.
    pub async fn with(config: Config) -> Result<Self, Error> {
        let time = Arc::new(ManualTime::default());
        let config =
            config.session(FOR_EVER).scheduler_lease(FOR_EVER).keep_finished(FOR_EVER).keep_events(FOR_EVER);
        let engine = Engine::open(config.runtime(time.clone()).clock(time.clone())).await?;
        Ok(TestEngine { engine, time })
    }

    /// Moves time on, and waits until everything that this makes due has happened.
    pub async fn advance(&self, span: Duration) -> Result<(), Error> {
        self.time.advance(span);
        self.idle().await
    }

    /// Waits until nothing is ready, running or due: everything that can happen now has happened. Work that is paused
    /// or that no handler is there for is not waited for; work that a rate holds back is, until time is
    /// [moved on](ManualTime::advance) from elsewhere.
    pub async fn idle(&self) -> Result<(), Error> {
        loop {
            let told = self.engine.inner.hub.commits.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.is_idle().await? {
                return Ok(());
            }
            told.await;
        }
    }

    async fn is_idle(&self) -> Result<bool, Error> {
        let inner = &self.engine.inner;
        let served = inner.registry.names();
        let Found::Owners(owners) = inner.read(Read::Owners { after: None, limit: usize::MAX }).await? else {
            return Err(odd_answer());
        };
        let tallies = owners.iter().flat_map(|row| &row.tallies).filter(|(kind, _)| served.contains(kind));
        let running: u64 = tallies.map(|(_, tally)| tally.of(State::Running)).sum();
        let Found::Pauses(pauses) = inner.read(Read::Pauses).await? else { return Err(odd_answer()) };
        let all = Ready::Lines { after: None, limit: usize::MAX };
        let ReadyAnswer::Lines(lines) = inner.store.ready(all).await? else { return Err(odd_answer()) };
        let drained = pauses.drains(&turnwise_core::name::Name::new(&inner.config.node)?);
        let may_start = |line: &LineKey| !drained && served.contains(&line.kind) && !pauses.holds(line);
        let ready = lines.iter().any(|(_, line)| may_start(line));
        let Found::Agenda(agenda) = inner.read(Read::Agenda { by: None, limit: 1 }).await? else {
            return Err(odd_answer());
        };
        let ticked = |schedule: &turnwise_drivers::store::Schedule| {
            schedule.cron.next_after(schedule.last).is_none_or(|next| next > agenda.now)
        };
        Ok(running == 0 && !ready && agenda.due.is_empty() && agenda.schedules.iter().all(ticked))
    }
}
