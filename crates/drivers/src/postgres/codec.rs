//! Rows of PostgreSQL to records.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use turnwise_core::batch::{Batch, Continuation, Phase, When};
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::{Flags, Header, Place, State};
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::lease::Lease;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::tally::{Account, Tally};
use turnwise_core::time::Time;

use crate::store::{AttemptError, Blob, Session, StoreError};

/// What reading a row comes to.
pub(super) type Decoded<T> = Result<T, StoreError>;

/// The columns of a header, in the order that [`header`] reads them.
macro_rules! header_columns {
    () => {
        "id, version, state, line, lane, position, attempt, attempts, rescues, fence, session, submitted, at, flags"
    };
}
macro_rules! lane_columns {
    () => {
        "id, name, next, head, waiting, on_dead, halted, paused"
    };
}
macro_rules! batch_columns {
    () => {
        "id, name, owner, opened, settled, phase, total, done, dead, cancelled, repaired, then_job, then_when, \
         cancel, last, first"
    };
}
macro_rules! tally_columns {
    () => {
        "waiting, scheduled, ready, running, retrying, done, dead, cancelled"
    };
}
macro_rules! session_columns {
    () => {
        "id, node, number, pools, kinds, opened, until"
    };
}
pub(super) use {batch_columns, header_columns, lane_columns, session_columns, tally_columns};

/// The column after those of a header.
pub(super) const AFTER_HEADER: usize = 14;

pub(super) fn header(row: &Row) -> Decoded<Header> {
    let lane: Option<i64> = get(row, 4)?;
    let position: Option<i64> = get(row, 5)?;
    Ok(Header {
        id: JobId::from_u64(number(row, 0)?),
        version: small(row, 1)?,
        state: narrow::<i16, u8>(row, 2)
            .and_then(|state| State::from_number(state).ok_or_else(|| odd("a state")))?,
        line: LineId::from_u64(number(row, 3)?),
        place: lane.zip(position).map(|(lane, position)| Place {
            lane: LaneId::from_u64(lane.cast_unsigned()),
            position: position.cast_unsigned(),
        }),
        attempt: narrow::<i32, u16>(row, 6)?,
        attempts: narrow::<i32, u16>(row, 7)?,
        rescues: narrow::<i32, u16>(row, 8)?,
        fence: small(row, 9)?,
        session: get::<Option<i64>>(row, 10)?.map(|id| SessionId::from_u64(id.cast_unsigned())),
        submitted: time(row, 11)?,
        at: time(row, 12)?,
        flags: Flags::from_bits(narrow::<i32, u8>(row, 13)?),
    })
}

pub(super) fn line(row: &Row, first: usize) -> Decoded<Arc<LineKey>> {
    let priority = narrow::<i16, u8>(row, first + 2)?;
    Ok(Arc::new(LineKey {
        kind: name(row, first)?,
        owner: name(row, first + 1)?,
        priority: Priority::new(priority).map_err(|_| odd("a priority"))?,
        batch: get::<Option<i64>>(row, first + 3)?.map(|id| BatchId::from_u64(id.cast_unsigned())),
        limit_key: get::<Option<&str>>(row, first + 4)?
            .map(|text| Name::new(text).map_err(|_| odd("a name")))
            .transpose()?,
    }))
}

pub(super) fn lane(row: &Row) -> Decoded<Lane> {
    Ok(Lane {
        id: LaneId::from_u64(number(row, 0)?),
        name: name(row, 1)?,
        next: number(row, 2)?,
        head: get::<Option<i64>>(row, 3)?.map(|id| JobId::from_u64(id.cast_unsigned())),
        waiting: number(row, 4)?,
        on_dead: if get(row, 5)? { OnDead::Halt } else { OnDead::Continue },
        halted: get(row, 6)?,
        paused: get(row, 7)?,
    })
}

