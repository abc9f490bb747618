//! The writer: one thread, one connection, many callers to one commit, and one right to commit for all nodes.
//!
//! Commits of different nodes come one after the other: whoever commits holds an advisory lock from the first look at
//! the rows to the end of the transaction. So the ledger means here what it means on one machine, nothing has to be
//! tried again because somebody was faster, blocks of events are numbered without gaps and become visible in order, and
//! rows that nobody else has touched need not be read again. The price is that all commits share one line; what makes
//! it wide is that hundreds of units travel in each commit, in two ways to the server and back.

use std::sync::Arc;

use tokio::sync::broadcast;
use turnwise_core::event::Cursor;
use turnwise_core::time::Time;

use super::fetch::{Needs, found_surroundings};
use super::handed_in::HandedIn;
use super::link::{Link, Pending, Value};
use super::rows::Rows;
use super::together::together;
use super::{LAST_EVENT, PostgresOptions, codec, last_cursor};
use crate::group::{self, Commit, Health, Inbox, Request};
use crate::ledger::{self, Working, blocks, hinted, last_of};
use crate::store::{Committed, Outcome, Receipt, StoreError, Sweep, Unit};

pub(super) struct Writer {
    working: Working<Rows>,
    options: PostgresOptions,
    hints: broadcast::Sender<Arc<Committed>>,
    /// Names this writer in the blocks that it writes.
    origin: i64,
    /// The number of the last commit that this writer knows everything about.
    number: Option<i64>,
    /// The cursor of the last event.
    last: Cursor,
    health: Health,
}

impl Writer {
    pub(super) fn new(
        link: Link,
        options: PostgresOptions,
        hints: broadcast::Sender<Arc<Committed>>,
        origin: i64,
    ) -> Self {
        Writer {
            working: Working::new(Rows::new(link)),
            options,
            hints,
            origin,
            number: None,
            last: Cursor::START,
            health: Health::default(),
        }
    }

    /// Works until the store is dropped.
    pub(super) fn run(mut self, mut inbox: Inbox) {
        let mut group: Vec<Request> = Vec::new();
        while let Some(first) = self.working.backend.link.wait(inbox.next()) {
            inbox.gather(first, &mut group);
            group::serve(&mut self, &mut group);
        }
    }

    fn transaction(&mut self, group: &[Request]) -> Result<(Vec<Vec<Outcome>>, Committed), StoreError> {
        let mut handed_in = HandedIn::look(&mut self.working.backend.link, group)?;
        let now = self.begin(group, &mut handed_in)?;
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            let mut answers = Vec::with_capacity(request.units.len());
            for unit in &request.units {
                answers.push(match unit {
                    Unit::Sweep(Sweep::TakeIn) => {
                        Ok(Receipt::Changed(handed_in.take_in(&mut self.working, now)?))
                    }
                    _ => ledger::execute(&mut self.working, unit, now)?,
                });
            }
            outcomes.push(answers);
        }
        let Working { backend, tables, .. } = &mut self.working;
        backend.flush(tables)?;
        let events = std::mem::take(&mut self.working.events);
        let ready = hinted(&mut self.working)?;
        let mut cursor = self.last;
        let backend = &mut self.working.backend;
        let channel = backend.link.channel();
        for (block, events) in blocks(self.last, &events) {
            cursor = last_of(block, events);
            let body = postcard::to_stdvec(events)
                .map_err(|error| StoreError::Broken(format!("events cannot be written: {error}")))?;
            backend.push(
                "INSERT INTO event (block, at, origin, events, body) VALUES ($1, $2, $3, $4, $5)",
                vec![
                    Box::new(block.cast_signed()),
                    Box::new(now.as_micros()),
                    Box::new(self.origin),
                    // A block holds few enough.
                    Box::new(events.len() as i32),
                    Box::new(body),
                ],
            );
        }
        if !events.is_empty() {
            let told = vec![Box::new(channel) as Value, Box::new(self.origin.to_string())];
            backend.push("SELECT pg_notify($1, $2)", told);
        }
        backend.pending = together(std::mem::take(&mut backend.pending));
        backend.push("COMMIT", Vec::new());
        backend.send()?;
        self.last = cursor;
        Ok((outcomes, Committed { cursor, at: now, events, ready, handed_in: false }))
    }

    /// Waits for the right to commit, and fetches what the units are about. The time of the commit.
    fn begin(&mut self, group: &[Request], handed_in: &mut HandedIn) -> Result<Time, StoreError> {
        let units = group.iter().flat_map(|request| &request.units).chain(handed_in.units());
        let needs = Needs::of(units);
        if !self.working.backend.link.is_connected() {
            self.forget();
        }
        let Working { backend, tables, .. } = &mut self.working;
        backend.link.pin()?;
        let lock = backend.link.lock_key();
        let mut questions = vec![
            Pending { sql: "BEGIN".into(), values: Vec::new() },
            // The lock first: what stands after it is looked at when it is held.
            Pending {
                sql: "SELECT pg_advisory_xact_lock($1), nextval('commits'), \
                      (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
                    .into(),
                values: vec![Box::new(lock)],
            },
        ];
        questions.extend(needs.jobs(tables));
        let asks_handed_in = handed_in.question().map(|question| questions.push(question)).is_some();
        let mut answers = backend.link.send(&questions)?;
        if asks_handed_in {
            handed_in.keep(&answers.pop().unwrap_or_default())?;
        }
        let (number, time) = match answers[1].first() {
            Some(row) => (codec::get::<i64>(row, 1)?, codec::time(row, 2)?),
            None => return Err(StoreError::Broken("the database gave no number".into())),
        };
        let mut jobs = answers.split_off(2);
        if self.number.is_none_or(|last| last + 1 != number) {
            // Somebody else has committed since: what was known may be wrong.
            let knew_nothing = self.number.is_none();
            self.working.discard();
            let Working { backend, tables, .. } = &mut self.working;
            let mut questions = needs.surroundings();
            questions.push(Pending { sql: LAST_EVENT.into(), values: Vec::new() });
            let around = questions.len();
            if !knew_nothing {
                questions.extend(needs.jobs(tables));
            }
            let mut answers = backend.link.send(&questions)?;
            if !knew_nothing {
                jobs = answers.split_off(around);
            }
            let last = answers.pop().unwrap_or_default();
            self.last = last_cursor(&last)?;
            found_surroundings(tables, &answers)?;
        }
        needs.found_jobs(&mut self.working.tables, &jobs)?;
        self.number = Some(number);
        Ok(self.options.clock.as_ref().map_or(time, |clock| clock.now()))
    }

    /// Undoes what a failed commit did, and trusts nothing that it knew.
    fn roll_back(&mut self) {
        self.forget();
        let link = &mut self.working.backend.link;
        // On a connection that is gone there is nothing to undo.
        if link.is_connected() && link.batch("ROLLBACK").is_err() {
            link.drop_connection();
        }
    }

    /// Trusts nothing that is known.
    fn forget(&mut self) {
        self.working.discard();
        self.working.backend.pending.clear();
        self.number = None;
    }
}

impl Commit for Writer {
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Vec<Outcome>>, StoreError> {
        let committed = self.transaction(group);
        self.health.note(&committed, &self.options.schema);
        let committed = committed.inspect_err(|_| self.roll_back());
        self.working.backend.link.unpin();
        match committed {
            Ok((outcomes, hint)) => {
                self.working.tidy();
                // Nobody listening is fine: hints are only hints.
                let _ = self.hints.send(Arc::new(hint));
                Ok(outcomes)
            }
            Err(error) => Err(error),
        }
    }
}
