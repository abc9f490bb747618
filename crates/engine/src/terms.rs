//! How a process holds a lease that kinds are bound to: for how long, how often it renews, and who hears of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::loops::scheduler::trust;

/// What happened to a lease in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseNews<'a> {
    /// This process holds it.
    Acquired {
        /// The lease.
        lease: &'a str,
        /// What this process is called as its holder.
        holder: &'a str,
        /// Which holding this is.
        term: u64,
        /// How long it lasts without being renewed.
        span: Duration,
    },
    /// This process does not hold it any more. What ran under it is stopped.
    Lost {
        /// The lease.
        lease: &'a str,
        /// What this process was called as its holder.
        holder: &'a str,
        /// Which holding this was.
        term: u64,
        /// Why, in a word: `refused`, `unanswered` or `released`.
        why: &'static str,
    },
}

/// Who hears of a lease.
type Listener = dyn Fn(LeaseNews<'_>) + Send + Sync;

/// How a lease is held.
#[derive(Clone)]
pub struct LeaseTerms {
    pub(crate) span: Duration,
    pub(crate) renew: Duration,
    pub(crate) listener: Option<Arc<Listener>>,
}

impl Default for LeaseTerms {
    /// Thirty seconds, renewed at half of it.
    fn default() -> Self {
        LeaseTerms { span: Duration::from_secs(30), renew: Duration::from_secs(15), listener: None }
    }
}

impl fmt::Debug for LeaseTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseTerms")
            .field("span", &self.span)
            .field("renew", &self.renew)
            .finish_non_exhaustive()
    }
}

impl LeaseTerms {
    /// For so long, renewed so often. A holder stops trusting itself before the lease ends: it renews before that,
    /// whatever was said.
    pub fn new(span: Duration, renew: Duration) -> Self {
        let span = span.max(Duration::from_millis(100));
        LeaseTerms { span, renew: renew.clamp(span / 100, trust(span) * 3 / 4), listener: None }
    }

    /// Who hears when the lease is acquired and lost. It is called where the lease is held: it must not take long.
    pub fn listener(self, listener: impl Fn(LeaseNews<'_>) + Send + Sync + 'static) -> Self {
        LeaseTerms { listener: Some(Arc::new(listener)), ..self }
    }

    /// How long to wait before a lease that somebody else holds is asked for again.
    pub(crate) fn again(&self) -> Duration {
        self.span / 30
    }

    pub(crate) fn tell(&self, news: LeaseNews<'_>) {
        if let Some(listener) = &self.listener {
            listener(news);
        }
    }
}
