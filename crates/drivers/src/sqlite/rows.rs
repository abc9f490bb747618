//! The rows of SQLite, as the ledger asks for them.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
use turnwise_core::batch::Batch;
use turnwise_core::event::Event;
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::kind::Kind;
use turnwise_core::lane::Lane;
use turnwise_core::lease::Lease;
use turnwise_core::limits;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::tally::{Account, Tally};
use turnwise_core::time::Time;
use turnwise_core::unique::Taken;

use super::codec;
use super::schema::fault;
use crate::ledger::{Backend, Load, Tables, spaces};
use crate::store::{AttemptError, Blob, Secret, Session, StoreError};

/// The writer's connection.
pub(super) struct Rows {
    connection: Connection,
    /// The largest job id there is: a larger one is certainly new.
    highest: u64,
    /// The payload of the job that was loaded last: a claim asks for both, and one look gives both.
    payload: Option<(JobId, Option<Blob>)>,
}

impl Rows {
    pub(super) fn new(connection: Connection) -> Result<Self, StoreError> {
        let highest: Option<i64> = connection
            .query_row("SELECT max(id) FROM job", [], |row| row.get(0))
            .map_err(|error| fault(&error))?;
        Ok(Rows { connection, highest: highest.unwrap_or(0).cast_unsigned(), payload: None })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        self.run("BEGIN IMMEDIATE", [])
    }

    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT", [])
    }

    /// Undoes what a failed commit did. SQLite may have done so by itself.
    pub(super) fn roll_back(&mut self) {
        self.payload = None;
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a failed commit could not be undone");
        }
    }

    pub(super) fn write_events(&mut self, block: u64, at: Time, events: &[Event]) -> Result<(), StoreError> {
        let body = postcard::to_stdvec(events)
            .map_err(|error| StoreError::Broken(format!("events cannot be written: {error}")))?;
        let values = params![block.cast_signed(), at.as_micros(), body];
        self.run("INSERT INTO event (block, at, body) VALUES (?1, ?2, ?3)", values)
    }

    pub(super) fn noted(&mut self, id: JobId) {
        self.highest = self.highest.max(id.as_u64());
    }

    /// Executes a statement that gives nothing back.
    pub(super) fn run(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.statement(sql)?.execute(values).map(drop).map_err(|error| fault(&error))
    }

    /// A statement that is prepared once.
    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(|error| fault(&error))
    }

    /// Executes a statement that ends a secret: what it was is overwritten, not only unlinked.
    pub(super) fn wipe(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        let secure = |on: &str| {
            self.connection.pragma_update(None, "secure_delete", on).map_err(|error| fault(&error))
        };
        secure("on")?;
        let wiped = self.run(sql, values);
        secure("off")?;
        wiped
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, read).optional());
        found.map_err(|error| fault(&error))
    }
}

macro_rules! load {
    ($space:ident, $key:ident : $Key:ty => $Value:ty, $rows:ident, $body:expr) => {
        impl Load<spaces::$space> for Rows {
            fn load(&mut self, $key: &$Key) -> Result<Option<$Value>, StoreError> {
                let $rows = self;
                $body
            }
        }
    };
}

/// A small record, kept as JSON.
macro_rules! record {
    ($space:ident, $name:literal, $key:ident : $Key:ty => $Value:ty, $text:expr) => {
        load!($space, $key: $Key => $Value, rows, {
            let text: String = $text;
            let sql = "SELECT body FROM record WHERE space = ?1 AND key = ?2";
            rows.one(sql, params![$name, text], |row| codec::json(row, 0))
        });
    };
}

impl Load<spaces::Jobs> for Rows {
    fn load(&mut self, id: &JobId) -> Result<Option<Header>, StoreError> {
        const SQL: &str = "SELECT id, version, state, line, lane, position, attempt, attempts, rescues, fence, \
                           session, submitted, at, flags, payload FROM job WHERE id = ?1";
        let read = |row: &Row<'_>| Ok((codec::header(row)?, codec::maybe_blob(row, codec::AFTER_HEADER)?));
        let Some((header, payload)) = self.one(SQL, [id.as_i64()], read)? else { return Ok(None) };
        self.payload = Some((*id, payload));
        Ok(Some(header))
    }
}

