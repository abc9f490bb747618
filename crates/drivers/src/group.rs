//! Group commit: many callers to one commit. A writer never waits to fill a group: it takes what has come while it was
//! busy.

use std::time::Instant;

use tokio::sync::{mpsc, oneshot};
use turnwise_core::limits;

use crate::store::{Outcome, StoreError, Sweep, Unit};

/// Calls that may wait for a writer before further callers wait in turn.
const WAITING_CALLS: usize = 1_024;

/// Units, and where to send what they came to.
pub(crate) struct Request {
    pub(crate) units: Vec<Unit>,
    reply: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
}

/// Commits the units of a group, all or none.
pub(crate) trait Commit {
    /// One list of outcomes for each request.
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Vec<Outcome>>, StoreError>;
}

/// Where callers send their units.
#[derive(Clone)]
pub(crate) struct Callers(mpsc::Sender<Request>);

/// Where a writer finds them.
pub(crate) struct Inbox(mpsc::Receiver<Request>);

/// The way from callers to a writer.
pub(crate) fn channel() -> (Callers, Inbox) {
    let (sender, receiver) = mpsc::channel(WAITING_CALLS);
    (Callers(sender), Inbox(receiver))
}

impl Callers {
    /// Sends units and waits for their outcomes.
    pub(crate) async fn commit(&self, units: Vec<Unit>) -> Result<Vec<Outcome>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Request { units, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Inbox {
    /// Waits for a request, on a thread of its own.
    pub(crate) fn wait(&mut self) -> Option<Request> {
        self.0.blocking_recv()
    }

    /// Waits for a request.
    #[cfg(feature = "fleet")]
    pub(crate) async fn next(&mut self) -> Option<Request> {
        self.0.recv().await
    }

    /// Fills a group with what has come.
    pub(crate) fn gather(&mut self, first: Request, group: &mut Vec<Request>) {
        let mut filled = weight(&first);
        group.push(first);
        while filled < limits::JOBS_PER_COMMIT
            && group.len() < limits::UNITS_PER_COMMIT
            && let Ok(next) = self.0.try_recv()
        {
            filled += weight(&next);
            group.push(next);
        }
    }
}

/// Commits a group and answers everybody. If the group fails by the fault of one, the others are not made to suffer.
pub(crate) fn serve(writer: &mut impl Commit, group: &mut Vec<Request>) {
    let began = Instant::now();
    match writer.commit(group) {
        Ok(outcomes) => {
            let units: usize = group.iter().map(|request| request.units.len()).sum();
            metrics::histogram!("turnwise_commit_seconds").record(began.elapsed());
            metrics::histogram!("turnwise_commit_units").record(units as f64);
            for (request, outcomes) in group.drain(..).zip(outcomes) {
                // Whoever asked may have gone; the commit stands.
                let _ = request.reply.send(Ok(outcomes));
            }
        }
        Err(error) if group.len() > 1 && !error.is_passing() => {
            for request in std::mem::take(group) {
                serve(writer, &mut vec![request]);
            }
        }
        Err(error) => {
            for request in group.drain(..) {
                let _ = request.reply.send(Err(error.clone()));
            }
        }
    }
}

/// How much of a commit a request fills.
fn weight(request: &Request) -> usize {
    request
        .units
        .iter()
        .map(|unit| match unit {
            Unit::Submit(submission) => submission.jobs.len().max(1),
            Unit::Settle(settle) => 1 + settle.submission.jobs.len(),
            Unit::Step(step) => 1 + step.submission.jobs.len(),
            Unit::Sweep(Sweep::Ripen(jobs) | Sweep::CancelJobs(jobs) | Sweep::Forget(jobs)) => {
                jobs.len().max(1)
            }
            _ => 1,
        })
        .sum()
}

/// Says once that commits fail, and once that they work again.
#[derive(Default)]
pub(crate) struct Health {
    failing: bool,
}

impl Health {
    /// A commit ended.
    pub(crate) fn note<T>(&mut self, ended: &Result<T, StoreError>, database: &str) {
        match ended {
            Ok(_) if std::mem::replace(&mut self.failing, false) => tracing::info!("commits work again"),
            Err(error) if !std::mem::replace(&mut self.failing, true) => {
                tracing::error!(%error, database, "commits fail; nothing was changed");
            }
            _ => {}
        }
    }
}
