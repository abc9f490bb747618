//! The headers that a commit changed: a column of values for each column of the table.

use turnwise_core::ids::SessionId;
use turnwise_core::job::Header;

use crate::ledger::{Change, Tables};
use crate::postgres::link::Value;
use crate::postgres::rows::Rows;
use crate::store::{Blob, StoreError};

const INSERT_JOBS: &str = "INSERT INTO job (id, version, state, lane, position, attempt, rescues, fence, session, at, \
    flags, line, attempts, submitted, payload) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], \
    $8::bigint[], $9::bigint[], $10::bigint[], $11::int[], $12::bigint[], $13::int[], $14::bigint[], $15::bytea[])";
/// What never changes after the first commit (line, submitted, payload) is left alone.
const UPDATE_JOBS: &str = "UPDATE job SET version = u.version, state = u.state, lane = u.lane, position = u.position, \
    attempt = u.attempt, rescues = u.rescues, fence = u.fence, session = u.session, at = u.at, flags = u.flags \
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], \
    $8::bigint[], $9::bigint[], $10::bigint[], $11::int[]) \
    AS u (id, version, state, lane, position, attempt, rescues, fence, session, at, flags) WHERE job.id = u.id";

impl Rows {
    pub(super) fn flush_jobs(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let Tables { jobs, payloads, .. } = tables;
        let (mut new, mut old) = (Columns::default(), Columns::default());
        let (mut rest, mut gone) = (NeverChange::default(), Vec::new());
        jobs.flush(|change| {
            match change {
                Change::Insert(id, header) => {
                    new.push(header);
                    rest.push(header, payloads.fresh(id));
                }
                Change::Update(_, header) => old.push(header),
                Change::Delete(id) => gone.push(id.as_i64()),
            }
            Ok(())
        })?;
        if !gone.is_empty() {
            self.push("DELETE FROM job WHERE id = ANY($1)", vec![Box::new(gone)]);
        }
        if !old.id.is_empty() {
            self.push(UPDATE_JOBS, old.values());
        }
        if !new.id.is_empty() {
            let mut values = new.values();
            values.extend(rest.values());
            self.push(INSERT_JOBS, values);
        }
        Ok(())
    }
}

/// What a life changes.
#[derive(Default)]
struct Columns {
    id: Vec<i64>,
    version: Vec<i64>,
    state: Vec<i16>,
    lane: Vec<Option<i64>>,
    position: Vec<Option<i64>>,
    attempt: Vec<i32>,
    rescues: Vec<i32>,
    fence: Vec<i64>,
    session: Vec<Option<i64>>,
    at: Vec<i64>,
    flags: Vec<i32>,
}

impl Columns {
    fn push(&mut self, header: &Header) {
        self.id.push(header.id.as_i64());
        self.version.push(header.version.into());
        self.state.push(header.state as i16);
        self.lane.push(header.place.map(|place| place.lane.as_i64()));
        self.position.push(header.place.map(|place| place.position.cast_signed()));
        self.attempt.push(header.attempt.into());
        self.rescues.push(header.rescues.into());
        self.fence.push(header.fence.into());
        self.session.push(header.session.map(SessionId::as_i64));
        self.at.push(header.at.as_micros());
        self.flags.push(header.flags.to_bits().into());
    }

    fn values(self) -> Vec<Value> {
        vec![
            Box::new(self.id),
            Box::new(self.version),
            Box::new(self.state),
            Box::new(self.lane),
            Box::new(self.position),
            Box::new(self.attempt),
            Box::new(self.rescues),
            Box::new(self.fence),
            Box::new(self.session),
            Box::new(self.at),
            Box::new(self.flags),
        ]
    }
}

/// What is written with the first commit only.
#[derive(Default)]
struct NeverChange {
    line: Vec<i64>,
    attempts: Vec<i32>,
    submitted: Vec<i64>,
    payload: Vec<Vec<u8>>,
}

impl NeverChange {
    fn push(&mut self, header: &Header, payload: Option<&Blob>) {
        self.line.push(header.line.as_i64());
        self.attempts.push(header.attempts.into());
        self.submitted.push(header.submitted.as_micros());
        self.payload.push(payload.map(|payload| payload.to_vec()).unwrap_or_default());
    }

    fn values(self) -> [Value; 4] {
        [Box::new(self.line), Box::new(self.attempts), Box::new(self.submitted), Box::new(self.payload)]
    }
}
