//! The rows of PostgreSQL, as the ledger asks for them. What a commit surely needs was fetched at once before
//! ([`super::fetch`]); what is asked for here is the rest, one by one.

use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use turnwise_core::batch::Batch;
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

use super::codec::{
    self, Decoded, batch_columns, header_columns, lane_columns, session_columns, tally_columns,
};
use super::link::{Link, Pending};
use crate::ledger::{Backend, Load, Tables, spaces};
use crate::store::{AttemptError, Blob, Secret, Session, StoreError};

/// The writer's connection, and what it has not sent yet.
pub(super) struct Rows {
    pub(super) link: Link,
    pub(super) pending: Vec<Pending>,
}

impl Rows {
    pub(super) fn new(link: Link) -> Self {
        Rows { link, pending: Vec::new() }
    }

    /// Sends what is pending.
    pub(super) fn send(&mut self) -> Result<Vec<Vec<Row>>, StoreError> {
        let pending = std::mem::take(&mut self.pending);
        match pending.is_empty() {
            true => Ok(Vec::new()),
            false => self.link.send(&pending),
        }
    }

    fn one<T>(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        read: impl FnOnce(&Row) -> Decoded<T>,
    ) -> Result<Option<T>, StoreError> {
        self.link.rows(sql, values)?.first().map(read).transpose()
    }

    /// Sends the changed rows, so that the database can be asked about them.
    fn written(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        self.flush(tables)?;
        self.send().map(drop)
    }

    /// Executes at once, and says how many rows it was about.
    fn count(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<usize, StoreError> {
        let counted = format!("WITH gone AS ({sql} RETURNING 1) SELECT count(*) FROM gone");
        Ok(self.one(&counted, values, |row| codec::number(row, 0))?.unwrap_or(0) as usize)
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
            let sql = "SELECT body FROM record WHERE space = $1 AND key = $2";
            rows.one(sql, &[&$name, &text], |row| codec::json(row, 0))
        });
    };
}

