//! Whether a node can do its work: what it stands on is asked, for a bounded time.

use std::fmt::Display;
use std::time::Duration;

use futures_util::future::{Either, join3, select};
use serde::Serialize;
use turnwise_core::name::Name;
use turnwise_drivers::leases::LeaseError;
use turnwise_drivers::store::Read;

use crate::engine::{Engine, Inner};
use crate::flow::ticket::report_queue;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Something that a node needs and does not have at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// `store`, `broker`, `leases` or `session`.
    pub what: &'static str,
    /// Why it cannot be had.
    pub why: String,
}

impl Engine {
    /// What this node needs and cannot reach at the moment: nothing, if it can do its work. It goes on by itself as soon
    /// as everything is there again. Answers within a few seconds.
    ///
    /// ```
    /// # use turnwise::{Config, Engine};
    /// # tokio_test(async {
    /// let engine = Engine::open(Config::memory()).await?;
    /// assert!(engine.missing().await.is_empty());
    /// # Ok::<(), turnwise::Error>(())
    /// # });
    /// # fn tokio_test<T>(test: impl Future<Output = Result<T, turnwise::Error>>) {
    /// #     tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test).unwrap();
    /// # }
    /// ```
    pub async fn missing(&self) -> Vec<Missing> {
        let inner = &self.inner;
        let store = inner.asked("store", async { inner.read(Read::Clock).await.map(drop) });
        let broker = inner.asked("broker", inner.broker.declare(report_queue()));
        let leases = inner.asked("leases", async {
            // Nobody has it, so nothing changes: a refusal is an answer.
            let nobodys = Name::new("readiness").map_err(crate::Error::from)?;
            match inner.leases.renew(&nobodys, 0, PATIENCE).await {
                Ok(_) | Err(LeaseError::Refused(_)) => Ok(()),
                Err(error) => Err(crate::Error::from(error)),
            }
        });
        let (store, broker, leases) = join3(store, broker, leases).await;
        let over = inner.liveness.borrow().is_some() && !inner.is_trusted();
        let session = over.then(|| Missing {
            what: "session",
            why: "this node was not heard for too long: it begins anew as soon as the store answers".into(),
        });
        [store, broker, leases, session].into_iter().flatten().collect()
    }
}

impl Inner {
    /// Asks for an answer, whatever it is, within a bounded time.
    async fn asked<E: Display>(
        &self,
        what: &'static str,
        question: impl Future<Output = Result<(), E>>,
    ) -> Option<Missing> {
        let late = self.runtime.sleep_until(self.runtime.now() + PATIENCE);
        let why = match select(std::pin::pin!(question), late).await {
            Either::Left((Ok(()), _)) => return None,
            Either::Left((Err(error), _)) => error.to_string(),
            Either::Right(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        Some(Missing { what, why })
    }
}