impl Load<spaces::Payloads> for Rows {
    fn load(&mut self, id: &JobId) -> Result<Option<Blob>, StoreError> {
        let known = self.payload.take().filter(|(job, _)| job == id);
        let inline = match known {
            Some((_, payload)) => payload,
            None => self
                .one("SELECT payload FROM job WHERE id = ?1", [id.as_i64()], |row| codec::maybe_blob(row, 0))?
                .flatten(),
        };
        match inline {
            Some(payload) => Ok(Some(payload)),
            None => {
                self.one("SELECT body FROM payload WHERE id = ?1", [id.as_i64()], |row| codec::blob(row, 0))
            }
        }
    }
}

load!(Results, id: JobId => Blob, rows, {
    rows.one("SELECT body FROM result WHERE id = ?1", [id.as_i64()], |row| codec::blob(row, 0))
});
load!(Lines, id: LineId => Arc<LineKey>, rows, {
    let sql = "SELECT kind, owner, priority, batch, limit_key FROM line WHERE id = ?1";
    rows.one(sql, [id.as_i64()], |row| codec::line(row, 0))
});
load!(Lanes, id: LaneId => Lane, rows, {
    let sql = "SELECT id, name, next, head, waiting, on_dead, halted, paused FROM lane WHERE id = ?1";
    rows.one(sql, [id.as_i64()], codec::lane)
});
load!(Batches, id: BatchId => Batch, rows, {
    let sql = "SELECT id, name, owner, opened, settled, phase, total, done, dead, cancelled, repaired, \
               then_job, then_when, cancel, last, first FROM batch WHERE id = ?1";
    rows.one(sql, [id.as_i64()], codec::batch)
});
load!(Accounts, owner: Name => Account, rows, {
    let sql = "SELECT weight, quota, backlog FROM account WHERE owner = ?1";
    rows.one(sql, [owner.as_str()], |row| {
        Ok(Account { weight: row.get(0)?, quota: codec::number(row, 1)?, backlog: codec::number(row, 2)? })
    })
});
load!(Tallies, key: (Name, Name) => Tally, rows, {
    let sql = "SELECT waiting, scheduled, ready, running, retrying, done, dead, cancelled FROM tally \
               WHERE owner = ?1 AND kind = ?2";
    rows.one(sql, [key.0.as_str(), key.1.as_str()], |row| codec::tally(row, 0))
});
load!(Uniques, key: (Name, Name) => Taken, rows, {
    let sql = "SELECT job, until FROM unique_key WHERE kind = ?1 AND key = ?2";
    rows.one(sql, [key.0.as_str(), key.1.as_str()], |row| {
        Ok(Taken {
            kind: key.0.clone(),
            key: key.1.clone(),
            job: JobId::from_u64(codec::number(row, 0)?),
            until: codec::time(row, 1)?,
        })
    })
});
load!(UniqueOf, job: JobId => (Name, Name), rows, {
    let sql = "SELECT kind, key FROM unique_key WHERE job = ?1 AND until = 9223372036854775807";
    rows.one(sql, [job.as_i64()], |row| Ok((codec::name(row, 0)?, codec::name(row, 1)?)))
});
load!(Steps, key: (JobId, Name) => Blob, rows, {
    let sql = "SELECT output FROM step WHERE job = ?1 AND name = ?2";
    rows.one(sql, params![key.0.as_i64(), key.1.as_str()], |row| codec::blob(row, 0))
});
load!(Errors, key: (JobId, u32) => AttemptError, rows, {
    let sql = "SELECT fence, attempt, started, ended, failure, error FROM error WHERE job = ?1 AND fence = ?2";
    rows.one(sql, params![key.0.as_i64(), key.1], codec::attempt_error)
});
load!(Sessions, id: SessionId => Session, rows, {
    let sql = "SELECT id, node, number, pools, kinds, opened, until FROM session WHERE id = ?1";
    rows.one(sql, [id.as_i64()], codec::session)
});
load!(Leases, name: Name => Lease, rows, {
    let sql = "SELECT name, holder, term, until FROM lease WHERE name = ?1";
    rows.one(sql, [name.as_str()], codec::lease)
});
load!(Secrets, name: Name => Secret, rows, {
    let sql = "SELECT sealed, until FROM secret WHERE name = ?1";
    rows.one(sql, [name.as_str()], |row| {
        Ok(Secret { name: name.clone(), sealed: row.get(0)?, until: codec::time(row, 1)? })
    })
});
load!(Messages, key: (Name, u64) => Blob, rows, {
    let sql = "SELECT body FROM message WHERE queue = ?1 AND number = ?2";
    rows.one(sql, params![key.0.as_str(), key.1.cast_signed()], |row| codec::blob(row, 0))
});
record!(Kinds, "kind", name: Name => Arc<Kind>, name.as_str().to_owned());
record!(ProgressOf, "progress", id: JobId => crate::store::Progress, id.to_string());
record!(Gauges, "gauge", key: crate::store::LimitKey => u32, codec::to_json(key)?);
record!(Buckets, "bucket", key: crate::store::LimitKey => turnwise_core::rate::Bucket, codec::to_json(key)?);
record!(PausesRow, "pauses", _key: () => crate::store::Pauses, String::new());
record!(Schedules, "schedule", name: Name => crate::store::Schedule, name.as_str().to_owned());
record!(Tokens, "token", name: Name => crate::store::Token, name.as_str().to_owned());
record!(TokenCount, "tokens", _key: () => usize, String::new());
record!(Queues, "queue", name: Name => crate::store::QueueState, name.as_str().to_owned());
record!(Terms, "term", id: JobId => u64, id.to_string());
record!(Numbers, "number", _key: () => crate::store::NodeNumbers, String::new());

