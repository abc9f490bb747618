//! The life of a remote worker: it is heard from, it leaves, or it is lost.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::desk::Desk;
use crate::Error;
use crate::engine::Engine;
use crate::loops::{member, said};
use crate::running::Running;
use crate::runtime::Runtime;
use crate::worker::Crew;

/// What all handles of a remote worker share.
pub(super) struct Life {
    pub(super) name: Name,
    pub(super) session: Duration,
    pub(super) slots: u32,
    pub(super) desk: Arc<Desk>,
    pub(super) runtime: Arc<dyn Runtime>,
    /// When the program was heard last.
    heard: watch::Sender<Time>,
    /// The engine that claims for it, as long as it lives.
    at_work: Mutex<Option<AtWork>>,
    gone: watch::Sender<bool>,
}

/// An engine of its own, on the drivers of its host.
pub(super) struct AtWork {
    pub(super) engine: Engine,
    pub(super) running: Running,
}

impl Life {
    /// Begins a life. It ends by itself when the program is silent for too long, or when the host has gone.
    pub(super) fn begin(
        (name, session, slots): (Name, Duration, u32),
        desk: Arc<Desk>,
        at_work: AtWork,
        host: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let runtime = at_work.engine.inner.runtime.clone();
        let (heard, listener) = watch::channel(runtime.now());
        let life = Arc::new(Life {
            name,
            session,
            slots,
            desk,
            runtime: runtime.clone(),
            heard,
            at_work: Mutex::new(Some(at_work)),
            gone: watch::channel(false).0,
        });
        runtime.spawn(Box::pin(watch_over(Arc::downgrade(&life), listener, host)));
        life
    }

    /// The program was heard. Whoever was silent for too long is not known any more, even if nobody has noticed yet.
    pub(super) fn hear(&self) -> Result<Arc<Crew>, Error> {
        let now = self.runtime.now();
        let mut in_time = false;
        self.heard.send_if_modified(|heard| {
            in_time = now.since(*heard) < self.session;
            if in_time {
                *heard = now;
            }
            // Whoever watches looks when it would be too late.
            false
        });
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        match &*at_work {
            Some(at_work) if in_time => Ok(at_work.running.crew.clone()),
            _ => Err(self.unknown()),
        }
    }

    pub(super) fn unknown(&self) -> Error {
        Error::UnknownWorker(self.name.to_string())
    }

    /// From here on it is gone for everybody; whoever gets its engine ends it.
    fn end(&self) -> Option<AtWork> {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.gone.send_replace(true);
        at_work
    }

    pub(super) async fn gone(&self) {
        said(&mut self.gone.subscribe()).await;
    }

    /// Says farewell: what it holds is given back without burning an attempt, and its session is closed.
    pub(super) async fn leave(&self) -> Result<(), Error> {
        let AtWork { engine, running } = self.end().ok_or_else(|| self.unknown())?;
        self.desk.close();
        running.stop_now().await;
        engine.close().await;
        Ok(())
    }

    /// The program is taken for dead. What it holds is taken from it as from any dead worker.
    async fn lose(&self) {
        let Some(AtWork { engine, running }) = self.end() else { return };
        running.crew.closing.send_replace(true);
        let held = self.desk.close();
        let jobs = held.len();
        tracing::warn!(worker = %self.name, jobs, "a remote worker was silent for too long; it is taken for dead");
        member::end_as_dead(&engine.inner, &held).await;
        running.stop_now().await;
        engine.close().await;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.desk.close();
    }
}

/// Ends a life in its time, unless the program was heard.
async fn watch_over(life: Weak<Life>, mut heard: watch::Receiver<Time>, mut host: watch::Receiver<bool>) {
    loop {
        let too_late = {
            let Some(life) = life.upgrade() else { return };
            let end = *heard.borrow() + life.session;
            if life.runtime.now() >= end {
                return life.lose().await;
            }
            life.runtime.sleep_until(end)
        };
        tokio::select! {
            biased;
            // Nothing is ever said: the channel closes when the host has gone.
            _ = host.changed() => {
                if let Some(life) = life.upgrade() {
                    // Somebody else may have been faster.
                    let _ = life.leave().await;
                }
                return;
            }
            // The same here: nobody is left who could be heard.
            _ = heard.changed() => return,
            () = too_late => {}
        }
    }
}
