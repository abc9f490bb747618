//! Listings of everything but jobs: a page at a time, each looking at a bounded number of rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use turnwise_core::batch::Batch;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::name::Name;
use turnwise_core::tally::{Account, Tally};

use super::reads::{many, one};
use super::{Reader, codec};
use crate::ledger::{page, trimmed};
use crate::store::{Found, OwnerRow, StoreError, Tail};

/// Ended jobs that are looked at together.
const LOOKED_AT: i64 = 10_000;

pub(super) fn tail(reader: &mut Reader, after: Cursor, limit: usize) -> Result<Tail, StoreError> {
    let c = &reader.connection;
    let oldest = one(c, "SELECT min(block) FROM event", [], |row| row.get::<_, Option<i64>>(0))?.flatten();
    let oldest = trimmed(oldest.map(i64::cast_unsigned));
    if after < oldest {
        return Ok(Tail::Gone { oldest });
    }
    // A block has at least one event, so this many are enough; a few long ones are read for nothing.
    let sql = "SELECT block, at, body FROM event WHERE block >= ?1 ORDER BY block LIMIT ?2";
    let most = (limit as i64).min(64) + 1;
    let blocks = many(c, sql, params![after.block().cast_signed(), most], |row| {
        let body = row.get_ref(2)?.as_blob()?;
        Ok((codec::number(row, 0)?, codec::time(row, 1)?, postcard::from_bytes::<Vec<Event>>(body)))
    })?;
    let mut decoded = Vec::with_capacity(blocks.len());
    for (block, at, events) in blocks {
        let events = events.map_err(|error| StoreError::Broken(format!("event block {block}: {error}")))?;
        decoded.push((block, at, events));
    }
    Ok(Tail::Page(page(decoded.into_iter(), after, limit)))
}

pub(super) fn owners(c: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<OwnerRow>, StoreError> {
    let sql = "SELECT owner, weight, quota, backlog FROM account WHERE owner > ?1 ORDER BY owner LIMIT ?2";
    let mut owners = many(c, sql, params![after.unwrap_or(""), limit as i64], |row| {
        let account =
            Account { weight: row.get(1)?, quota: codec::number(row, 2)?, backlog: codec::number(row, 3)? };
        Ok(OwnerRow { owner: codec::name(row, 0)?, account, tallies: Vec::new() })
    })?;
    for owner in &mut owners {
        let sql = "SELECT kind, waiting, scheduled, ready, running, retrying, done, dead, cancelled FROM tally \
                   WHERE owner = ?1 ORDER BY kind";
        owner.tallies = many(c, sql, [owner.owner.as_str()], |row| {
            Ok::<(Name, Tally), _>((codec::name(row, 0)?, codec::tally(row, 1)?))
        })?;
    }
    Ok(owners)
}

pub(super) fn totals(c: &Connection) -> Result<BTreeMap<Name, Tally>, StoreError> {
    let sql = "SELECT kind, sum(waiting), sum(scheduled), sum(ready), sum(running), sum(retrying), sum(done), sum(dead), \
               sum(cancelled) FROM tally GROUP BY kind";
    let totals = many(c, sql, [], |row| Ok((codec::name(row, 0)?, codec::tally(row, 1)?)))?;
    Ok(totals.into_iter().collect())
}

pub(super) fn batch(c: &Connection, id: BatchId) -> Result<Option<Batch>, StoreError> {
    let sql = format!("SELECT {} FROM batch WHERE id = ?1", codec::BATCH);
    one(c, &sql, [id.as_i64()], codec::batch)
}

pub(super) fn batch_jobs(
    reader: &mut Reader,
    batch: BatchId,
    after: Option<JobId>,
    limit: usize,
) -> Result<Found, StoreError> {
    let c = &reader.connection;
    let Some(Batch { first, last, .. }) = self::batch(c, batch)? else {
        return Ok(Found::Ids { ids: Vec::new(), after: None });
    };
    let sql = format!(
        "SELECT {} FROM job WHERE id > ?1 AND id <= ?2 AND state < 5 \
         AND line IN (SELECT id FROM line WHERE batch = ?3) ORDER BY id LIMIT ?4",
        codec::HEADER
    );
    let from = after.map_or(first.as_i64() - 1, JobId::as_i64);
    let headers = many(c, &sql, params![from, last.as_i64(), batch.as_i64(), limit as i64], codec::header)?;
    let after = (headers.len() == limit).then(|| headers.last().map(|header| header.id)).flatten();
    let ids = headers.iter().filter(|header| !header.flags.continuation).map(|header| header.id).collect();
    Ok(Found::Ids { ids, after })
}

pub(super) fn ended(c: &Connection, after: JobId, below: JobId, limit: usize) -> Result<Found, StoreError> {
    let sql = "SELECT id, state FROM job WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3";
    let rows = many(c, sql, params![after.as_i64(), below.as_i64(), LOOKED_AT], |row| {
        Ok((JobId::from_u64(codec::number(row, 0)?), row.get::<_, u8>(1)?))
    })?;
    let full = rows.len() == LOOKED_AT as usize;
    let (mut ids, mut last) = (Vec::new(), None);
    for (id, state) in &rows {
        if ids.len() == limit {
            return Ok(Found::Ids { ids, after: last });
        }
        last = Some(*id);
        if State::from_number(*state).is_some_and(State::is_final) {
            ids.push(*id);
        }
    }
    Ok(Found::Ids { ids, after: last.filter(|_| full) })
}
