//! Leases that Redis hands out and the store fences.
//!
//! Redis answers the many who ask in vain, and lets go of a holder that is silent. But it may forget what it was told,
//! when it is restarted, flushed or replaced. So a term is only ever issued, renewed and ended by the store, in which
//! at most one is current whatever Redis says. A holder needs both: whoever is not in Redis any more is refused, and
//! its term ends in the store as well, so that the next need not wait.

pub(crate) mod examine;
mod link;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs};

use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use crate::leases::{LeaseError, Leases};
use crate::store::{Answer, Session, Store, StoreError};
use crate::store_leases::StoreLeases;
use link::Link;
use words::{ACQUIRE, Entry, RELEASE, REPLACE, WITHDRAW};

/// Where Redis is and how to use it.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://USER:PASSWORD@HOST:PORT/`, or `rediss://…` for an encrypted connection.
    pub url: String,
    /// Put before every key, with a colon.
    pub prefix: String,
    /// Certificates to trust instead of those of the system, as a PEM file.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address has a password in it.
        let mut shown = f.debug_struct("RedisOptions");
        shown.field("prefix", &self.prefix).field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}

/// Leases in Redis, fenced by a store.
pub struct RedisLeases {
    link: Link,
    prefix: String,
    /// Issues and ends the terms.
    judge: StoreLeases,
}

impl RedisLeases {
    /// Connects. What is wrong with the address or the password is found here, and not when the first lease is asked for.
    pub async fn connect(options: &RedisOptions, store: Arc<dyn Store>) -> Result<Self, LeaseError> {
        let link = link(options)?;
        let leases = RedisLeases { link, prefix: options.prefix.clone(), judge: StoreLeases::new(store) };
        leases.link.ping().await?;
        Ok(leases)
    }

    fn key(&self, name: &Name) -> String {
        format!("{}:lease:{name}", self.prefix)
    }

    async fn take(&self, name: Name, holder: Name, span: Duration) -> Result<Lease, LeaseError> {
        let key = self.key(&name);
        let ours = Entry::asking(&holder, span);
        let held: Option<String> =
            self.link.run(&ACQUIRE, &key, &[holder.as_str(), &ours.text(), &millis(span)]).await?;
        if let Some(entry) = held.as_deref().and_then(Entry::read) {
            return Err(LeaseError::Refused(Refusal::LeaseHeld {
                name,
                holder: entry.holder,
                until: entry.until,
            }));
        }
        let lease = match self.judge.acquire(&name, &holder, span).await {
            Ok(lease) => lease,
            Err(error) => {
                // Redis had forgotten somebody, or the store is away. Either way, nobody else is to wait for us.
                self.forget(&WITHDRAW, &key, &ours.text()).await;
                return Err(error);
            }
        };
        let granted = Entry::of(&lease);
        let entered = self.link.run(&REPLACE, &key, &[&ours.text(), &granted.text(), &millis(span)]).await;
        if matches!(entered, Ok(true)) {
            return Ok(lease);
        }
        // Redis is away, or it took so long that Redis has let go of us: nobody has this term.
        self.end(&name, lease.term).await;
        Err(entered.err().unwrap_or(LeaseError::Refused(Refusal::StaleTerm(name))))
    }

    async fn extend(&self, name: Name, term: u64, span: Duration) -> Result<Lease, LeaseError> {
        let key = self.key(&name);
        let held: Option<String> = self.link.get(&key).await?;
        let Some(entry) = held.as_deref().and_then(Entry::read).filter(|entry| entry.is_of(term)) else {
            self.end(&name, term).await;
            return Err(LeaseError::Refused(Refusal::StaleTerm(name)));
        };
        let lease = match self.judge.renew(&name, term, span).await {
            Ok(lease) => lease,
            Err(error) => {
                if matches!(error, LeaseError::Refused(_)) {
                    self.forget(&RELEASE, &key, &term.to_string()).await;
                }
                return Err(error);
            }
        };
        let renewed = Entry::of(&lease);
        if self.link.run(&REPLACE, &key, &[&entry.text(), &renewed.text(), &millis(span)]).await? {
            return Ok(lease);
        }
        self.end(&name, term).await;
        Err(LeaseError::Refused(Refusal::StaleTerm(name)))
    }

    async fn give_back(&self, name: Name, term: u64) -> Result<(), LeaseError> {
        let released = self.judge.release(&name, term).await;
        // Also when the store knows nothing of this term: then it is over in any case.
        if !matches!(released, Err(LeaseError::Store(_))) {
            self.forget(&RELEASE, &self.key(&name), &term.to_string()).await;
        }
        released
    }

    /// The holder was told that its term is over; so be it. If the store cannot be reached, the term runs out.
    async fn end(&self, name: &Name, term: u64) {
        let _ = self.judge.release(name, term).await;
    }

    /// Removes an entry, if it is the one that is meant. If Redis cannot be reached, it runs out.
    async fn forget(&self, script: &words::Words, key: &str, which: &str) {
        if let Err(error) = self.link.run::<bool>(script, key, &[which]).await {
            tracing::warn!(%error, key, "a lease stays in Redis until it runs out");
        }
    }
}

impl Leases for RedisLeases {
    fn acquire(&self, name: &Name, holder: &Name, span: Duration) -> Answer<'_, Result<Lease, LeaseError>> {
        Box::pin(self.take(name.clone(), holder.clone(), span))
    }

    fn renew(&self, name: &Name, term: u64, span: Duration) -> Answer<'_, Result<Lease, LeaseError>> {
        Box::pin(self.extend(name.clone(), term, span))
    }

    fn release(&self, name: &Name, term: u64) -> Answer<'_, Result<(), LeaseError>> {
        Box::pin(self.give_back(name.clone(), term))
    }

    fn members(&self) -> Answer<'_, Result<Vec<Session>, LeaseError>> {
        self.judge.members()
    }
}

/// The way to the server that the options name.
fn link(options: &RedisOptions) -> Result<Link, LeaseError> {
    let certificates = options.ca_file.as_ref().map(|path| {
        fs::read(path)
            .map_err(|error| failed(format!("cannot read the certificates in {}: {error}", path.display())))
    });
    Link::new(&options.url, certificates.transpose()?)
}

/// A span as Redis wants it: it refuses none at all.
fn millis(span: Duration) -> String {
    span.as_millis().max(1).to_string()
}

fn failed(why: String) -> LeaseError {
    LeaseError::Store(StoreError::Failed(why))
}