impl Backend for Rows {
    fn may_have(&self, job: JobId) -> bool {
        job.as_u64() <= self.highest
    }

    fn first_waiting(&mut self, tables: &mut Tables, lane: LaneId) -> Result<Option<JobId>, StoreError> {
        self.flush_jobs(tables)?;
        let sql =
            "SELECT id FROM job WHERE lane = ?1 AND state = 0 AND position > 0 ORDER BY position LIMIT 1";
        self.one(sql, [lane.as_i64()], |row| Ok(JobId::from_u64(codec::number(row, 0)?)))
    }

    fn runs_any(&mut self, tables: &mut Tables, session: SessionId) -> Result<bool, StoreError> {
        self.flush_jobs(tables)?;
        let sql = "SELECT 1 FROM job WHERE state = 3 AND session = ?1 LIMIT 1";
        Ok(self.one(sql, [session.as_i64()], |_| Ok(()))?.is_some())
    }

    fn count_steps(&mut self, tables: &mut Tables, job: JobId) -> Result<usize, StoreError> {
        self.flush_steps(tables)?;
        let sql = "SELECT count(*) FROM step WHERE job = ?1";
        Ok(self.one(sql, [job.as_i64()], |row| codec::number(row, 0))?.unwrap_or(0) as usize)
    }

    fn drop_old_errors(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        self.flush_errors(tables)?;
        let sql = "DELETE FROM error WHERE job = ?1 AND fence <= \
                   (SELECT fence FROM error WHERE job = ?1 ORDER BY fence DESC LIMIT 1 OFFSET ?2)";
        self.run(sql, params![job.as_i64(), limits::ERRORS_KEPT as i64])
    }

    fn forget(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        self.flush(tables)?;
        let id = job.as_i64();
        self.run("DELETE FROM payload WHERE id = ?1", [id])?;
        self.run("DELETE FROM result WHERE id = ?1", [id])?;
        self.run("DELETE FROM step WHERE job = ?1", [id])?;
        self.run("DELETE FROM error WHERE job = ?1", [id])?;
        self.run("DELETE FROM record WHERE space = 'progress' AND key = ?1", [job.to_string()])
    }

    fn trim(&mut self, block: u64) -> Result<usize, StoreError> {
        let before = self.connection.total_changes();
        let sql = "DELETE FROM event WHERE block < min(?1, (SELECT max(block) FROM event))";
        self.run(sql, [i64::try_from(block).unwrap_or(i64::MAX)])?;
        Ok((self.connection.total_changes() - before) as usize)
    }

    fn expire(&mut self, tables: &mut Tables, by: Time) -> Result<usize, StoreError> {
        self.flush(tables)?;
        let before = self.connection.total_changes();
        self.run("DELETE FROM unique_key WHERE until <= ?1", [by.as_micros()])?;
        self.wipe("DELETE FROM secret WHERE until <= ?1", [by.as_micros()])?;
        Ok((self.connection.total_changes() - before) as usize)
    }
}
