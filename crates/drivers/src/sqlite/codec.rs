//! Rows of SQLite to records and back.

use std::sync::Arc;

use rusqlite::{Row, types::Type};
use serde::Serialize;
use serde::de::DeserializeOwned;
use turnwise_core::batch::{Batch, Continuation, Phase, When};
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::{Flags, Header, Place, State};
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::lease::Lease;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::tally::Tally;
use turnwise_core::time::Time;

use crate::store::{AttemptError, Blob, Session, StoreError};

/// The columns of a header, in the order that [`header`] reads them.
pub(super) const HEADER: &str = "id, version, state, line, lane, position, attempt, attempts, rescues, fence, session, submitted, at, flags";
/// The column after those of a header.
pub(super) const AFTER_HEADER: usize = 14;

pub(super) fn header(row: &Row<'_>) -> rusqlite::Result<Header> {
    let lane: Option<i64> = row.get(4)?;
    let position: Option<i64> = row.get(5)?;
    Ok(Header {
        id: JobId::from_u64(number(row, 0)?),
        version: row.get(1)?,
        state: State::from_number(row.get(2)?).ok_or_else(|| odd(2, "a state"))?,
        line: LineId::from_u64(number(row, 3)?),
        place: lane.zip(position).map(|(lane, position)| Place {
            lane: LaneId::from_u64(lane.cast_unsigned()),
            position: position.cast_unsigned(),
        }),
        attempt: row.get(6)?,
        attempts: row.get(7)?,
        rescues: row.get(8)?,
        fence: row.get(9)?,
        session: row.get::<_, Option<i64>>(10)?.map(|id| SessionId::from_u64(id.cast_unsigned())),
        submitted: time(row, 11)?,
        at: time(row, 12)?,
        flags: Flags::from_bits(row.get(13)?),
    })
}

pub(super) fn line(row: &Row<'_>, first: usize) -> rusqlite::Result<Arc<LineKey>> {
    Ok(Arc::new(LineKey {
        kind: name(row, first)?,
        owner: name(row, first + 1)?,
        priority: Priority::new(row.get(first + 2)?).map_err(|_| odd(first + 2, "a priority"))?,
        batch: row.get::<_, Option<i64>>(first + 3)?.map(|id| BatchId::from_u64(id.cast_unsigned())),
        limit_key: maybe_name(row, first + 4)?,
    }))
}

pub(super) const LANE: &str = "id, name, next, head, waiting, on_dead, halted, paused";

pub(super) fn lane(row: &Row<'_>) -> rusqlite::Result<Lane> {
    Ok(Lane {
        id: LaneId::from_u64(number(row, 0)?),
        name: name(row, 1)?,
        next: number(row, 2)?,
        head: row.get::<_, Option<i64>>(3)?.map(|id| JobId::from_u64(id.cast_unsigned())),
        waiting: number(row, 4)?,
        on_dead: if row.get(5)? { OnDead::Halt } else { OnDead::Continue },
        halted: row.get(6)?,
        paused: row.get(7)?,
    })
}

pub(super) const BATCH: &str = "id, name, owner, opened, settled, phase, total, done, dead, cancelled, repaired, \
                                then_job, then_when, cancel, last, first";

pub(super) fn batch(row: &Row<'_>) -> rusqlite::Result<Batch> {
    let job: Option<i64> = row.get(11)?;
    let all: Option<bool> = row.get(12)?;
    Ok(Batch {
        id: BatchId::from_u64(number(row, 0)?),
        name: name(row, 1)?,
        owner: name(row, 2)?,
        opened: time(row, 3)?,
        settled: time(row, 4)?,
        phase: Phase::from_number(row.get(5)?).ok_or_else(|| odd(5, "a phase"))?,
        total: number(row, 6)?,
        done: number(row, 7)?,
        dead: number(row, 8)?,
        cancelled: number(row, 9)?,
        repaired: number(row, 10)?,
        then: job.zip(all).map(|(job, all)| Continuation {
            job: JobId::from_u64(job.cast_unsigned()),
            when: if all { When::AllDone } else { When::Settled },
        }),
        cancel: row.get(13)?,
        last: JobId::from_u64(number(row, 14)?),
        first: JobId::from_u64(number(row, 15)?),
    })
}

pub(super) fn tally(row: &Row<'_>, first: usize) -> rusqlite::Result<Tally> {
    let mut tally = Tally::default();
    for (place, count) in tally.0.iter_mut().enumerate() {
        *count = number(row, first + place)?;
    }
    Ok(tally)
}

pub(super) fn lease(row: &Row<'_>) -> rusqlite::Result<Lease> {
    Ok(Lease { name: name(row, 0)?, holder: name(row, 1)?, term: number(row, 2)?, until: time(row, 3)? })
}

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId::from_u64(number(row, 0)?),
        node: name(row, 1)?,
        number: row.get(2)?,
        pools: json(row, 3)?,
        kinds: json(row, 4)?,
        opened: time(row, 5)?,
        until: time(row, 6)?,
    })
}

pub(super) fn attempt_error(row: &Row<'_>) -> rusqlite::Result<AttemptError> {
    Ok(AttemptError {
        fence: row.get(0)?,
        attempt: row.get(1)?,
        started: time(row, 2)?,
        ended: time(row, 3)?,
        failure: json(row, 4)?,
        error: row.get(5)?,
    })
}

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Time> {
    row.get(column).map(Time::from_micros)
}

pub(super) fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<Name> {
    Name::new(row.get_ref(column)?.as_str()?).map_err(|_| odd(column, "a name"))
}

fn maybe_name(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Name>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(|text| Name::new(text).map_err(|_| odd(column, "a name"))).transpose()
}

pub(super) fn blob(row: &Row<'_>, column: usize) -> rusqlite::Result<Blob> {
    Ok(row.get_ref(column)?.as_blob()?.into())
}

pub(super) fn maybe_blob(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Blob>> {
    Ok(row.get_ref(column)?.as_blob_or_null()?.map(Into::into))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Broken(format!("cannot be written as JSON: {error}")))
}

fn odd(column: usize, what: &str) -> rusqlite::Error {
    let why = std::io::Error::other(format!("not {what}"));
    rusqlite::Error::FromSqlConversionFailure(column, Type::Null, Box::new(why))
}
