//! Jobs that programs handed in inside their own transactions, with the function `submit` (`migrations/1_submit.sql`). They
//! become jobs here, in the commit that removes them there.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::Row;
use turnwise_core::ids::JobId;
use turnwise_core::lane::OnDead;
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_core::unique::{Unique, Window};

use super::codec::{self, Decoded};
use super::link::{Link, Pending};
use super::rows::Rows;
use crate::group::Request;
use crate::ledger::{self, Working};
use crate::store::{LaneChoice, NewJob, Start, StoreError, Submission, Sweep, Unit};

/// How many are taken in with one commit.
const MOST: i64 = 1_000;
/// How long one that was refused waits. It may be refused only for now: a quota is full, say.
const AGAIN: Duration = Duration::from_secs(5);

/// Those that one commit takes in, unless another node was faster.
#[derive(Default)]
pub(super) struct HandedIn(Vec<(JobId, Unit)>);

impl HandedIn {
    /// Looks for some, if anybody wants them.
    pub(super) fn look(link: &mut Link, group: &[Request]) -> Result<Self, StoreError> {
        let mut units = group.iter().flat_map(|request| &request.units);
        if !units.any(|unit| matches!(unit, Unit::Sweep(Sweep::TakeIn))) {
            return Ok(HandedIn::default());
        }
        let sql = "SELECT id, kind, owner, priority, lane, halts, limit_key, attempts, due, unique_key, unique_for, payload \
                   FROM handed_in WHERE again <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
                   ORDER BY id LIMIT $1";
        let rows = link.rows(sql, &[&MOST])?;
        rows.iter().map(submission).collect::<Result<_, _>>().map(HandedIn)
    }

    /// What they ask for.
    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.0.iter().map(|(_, unit)| unit)
    }

    /// Asks which of them are still there, once the right to commit is held.
    pub(super) fn question(&self) -> Option<Pending> {
        let ids: Vec<i64> = self.0.iter().map(|(id, _)| id.as_i64()).collect();
        let sql = "SELECT id FROM handed_in WHERE id = ANY($1)";
        (!ids.is_empty()).then(|| Pending { sql: sql.into(), values: vec![Box::new(ids)] })
    }

    /// Keeps those that the answer names.
    pub(super) fn keep(&mut self, answer: &[Row]) -> Decoded<()> {
        let there: BTreeSet<JobId> =
            answer.iter().map(|row| codec::number(row, 0).map(JobId::from_u64)).collect::<Decoded<_>>()?;
        self.0.retain(|(id, _)| there.contains(id));
        Ok(())
    }

    /// Makes jobs of them. How many were looked at.
    pub(super) fn take_in(&mut self, w: &mut Working<Rows>, now: Time) -> Result<usize, StoreError> {
        let looked_at = self.0.len();
        let mut accepted: Vec<i64> = Vec::with_capacity(looked_at);
        for (id, unit) in self.0.drain(..) {
            match ledger::execute(w, &unit, now)? {
                Ok(_) => accepted.push(id.as_i64()),
                Err(refusal) => put_off(&mut w.backend, id, &refusal, now),
            }
        }
        if !accepted.is_empty() {
            w.backend.push("DELETE FROM handed_in WHERE id = ANY($1)", vec![Box::new(accepted)]);
        }
        Ok(looked_at)
    }
}

fn put_off(rows: &mut Rows, id: JobId, refusal: &Refusal, now: Time) {
    tracing::warn!(job = %id, %refusal, "a job that was handed in cannot be accepted now; it is tried again");
    let sql = "UPDATE handed_in SET again = $2, refused = $3 WHERE id = $1";
    let again = (now + AGAIN).as_micros();
    rows.push(sql, vec![Box::new(id.as_i64()), Box::new(again), Box::new(refusal.to_string())]);
}

fn submission(row: &Row) -> Decoded<(JobId, Unit)> {
    let name = |column| -> Decoded<Option<Name>> {
        codec::get::<Option<&str>>(row, column)?.map(Name::new).transpose().map_err(|_| codec::odd("a name"))
    };
    let id = JobId::from_u64(codec::number(row, 0)?);
    let priority = codec::get::<i16>(row, 3)?;
    let on_dead = if codec::get(row, 5)? { OnDead::Halt } else { OnDead::Continue };
    let window = match codec::get::<Option<i64>>(row, 10)? {
        Some(span) => Window::For(Duration::from_micros(span.cast_unsigned())),
        None => Window::UntilSettled,
    };
    let job = NewJob {
        id,
        kind: codec::name(row, 1)?,
        owner: codec::name(row, 2)?,
        priority: u8::try_from(priority)
            .ok()
            .and_then(|level| Priority::new(level).ok())
            .ok_or_else(|| codec::odd("a priority"))?,
        batch: None,
        limit_key: name(6)?,
        lane: name(4)?.map(|name| LaneChoice { name, on_dead }),
        start: codec::get::<Option<i64>>(row, 8)?.map_or(Start::Now, |due| Start::At(Time::from_micros(due))),
        attempts: codec::get::<Option<i32>>(row, 7)?.and_then(|attempts| u16::try_from(attempts).ok()),
        unique: name(9)?.map(|key| Unique { key, window }).into_iter().collect(),
        payload: codec::blob(row, 11)?,
    };
    Ok((id, Unit::Submit(Submission { jobs: vec![job], ..Submission::default() })))
}