pub(super) fn batch(row: &Row) -> Decoded<Batch> {
    let job: Option<i64> = get(row, 11)?;
    let all: Option<bool> = get(row, 12)?;
    Ok(Batch {
        id: BatchId::from_u64(number(row, 0)?),
        name: name(row, 1)?,
        owner: name(row, 2)?,
        opened: time(row, 3)?,
        settled: time(row, 4)?,
        phase: narrow::<i16, u8>(row, 5)
            .and_then(|phase| Phase::from_number(phase).ok_or_else(|| odd("a phase")))?,
        total: number(row, 6)?,
        done: number(row, 7)?,
        dead: number(row, 8)?,
        cancelled: number(row, 9)?,
        repaired: number(row, 10)?,
        then: job.zip(all).map(|(job, all)| Continuation {
            job: JobId::from_u64(job.cast_unsigned()),
            when: if all { When::AllDone } else { When::Settled },
        }),
        cancel: get(row, 13)?,
        last: JobId::from_u64(number(row, 14)?),
        first: JobId::from_u64(number(row, 15)?),
    })
}

pub(super) fn tally(row: &Row, first: usize) -> Decoded<Tally> {
    let mut tally = Tally::default();
    for (place, count) in tally.0.iter_mut().enumerate() {
        *count = number(row, first + place)?;
    }
    Ok(tally)
}

pub(super) fn account(row: &Row, first: usize) -> Decoded<Account> {
    Ok(Account {
        weight: small(row, first)?,
        quota: number(row, first + 1)?,
        backlog: number(row, first + 2)?,
    })
}

pub(super) fn lease(row: &Row) -> Decoded<Lease> {
    Ok(Lease { name: name(row, 0)?, holder: name(row, 1)?, term: number(row, 2)?, until: time(row, 3)? })
}

pub(super) fn session(row: &Row) -> Decoded<Session> {
    Ok(Session {
        id: SessionId::from_u64(number(row, 0)?),
        node: name(row, 1)?,
        number: narrow::<i32, u16>(row, 2)?,
        pools: json(row, 3)?,
        kinds: json(row, 4)?,
        opened: time(row, 5)?,
        until: time(row, 6)?,
    })
}

pub(super) fn attempt_error(row: &Row) -> Decoded<AttemptError> {
    Ok(AttemptError {
        fence: small(row, 0)?,
        attempt: narrow::<i32, u16>(row, 1)?,
        started: time(row, 2)?,
        ended: time(row, 3)?,
        failure: json(row, 4)?,
        error: get(row, 5)?,
    })
}

pub(super) fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, column: usize) -> Decoded<T> {
    row.try_get(column).map_err(|error| StoreError::Broken(format!("a column cannot be read: {error}")))
}

pub(super) fn number(row: &Row, column: usize) -> Decoded<u64> {
    get::<i64>(row, column).map(i64::cast_unsigned)
}

/// A number that was small when it was written.
pub(super) fn small(row: &Row, column: usize) -> Decoded<u32> {
    narrow::<i64, u32>(row, column)
}

fn narrow<'a, Wide: tokio_postgres::types::FromSql<'a>, Small: TryFrom<Wide>>(
    row: &'a Row,
    column: usize,
) -> Decoded<Small> {
    Small::try_from(get::<Wide>(row, column)?).map_err(|_| odd("a number of its size"))
}

pub(super) fn time(row: &Row, column: usize) -> Decoded<Time> {
    get(row, column).map(Time::from_micros)
}

pub(super) fn name(row: &Row, column: usize) -> Decoded<Name> {
    Name::new(get::<&str>(row, column)?).map_err(|_| odd("a name"))
}

pub(super) fn blob(row: &Row, column: usize) -> Decoded<Blob> {
    get::<&[u8]>(row, column).map(Into::into)
}

pub(super) fn json<T: DeserializeOwned>(row: &Row, column: usize) -> Decoded<T> {
    serde_json::from_str(get::<&str>(row, column)?)
        .map_err(|error| StoreError::Broken(format!("a record cannot be read: {error}")))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Decoded<String> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Broken(format!("cannot be written as JSON: {error}")))
}

pub(super) fn odd(what: &str) -> StoreError {
    StoreError::Broken(format!("a column of the database is not {what}"))
}
