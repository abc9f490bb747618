//! An engine at work, and how it stops: gracefully, burning no attempt.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::Error;
use crate::engine::Engine;
use crate::flow::settle;
use crate::loops::{lease, member, scheduler, sweep, worker};
use crate::runtime::Task;
use crate::worker::Crew;

/// Consumers of one kind: while one waits for its claims to be committed, the other receives. Nobody outside is so fast
/// that it matters.
const CONSUMERS: usize = 2;
const CONSUMERS_OUTSIDE: usize = 1;

/// An engine that runs jobs. [Stop](Running::stop) it to end gracefully; dropping it stops it too, without waiting.
#[must_use = "the engine stops running jobs when this is dropped"]
pub struct Running {
    engine: Engine,
    pub(crate) crew: Arc<Crew>,
    /// Ends the loops, after the crew has ended.
    stop: watch::Sender<bool>,
    /// Closed when the last loop has ended.
    ended: mpsc::Receiver<()>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Running").field(&self.engine).finish()
    }
}

impl Running {
    pub(crate) async fn start(engine: &Engine) -> Result<Self, Error> {
        let inner = engine.inner.clone();
        inner.declare_new_kinds().await?;
        let crew = Arc::new(Crew::new(inner.clone()));
        *inner.hub.crew.lock().unwrap_or_else(PoisonError::into_inner) = Some(crew.clone());
        let (stop, stopped) = watch::channel(false);
        let (leading, led) = watch::channel(false);
        let (guard, ended) = mpsc::channel(1);
        let running = Running { engine: engine.clone(), crew: crew.clone(), stop, ended };
        // Now that it runs: the session says what it does.
        member::join(&inner).await?;
        let spawn = |task: Task| {
            let guard = guard.clone();
            inner.runtime.spawn(Box::pin(async move {
                task.await;
                drop(guard);
            }));
        };
        let roles = inner.config.roles;
        if roles.scheduler {
            spawn(Box::pin(scheduler::run(inner.clone(), stopped.clone(), leading)));
            spawn(Box::pin(sweep::run(inner.clone(), stopped.clone(), led)));
        }
        if !roles.worker {
            return Ok(running);
        }
        spawn(Box::pin(worker::report(crew.clone(), stopped.clone())));
        spawn(Box::pin(worker::give_back(crew.clone(), stopped.clone())));
        spawn(Box::pin(worker::watch_trust(crew.clone(), stopped.clone())));
        spawn(Box::pin(settle::run(crew.clone())));
        for (kind, _) in inner.registry.kinds() {
            for _ in 0..if crew.desk.is_some() { CONSUMERS_OUTSIDE } else { CONSUMERS } {
                spawn(Box::pin(worker::receive(crew.clone(), kind.clone())));
            }
        }
        // One loop for a lease, however many kinds are bound to it: two would take it from each other.
        let leases: BTreeSet<_> = inner.registry.leases().into_values().collect();
        for name in leases {
            spawn(Box::pin(lease::hold(crew.clone(), name, stopped.clone())));
        }
        Ok(running)
    }

    /// Takes no new work, lets running handlers end within the grace time, gives the jobs of the others back without
    /// burning an attempt, and ends.
    pub async fn stop(mut self) {
        let runtime = self.engine.inner.runtime.clone();
        self.crew.closing.send_replace(true);
        let patience = runtime.sleep_until(runtime.now() + self.engine.inner.config.grace);
        tokio::select! {
            biased;
            () = self.drained() => {}
            () = patience => {
                self.crew.abort_all();
                // A thread that will not stop is left behind; its job is rescued when the session has ended.
                let last = runtime.sleep_until(runtime.now() + self.engine.inner.config.beat);
                tokio::select! {
                    biased;
                    () = self.drained() => {}
                    () = last => {}
                }
            }
        }
        self.stop.send_replace(true);
        if self.crew.is_idle() {
            // Every loop holds the channel open; it never carries anything.
            let _ = self.ended.recv().await;
        }
    }

    /// Ends without waiting for anybody: what runs is given back without burning an attempt.
    pub(crate) async fn stop_now(self) {
        self.crew.closing.send_replace(true);
        self.crew.abort_all();
        self.stop().await;
    }

    async fn drained(&self) {
        loop {
            let idle = self.crew.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.crew.is_idle() {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.crew.closing.send_replace(true);
        self.crew.abort_all();
        self.stop.send_replace(true);
        // The crew knows the engine: as long as the engine knew the crew, neither would ever be gone.
        let mut known = self.engine.inner.hub.crew.lock().unwrap_or_else(PoisonError::into_inner);
        known.take_if(|known| Arc::ptr_eq(known, &self.crew));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[tokio::test]
    async fn a_dropped_engine_is_gone_although_it_was_never_stopped() {
        let engine = Engine::open(Config::memory()).await.unwrap();
        let inner = Arc::downgrade(&engine.inner);
        drop(engine.start().await.unwrap());
        engine.close().await;
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(inner.strong_count(), 0, "somebody still holds it");
    }
}