load!(Jobs, id: JobId => Header, rows, {
    let sql = concat!("SELECT ", header_columns!(), " FROM job WHERE id = $1");
    rows.one(sql, &[&id.as_i64()], codec::header)
});
load!(Payloads, id: JobId => Blob, rows, {
    rows.one("SELECT payload FROM job WHERE id = $1", &[&id.as_i64()], |row| codec::blob(row, 0))
});
load!(Results, id: JobId => Blob, rows, {
    rows.one("SELECT body FROM result WHERE id = $1", &[&id.as_i64()], |row| codec::blob(row, 0))
});
load!(Lines, id: LineId => Arc<LineKey>, rows, {
    let sql = "SELECT kind, owner, priority, batch, limit_key FROM line WHERE id = $1";
    rows.one(sql, &[&id.as_i64()], |row| codec::line(row, 0))
});
load!(Lanes, id: LaneId => Lane, rows, {
    rows.one(concat!("SELECT ", lane_columns!(), " FROM lane WHERE id = $1"), &[&id.as_i64()], codec::lane)
});
load!(Batches, id: BatchId => Batch, rows, {
    rows.one(concat!("SELECT ", batch_columns!(), " FROM batch WHERE id = $1"), &[&id.as_i64()], codec::batch)
});
load!(Accounts, owner: Name => Account, rows, {
    let sql = "SELECT weight, quota, backlog FROM account WHERE owner = $1";
    rows.one(sql, &[&owner.as_str()], |row| codec::account(row, 0))
});
load!(Tallies, key: (Name, Name) => Tally, rows, {
    let sql = concat!("SELECT ", tally_columns!(), " FROM tally WHERE owner = $1 AND kind = $2");
    rows.one(sql, &[&key.0.as_str(), &key.1.as_str()], |row| codec::tally(row, 0))
});
load!(Uniques, key: (Name, Name) => Taken, rows, {
    let sql = "SELECT job, until FROM unique_key WHERE kind = $1 AND key = $2";
    rows.one(sql, &[&key.0.as_str(), &key.1.as_str()], |row| {
        let job = JobId::from_u64(codec::number(row, 0)?);
        Ok(Taken { kind: key.0.clone(), key: key.1.clone(), job, until: codec::time(row, 1)? })
    })
});
load!(UniqueOf, job: JobId => (Name, Name), rows, {
    let sql = "SELECT kind, key FROM unique_key WHERE job = $1 AND until = 9223372036854775807";
    rows.one(sql, &[&job.as_i64()], |row| Ok((codec::name(row, 0)?, codec::name(row, 1)?)))
});
load!(Steps, key: (JobId, Name) => Blob, rows, {
    let sql = "SELECT output FROM step WHERE job = $1 AND name = $2";
    rows.one(sql, &[&key.0.as_i64(), &key.1.as_str()], |row| codec::blob(row, 0))
});
load!(Errors, key: (JobId, u32) => AttemptError, rows, {
    let sql = "SELECT fence, attempt, started, ended, failure, error FROM error WHERE job = $1 AND fence = $2";
    rows.one(sql, &[&key.0.as_i64(), &i64::from(key.1)], codec::attempt_error)
});
load!(Sessions, id: SessionId => Session, rows, {
    let sql = concat!("SELECT ", session_columns!(), " FROM session WHERE id = $1");
    rows.one(sql, &[&id.as_i64()], codec::session)
});
load!(Leases, name: Name => Lease, rows, {
    let sql = "SELECT name, holder, term, until FROM lease WHERE name = $1";
    rows.one(sql, &[&name.as_str()], codec::lease)
});
load!(Secrets, name: Name => Secret, rows, {
    let sql = "SELECT sealed, until FROM secret WHERE name = $1";
    rows.one(sql, &[&name.as_str()], |row| {
        Ok(Secret { name: name.clone(), sealed: codec::get(row, 0)?, until: codec::time(row, 1)? })
    })
});
load!(Messages, key: (Name, u64) => Blob, rows, {
    let sql = "SELECT body FROM message WHERE queue = $1 AND number = $2";
    rows.one(sql, &[&key.0.as_str(), &key.1.cast_signed()], |row| codec::blob(row, 0))
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
    fn may_have(&self, _job: JobId) -> bool {
        // Another node may have brought it. The ids of a submission were looked up together, so this is rarely asked.
        true
    }

    fn first_waiting(&mut self, tables: &mut Tables, lane: LaneId) -> Result<Option<JobId>, StoreError> {
        self.written(tables)?;
        let sql =
            "SELECT id FROM job WHERE lane = $1 AND state = 0 AND position > 0 ORDER BY position LIMIT 1";
        self.one(sql, &[&lane.as_i64()], |row| Ok(JobId::from_u64(codec::number(row, 0)?)))
    }

    fn runs_any(&mut self, tables: &mut Tables, session: SessionId) -> Result<bool, StoreError> {
        self.written(tables)?;
        let sql = "SELECT 1 FROM job WHERE state = 3 AND session = $1 LIMIT 1";
        Ok(self.one(sql, &[&session.as_i64()], |_| Ok(()))?.is_some())
    }

    fn count_steps(&mut self, tables: &mut Tables, job: JobId) -> Result<usize, StoreError> {
        self.written(tables)?;
        let sql = "SELECT count(*) FROM step WHERE job = $1";
        Ok(self.one(sql, &[&job.as_i64()], |row| codec::number(row, 0))?.unwrap_or(0) as usize)
    }

    fn drop_old_errors(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        self.flush(tables)?;
        let sql = "DELETE FROM error WHERE job = $1 AND fence <= \
                   (SELECT fence FROM error WHERE job = $1 ORDER BY fence DESC LIMIT 1 OFFSET $2)";
        self.push(sql, vec![Box::new(job.as_i64()), Box::new(limits::ERRORS_KEPT as i64)]);
        Ok(())
    }

    fn forget(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        self.flush(tables)?;
        let id = job.as_i64();
        self.push("DELETE FROM result WHERE id = $1", vec![Box::new(id)]);
        self.push("DELETE FROM step WHERE job = $1", vec![Box::new(id)]);
        self.push("DELETE FROM error WHERE job = $1", vec![Box::new(id)]);
        let progress = "DELETE FROM record WHERE space = 'progress' AND key = $1";
        self.push(progress, vec![Box::new(job.to_string())]);
        Ok(())
    }

    fn trim(&mut self, block: u64) -> Result<usize, StoreError> {
        let sql = "DELETE FROM event WHERE block < least($1, (SELECT max(block) FROM event))";
        self.count(sql, &[&i64::try_from(block).unwrap_or(i64::MAX)])
    }

    fn expire(&mut self, tables: &mut Tables, by: Time) -> Result<usize, StoreError> {
        self.written(tables)?;
        let by = by.as_micros();
        let keys = self.count("DELETE FROM unique_key WHERE until <= $1", &[&by])?;
        Ok(keys + self.count("DELETE FROM secret WHERE until <= $1", &[&by])?)
    }
}
