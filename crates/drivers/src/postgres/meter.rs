//! What a fleet costs its database, for measurements.

use super::link::Link;
use super::{PostgresOptions, codec};
use crate::store::StoreError;

/// Reads the database's own counters, and can hold a snapshot. Each call waits for the server, on a thread that belongs to
/// no runtime.
pub struct Meter {
    link: Link,
    schema: String,
}

/// Counters of a schema, from its beginning; the log's are the whole server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes written to the write-ahead log.
    pub log_bytes: u64,
    /// Row versions that were left dead: every update and every delete leaves one.
    pub dead_rows: u64,
    /// Bytes on the disk, with indexes.
    pub bytes: u64,
}

impl Meter {
    /// Connects.
    pub fn connect(options: &PostgresOptions) -> Result<Self, StoreError> {
        let mut link = Link::new(options)?;
        link.connect()?;
        Ok(Meter { link, schema: options.schema.clone() })
    }

    /// What it cost so far.
    pub fn cost(&mut self) -> Result<Cost, StoreError> {
        // What other sessions did is counted within a second; asking flushes nothing of theirs.
        let sql = "SELECT (pg_current_wal_lsn() - '0/0')::bigint, \
                   coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint, \
                   coalesce(sum(pg_total_relation_size(relid)), 0)::bigint \
                   FROM pg_stat_all_tables WHERE schemaname = $1";
        let rows = self.link.rows(sql, &[&self.schema])?;
        let row = rows.first().ok_or_else(|| StoreError::Broken("the database counted nothing".into()))?;
        Ok(Cost {
            log_bytes: codec::number(row, 0)?,
            dead_rows: codec::number(row, 1)?,
            bytes: codec::number(row, 2)?,
        })
    }

    /// Looks at the tables and goes on looking at them as they are now: the database must keep every row version that
    /// dies from now on, until this is dropped.
    pub fn hold_snapshot(&mut self) -> Result<(), StoreError> {
        let hold = "SET idle_in_transaction_session_timeout = 0; \
                    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM version";
        self.link.batch(hold)
    }
}
