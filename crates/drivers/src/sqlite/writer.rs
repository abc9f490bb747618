//! The writer: one thread, one connection, many callers to one commit.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::broadcast;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::time::Time;

use super::checkpoint::Checkpoints;
use super::codec;
use super::reads::one;
use super::rows::Rows;
use crate::clock::Clock;
use crate::group::{self, Commit, Health, Inbox, Request};
use crate::ledger::{self, Working, blocks, hinted, last_of};
use crate::store::{Committed, Outcome, StoreError};

pub(super) struct Writer {
    working: Working<Rows>,
    clock: Arc<dyn Clock>,
    hints: broadcast::Sender<Arc<Committed>>,
    checkpoints: Checkpoints,
    path: PathBuf,
    /// The cursor of the last event.
    last: Cursor,
    health: Health,
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
        Ok(Writer { working, clock, hints, checkpoints, path, last, health: Health::default() })
    }

    /// Works until the store is dropped.
    pub(super) fn run(mut self, mut inbox: Inbox) {
        let mut group: Vec<Request> = Vec::new();
        while let Some(first) = inbox.wait() {
            inbox.gather(first, &mut group);
            group::serve(&mut self, &mut group);
        }
    }

    fn settle(&mut self, group: &[Request]) -> Result<Vec<Vec<Outcome>>, StoreError> {
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
        Ok((outcomes, Committed { cursor, at: now, events, ready, handed_in: false }))
    }
}

impl Commit for Writer {
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Vec<Outcome>>, StoreError> {
        let committed = self.settle(group);
        self.health.note(&committed, &self.path.to_string_lossy());
        committed
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
