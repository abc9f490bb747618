//! Writing the rows that a commit changed: a statement for each family, with a column of values for each column of the
//! table, however many rows there are. They are only put together here; the writer sends them all at once.

mod jobs;
mod singly;

use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::lane::OnDead;

use super::codec::to_json;
use super::link::{Pending, Value};
use super::rows::Rows;
use crate::ledger::{Change, Tables};
use crate::store::StoreError;

/// Gathers rows of values into columns, and makes a statement of them if there are any.
macro_rules! columns {
    ($rows:expr, $changes:ident, $sql:expr, [$($column:ident),* $(,)?]) => {{
        let ($($column,)*) = $changes;
        if columns!(@first $($column),*) > 0 {
            $rows.push($sql, vec![$(Box::new($column) as Value),*]);
        }
    }};
    (@first $first:ident $(, $rest:ident)*) => { $first.len() };
}

impl Rows {
    /// Notes a statement to be sent with the others.
    pub(super) fn push(&mut self, sql: &'static str, values: Vec<Value>) {
        self.pending.push(Pending { sql: sql.into(), values });
    }

    /// Puts every changed row together.
    pub(super) fn flush(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        self.flush_jobs(tables)?;
        self.flush_lines_and_lanes(tables)?;
        self.flush_batches(tables)?;
        self.flush_counts(tables)?;
        self.flush_attachments(tables)?;
        self.flush_history(tables)?;
        self.flush_processes(tables)?;
        self.flush_secrets_and_messages(tables)?;
        self.flush_records(tables)
    }

    fn flush_lines_and_lanes(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let mut all =
            <(Vec<i64>, Vec<String>, Vec<String>, Vec<i16>, Vec<Option<i64>>, Vec<Option<String>>)>::default(
            );
        tables.lines.flush(|change| {
            // Lines never change and are never removed.
            if let Change::Insert(id, line) | Change::Update(id, line) = change {
                all.0.push(id.as_i64());
                all.1.push(line.kind.as_str().into());
                all.2.push(line.owner.as_str().into());
                all.3.push(line.priority.level().into());
                all.4.push(line.batch.map(BatchId::as_i64));
                all.5.push(line.limit_key.as_deref().map(Into::into));
            }
            Ok(())
        })?;
        let sql = "INSERT INTO line (id, kind, owner, priority, batch, limit_key) \
                   SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::text[]) \
                   ON CONFLICT (id) DO NOTHING";
        columns!(self, all, sql, [id, kind, owner, priority, batch, limit_key]);
        let mut all = <(
            Vec<i64>,
            Vec<String>,
            Vec<i64>,
            Vec<Option<i64>>,
            Vec<i64>,
            Vec<bool>,
            Vec<bool>,
            Vec<bool>,
        )>::default();
        let mut gone: Vec<i64> = Vec::new();
        tables.lanes.flush(|change| {
            match change {
                Change::Insert(_, lane) | Change::Update(_, lane) => {
                    all.0.push(lane.id.as_i64());
                    all.1.push(lane.name.as_str().into());
                    all.2.push(lane.next.cast_signed());
                    all.3.push(lane.head.map(JobId::as_i64));
                    all.4.push(lane.waiting.cast_signed());
                    all.5.push(lane.on_dead == OnDead::Halt);
                    all.6.push(lane.halted);
                    all.7.push(lane.paused);
                }
                Change::Delete(id) => gone.push(id.as_i64()),
            }
            Ok(())
        })?;
        if !gone.is_empty() {
            self.push("DELETE FROM lane WHERE id = ANY($1)", vec![Box::new(gone)]);
        }
        let sql = "INSERT INTO lane (id, name, next, head, waiting, on_dead, halted, paused) \
                   SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], \
                   $6::bool[], $7::bool[], $8::bool[]) ON CONFLICT (id) DO UPDATE SET next = excluded.next, \
                   head = excluded.head, waiting = excluded.waiting, on_dead = excluded.on_dead, \
                   halted = excluded.halted, paused = excluded.paused";
        columns!(self, all, sql, [id, name, next, head, waiting, on_dead, halted, paused]);
        Ok(())
    }

