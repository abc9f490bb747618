//! The writer: one thread, one connection, many callers to one commit.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot};
use turnwise_core::event::{Cursor, Event};
use turnwise_core::limits;
use turnwise_core::time::Time;

use super::checkpoint::Checkpoints;
use super::codec;
use super::reads::one;
use super::rows::Rows;
use crate::clock::Clock;
use crate::ledger::{self, Working, blocks, hinted, last_of};
use crate::store::{Committed, Outcome, StoreError, Sweep, Unit};

/// Units, and where to send what they came to.
pub(super) struct Request {
    pub(super) units: Vec<Unit>,
    pub(super) reply: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
}

pub(super) struct Writer {
    working: Working<Rows>,
    clock: Arc<dyn Clock>,
    hints: broadcast::Sender<Arc<Committed>>,
    checkpoints: Checkpoints,
    path: PathBuf,
    /// The cursor of the last event.
    last: Cursor,
    /// The last commit failed; said once, not for every commit.
    failing: bool,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        path: PathBuf,
        clock: Arc<dyn Clock>,
        hints: broadcast::Sender<Arc<Committed>>,
        checkpoints: Checkpoints,
    ) -> Result<Self, StoreError> {
        let last = last_event(&connection)?;
        let working = Working::new(Rows::new(connection)?);
        Ok(Writer { working, clock, hints, checkpoints, path, last, failing: false })
    }

    /// Works until the store is dropped.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        let mut group: Vec<Request> = Vec::new();
        while let Some(first) = inbox.blocking_recv() {
            let mut weight = weight(&first);
            group.push(first);
            while weight < limits::JOBS_PER_COMMIT
                && group.len() < limits::UNITS_PER_COMMIT
                && let Ok(next) = inbox.try_recv()
            {
                weight += self::weight(&next);
                group.push(next);
            }
            self.serve(&mut group);
        }
    }

    /// Commits a group. If the group fails by the fault of one, the others are not made to suffer.
    fn serve(&mut self, group: &mut Vec<Request>) {
        match self.commit(group) {
            Ok(outcomes) => {
                self.recovered();
                for (request, outcomes) in group.drain(..).zip(outcomes) {
                    // Whoever asked may have gone; the commit stands.
                    let _ = request.reply.send(Ok(outcomes));
                }
            }
            Err(error) if group.len() > 1 && !error.is_passing() => {
                for request in std::mem::take(group) {
                    self.serve(&mut vec![request]);
                }
            }
            Err(error) => {
                self.report(&error);
                for request in group.drain(..) {
                    let _ = request.reply.send(Err(error.clone()));
                }
            }
        }
    }

    fn commit(&mut self, group: &[Request]) -> Result<Vec<Vec<Outcome>>, StoreError> {
        let now = self.clock.now();
        let committed = self.transaction(group, now);
        if committed.is_err() {
            self.working.discard();
            self.working.backend.roll_back();
        }
        let (outcomes, hint) = committed?;
        self.working.tidy();
        // Nobody listening is fine: hints are only hints.
        let _ = self.hints.send(Arc::new(hint));
        self.checkpoints.after_commit(self.working.backend.connection());
        Ok(outcomes)
    }

    fn transaction(
        &mut self,
        group: &[Request],
        now: Time,
    ) -> Result<(Vec<Vec<Outcome>>, Committed), StoreError> {
        self.working.backend.begin()?;
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            let mut answers = Vec::with_capacity(request.units.len());
            for unit in &request.units {
                answers.push(ledger::execute(&mut self.working, unit, now)?);
            }
            outcomes.push(answers);
        }
        self.working.backend.flush(&mut self.working.tables)?;
        let events: Vec<Event> = std::mem::take(&mut self.working.events);
        let ready = hinted(&mut self.working)?;
        let mut cursor = self.last;
        for (block, events) in blocks(self.last, &events) {
            cursor = last_of(block, events);
            self.working.backend.write_events(block, now, events)?;
        }
        self.working.backend.commit()?;
        self.last = cursor;
        Ok((outcomes, Committed { cursor, at: now, events, ready }))
    }

    fn report(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::error!(%error, database = %self.path.display(), "commits fail; nothing was changed");
        }
    }

    fn recovered(&mut self) {
        if std::mem::replace(&mut self.failing, false) {
            tracing::info!("commits work again");
        }
    }
}

/// The cursor of the last event that the file has.
fn last_event(connection: &Connection) -> Result<Cursor, StoreError> {
    let sql = "SELECT block, body FROM event ORDER BY block DESC LIMIT 1";
    let last = one(connection, sql, [], |row| Ok((codec::number(row, 0)?, codec::blob(row, 1)?)))?;
    let Some((block, body)) = last else { return Ok(Cursor::START) };
    let events: Vec<Event> = postcard::from_bytes(&body)
        .map_err(|error| StoreError::Broken(format!("event block {block}: {error}")))?;
    Ok(last_of(block, &events))
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
