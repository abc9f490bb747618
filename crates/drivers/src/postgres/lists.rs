//! Listings of everything but jobs: a page at a time, each looking at a bounded number of rows.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;
use turnwise_core::batch::Batch;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::name::Name;
use turnwise_core::tally::Tally;

use super::codec::{self, batch_columns, header_columns, tally_columns};
use super::link::Link;
use super::reads::{many, most, one};
use crate::ledger::{page, trimmed};
use crate::store::{Found, OwnerRow, StoreError, Tail};

pub(super) fn tail(link: &mut Link, after: Cursor, limit: usize) -> Result<Tail, StoreError> {
    let oldest = one(link, "SELECT min(block) FROM event", &[], |row| codec::get::<Option<i64>>(row, 0))?;
    let oldest = trimmed(oldest.flatten().map(i64::cast_unsigned));
    if after < oldest {
        return Ok(Tail::Gone { oldest });
    }
    // A block has at least one event, so this many are enough; a few long ones are read for nothing.
    let sql = "SELECT block, at, body FROM event WHERE block >= $1 ORDER BY block LIMIT $2";
    let count = most(limit).min(64) + 1;
    let blocks = many(link, sql, &[&after.block().cast_signed(), &count], |row| {
        let block = codec::number(row, 0)?;
        let events = postcard::from_bytes::<Vec<Event>>(codec::get(row, 2)?)
            .map_err(|error| StoreError::Broken(format!("event block {block}: {error}")))?;
        Ok((block, codec::time(row, 1)?, events))
    })?;
    Ok(Tail::Page(page(blocks.into_iter(), after, limit)))
}

pub(super) fn owners(
    link: &mut Link,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<OwnerRow>, StoreError> {
    let sql = "SELECT owner, weight, quota, backlog FROM account WHERE owner > $1 ORDER BY owner LIMIT $2";
    let mut owners = many(link, sql, &[&after.unwrap_or(""), &most(limit)], |row| {
        Ok(OwnerRow { owner: codec::name(row, 0)?, account: codec::account(row, 1)?, tallies: Vec::new() })
    })?;
    let (Some(first), Some(last)) = (owners.first(), owners.last()) else { return Ok(owners) };
    let sql = concat!(
        "SELECT owner, kind, ",
        tally_columns!(),
        " FROM tally WHERE owner BETWEEN $1 AND $2 ORDER BY owner, kind"
    );
    let tallies = many(link, sql, &[&first.owner.as_str(), &last.owner.as_str()], |row| {
        Ok::<(Name, Name, _), _>((codec::name(row, 0)?, codec::name(row, 1)?, codec::tally(row, 2)?))
    })?;
    let mut rest = owners.iter_mut().peekable();
    for (owner, kind, tally) in tallies {
        while rest.next_if(|row| row.owner < owner).is_some() {}
        if let Some(row) = rest.peek_mut().filter(|row| row.owner == owner) {
            row.tallies.push((kind, tally));
        }
    }
    Ok(owners)
}

pub(super) fn totals(link: &mut Link) -> Result<BTreeMap<Name, Tally>, StoreError> {
    let sql = "SELECT kind, sum(waiting)::bigint, sum(scheduled)::bigint, sum(ready)::bigint, sum(running)::bigint, \
               sum(retrying)::bigint, sum(done)::bigint, sum(dead)::bigint, sum(cancelled)::bigint FROM tally GROUP BY kind";
    let totals = many(link, sql, &[], |row| Ok((codec::name(row, 0)?, codec::tally(row, 1)?)))?;
    Ok(totals.into_iter().collect())
}

pub(super) fn batch(link: &mut Link, id: BatchId) -> Result<Option<Batch>, StoreError> {
    let sql = concat!("SELECT ", batch_columns!(), " FROM batch WHERE id = $1");
    one(link, sql, &[&id.as_i64()], codec::batch)
}

pub(super) fn batch_jobs(
    link: &mut Link,
    batch: BatchId,
    after: Option<JobId>,
    limit: usize,
) -> Result<Found, StoreError> {
    let Some(Batch { first, last, .. }) = self::batch(link, batch)? else {
        return Ok(Found::Ids { ids: Vec::new(), after: None });
    };
    let sql = concat!(
        "SELECT ",
        header_columns!(),
        " FROM job WHERE id > $1 AND id <= $2 AND state < 5 \
         AND line IN (SELECT id FROM line WHERE batch = $3) ORDER BY id LIMIT $4"
    );
    let from = after.map_or(first.as_i64() - 1, JobId::as_i64);
    let values: &[&(dyn ToSql + Sync)] = &[&from, &last.as_i64(), &batch.as_i64(), &most(limit)];
    let headers = many(link, sql, values, codec::header)?;
    let after = (headers.len() == limit).then(|| headers.last().map(|header| header.id)).flatten();
    let ids = headers.iter().filter(|header| !header.flags.continuation).map(|header| header.id).collect();
    Ok(Found::Ids { ids, after })
}

pub(super) fn ended(link: &mut Link, after: JobId, below: JobId, limit: usize) -> Result<Found, StoreError> {
    let sql = "SELECT id FROM job WHERE state >= 5 AND id > $1 AND id < $2 ORDER BY id LIMIT $3";
    let ids = many(link, sql, &[&after.as_i64(), &below.as_i64(), &most(limit)], |row| {
        codec::number(row, 0).map(JobId::from_u64)
    })?;
    let after = ids.last().copied().filter(|_| ids.len() == limit);
    Ok(Found::Ids { ids, after })
}