    fn flush_batches(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO batch (id, name, owner, opened, settled, phase, total, done, dead, cancelled, \
            repaired, then_job, then_when, cancel, last, first) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
            ON CONFLICT (id) DO UPDATE SET settled = excluded.settled, phase = excluded.phase, \
            total = excluded.total, done = excluded.done, dead = excluded.dead, cancelled = excluded.cancelled, \
            repaired = excluded.repaired, then_job = excluded.then_job, then_when = excluded.then_when, \
            cancel = excluded.cancel, last = excluded.last, first = excluded.first";
        let rows = self;
        tables.batches.flush(|change| {
            match change {
                Change::Insert(_, b) | Change::Update(_, b) => rows.push(
                    PUT,
                    vec![
                        Box::new(b.id.as_i64()),
                        Box::new(b.name.as_str().to_owned()),
                        Box::new(b.owner.as_str().to_owned()),
                        Box::new(b.opened.as_micros()),
                        Box::new(b.settled.as_micros()),
                        Box::new(b.phase as i16),
                        Box::new(b.total.cast_signed()),
                        Box::new(b.done.cast_signed()),
                        Box::new(b.dead.cast_signed()),
                        Box::new(b.cancelled.cast_signed()),
                        Box::new(b.repaired.cast_signed()),
                        Box::new(b.then.map(|then| then.job.as_i64())),
                        Box::new(b.then.map(|then| then.when == When::AllDone)),
                        Box::new(b.cancel),
                        Box::new(b.last.as_i64()),
                        Box::new(b.first.as_i64()),
                    ],
                ),
                Change::Delete(id) => {
                    rows.push("DELETE FROM batch WHERE id = $1", vec![Box::new(id.as_i64())]);
                }
            }
            Ok(())
        })
    }

    fn flush_counts(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let mut all = <(Vec<String>, Vec<i64>, Vec<i64>, Vec<i64>)>::default();
        tables.accounts.flush(|change| {
            // Accounts are never removed.
            if let Change::Insert(owner, account) | Change::Update(owner, account) = change {
                all.0.push(owner.as_str().into());
                all.1.push(account.weight.into());
                all.2.push(account.quota.min(i64::MAX as u64).cast_signed());
                all.3.push(account.backlog.cast_signed());
            }
            Ok(())
        })?;
        let sql = "INSERT INTO account (owner, weight, quota, backlog) \
                   SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) \
                   ON CONFLICT (owner) DO UPDATE SET weight = excluded.weight, quota = excluded.quota, \
                   backlog = excluded.backlog";
        columns!(self, all, sql, [owner, weight, quota, backlog]);
        let mut names = <(Vec<String>, Vec<String>)>::default();
        let mut counts = <[Vec<i64>; 8]>::default();
        tables.tallies.flush(|change| {
            // Nor are tallies.
            if let Change::Insert((owner, kind), tally) | Change::Update((owner, kind), tally) = change {
                names.0.push(owner.as_str().into());
                names.1.push(kind.as_str().into());
                counts.iter_mut().zip(tally.0).for_each(|(column, count)| column.push(count.cast_signed()));
            }
            Ok(())
        })?;
        let sql = "INSERT INTO tally (owner, kind, waiting, scheduled, ready, running, retrying, done, dead, cancelled) \
                   SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], \
                   $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]) \
                   ON CONFLICT (owner, kind) DO UPDATE SET waiting = excluded.waiting, \
                   scheduled = excluded.scheduled, ready = excluded.ready, running = excluded.running, \
                   retrying = excluded.retrying, done = excluded.done, dead = excluded.dead, \
                   cancelled = excluded.cancelled";
        let [a, b, c, d, e, f, g, h] = counts;
        let all = (names.0, names.1, a, b, c, d, e, f, g, h);
        columns!(self, all, sql, [owner, kind, a, b, c, d, e, f, g, h]);
        Ok(())
    }

    fn flush_records(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let mut all = <(Vec<String>, Vec<String>, Vec<String>)>::default();
        let mut gone = <(Vec<String>, Vec<String>)>::default();
        macro_rules! records {
            ($($field:ident $space:literal $key:ident => $text:expr;)*) => {$(
                tables.$field.flush(|change| {
                    match change {
                        Change::Insert($key, value) | Change::Update($key, value) => {
                            all.0.push($space.into());
                            all.1.push($text);
                            all.2.push(to_json(value)?);
                        }
                        Change::Delete($key) => {
                            gone.0.push($space.into());
                            gone.1.push($text);
                        }
                    }
                    Ok(())
                })?;
            )*};
        }
        records! {
            kinds "kind" key => key.as_str().to_owned();
            progress "progress" key => key.to_string();
            gauges "gauge" key => to_json(key)?;
            buckets "bucket" key => to_json(key)?;
            pauses "pauses" _key => String::new();
            schedules "schedule" key => key.as_str().to_owned();
            tokens "token" key => key.as_str().to_owned();
            token_count "tokens" _key => String::new();
            queues "queue" key => key.as_str().to_owned();
            terms "term" key => key.to_string();
            numbers "number" _key => String::new();
        }
        let sql = "DELETE FROM record USING unnest($1::text[], $2::text[]) AS gone (space, key) \
                   WHERE record.space = gone.space AND record.key = gone.key";
        columns!(self, gone, sql, [space, key]);
        let sql = "INSERT INTO record (space, key, body) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) \
                   ON CONFLICT (space, key) DO UPDATE SET body = excluded.body";
        columns!(self, all, sql, [space, key, body]);
        Ok(())
    }
}
