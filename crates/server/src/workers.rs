//! Workers in other programs: who has registered here, by the id that each was given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use futures_util::future::join_all;
use hashbrown::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use turnwise::{Engine, Error, Name, Remote, RemoteOptions, limits};

use crate::access::Caller;
use crate::access::secret::Secret;
use crate::problem::Problem;

/// The workers that have registered with this process and live.
pub(crate) struct Workers {
    known: Mutex<HashMap<String, Registered>>,
    places: Arc<Semaphore>,
}

struct Registered {
    remote: Remote,
    /// The token that it came with: nobody speaks for it with another.
    token: Name,
    _place: OwnedSemaphorePermit,
}

impl Default for Workers {
    fn default() -> Self {
        Workers { known: Mutex::default(), places: Arc::new(Semaphore::new(limits::REMOTES)) }
    }
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Registered>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program comes. The id that it is known by from now on, until it leaves or is silent for too long.
    pub(crate) async fn register(
        self: &Arc<Self>,
        engine: &Engine,
        caller: &Caller,
        options: RemoteOptions,
    ) -> Result<(String, Remote), Problem> {
        let place = self.places.clone().try_acquire_owned().map_err(|refused| match refused {
            TryAcquireError::NoPermits => too_many(),
            TryAcquireError::Closed => stopping(),
        })?;
        let id = Secret::random().ok_or_else(|| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_random", "the system gives no random numbers")
        })?;
        let id = id.reveal().to_owned();
        let remote = engine.remote(options).await?;
        let registered = Registered { remote: remote.clone(), token: caller.name.clone(), _place: place };
        self.lock().insert(id.clone(), registered);
        if self.places.is_closed() {
            // It came while all others left.
            self.close().await;
            return Err(stopping());
        }
        let (workers, gone, name) = (self.clone(), remote.clone(), id.clone());
        tokio::spawn(async move {
            gone.gone().await;
            workers.lock().remove(&name);
        });
        Ok((id, remote))
    }

    /// The worker with this id, for whoever it registered as.
    pub(crate) fn find(&self, caller: &Caller, id: &str) -> Result<Remote, Problem> {
        let known = self.lock();
        let found = known.get(id).filter(|worker| worker.token == caller.name);
        match found {
            Some(worker) => Ok(worker.remote.clone()),
            // It may be anything that somebody wrote into an address.
            None => Err(Error::UnknownWorker(id.chars().take(12).collect()).into()),
        }
    }

    /// The process stops: what the workers hold is given back, and nobody comes any more.
    pub(crate) async fn close(&self) {
        self.places.close();
        let all: Vec<Remote> = self.lock().drain().map(|(_, worker)| worker.remote).collect();
        join_all(all.iter().map(|remote| async {
            // One that has just gone has nothing to give back.
            let _ = remote.leave().await;
        }))
        .await;
    }
}

fn too_many() -> Problem {
    let most = limits::REMOTES;
    let detail = format!(
        "{most} workers have registered with this node: let one serve more slots, or use another node"
    );
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_workers", detail).after(1)
}

fn stopping() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "stopping",
        "this node stops: register again when it is back",
    )
    .after(1)
}
