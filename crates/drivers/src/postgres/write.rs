//! Writing the rows that a commit changed: a statement for each family, with a column of values for each column of the
//! table, however many rows there are. They are only put together here; the writer sends them all at once.

use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId, SessionId};
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

const INSERT_JOBS: &str = "INSERT INTO job (id, version, state, line, lane, position, attempt, attempts, rescues, \
    fence, session, submitted, at, flags, payload) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], \
    $7::int[], $8::int[], $9::int[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::int[], \
    $15::bytea[])";
/// What never changes after the first commit (line, submitted, payload) is left alone.
const UPDATE_JOBS: &str = "UPDATE job SET version = u.version, state = u.state, lane = u.lane, position = u.position, \
    attempt = u.attempt, rescues = u.rescues, fence = u.fence, session = u.session, at = u.at, flags = u.flags \
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], \
    $8::bigint[], $9::bigint[], $10::bigint[], $11::int[]) \
    AS u (id, version, state, lane, position, attempt, rescues, fence, session, at, flags) WHERE job.id = u.id";

impl Rows {
    /// Notes a statement to be sent with the others.
    pub(super) fn push(&mut self, sql: &'static str, values: Vec<Value>) {
        self.pending.push(Pending { sql, values });
    }

    /// Puts every changed row together.
    pub(super) fn flush(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        self.flush_jobs(tables)?;
        self.flush_lines_and_lanes(tables)?;
        self.flush_batches(tables)?;
        self.flush_counts(tables)?;
        self.flush_attachments(tables)?;
        self.flush_processes(tables)?;
        self.flush_records(tables)
    }

    fn flush_jobs(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let Tables { jobs, payloads, .. } = tables;
        let mut new =
            <(Vec<i64>, Vec<i64>, Vec<i16>, Vec<i64>, Vec<Option<i64>>, Vec<Option<i64>>)>::default();
        let mut rest =
            <(Vec<i32>, Vec<i32>, Vec<i32>, Vec<i64>, Vec<Option<i64>>, Vec<i64>, Vec<i64>)>::default();
        let mut last = <(Vec<i32>, Vec<Vec<u8>>)>::default();
        let mut old =
            <(Vec<i64>, Vec<i64>, Vec<i16>, Vec<Option<i64>>, Vec<Option<i64>>, Vec<i32>)>::default();
        let mut tail = <(Vec<i32>, Vec<i64>, Vec<Option<i64>>, Vec<i64>, Vec<i32>)>::default();
        let mut gone: Vec<i64> = Vec::new();
        jobs.flush(|change| {
            match change {
                Change::Insert(id, h) => {
                    new.0.push(h.id.as_i64());
                    new.1.push(h.version.into());
                    new.2.push(h.state as i16);
                    new.3.push(h.line.as_i64());
                    new.4.push(h.place.map(|place| place.lane.as_i64()));
                    new.5.push(h.place.map(|place| place.position.cast_signed()));
                    rest.0.push(h.attempt.into());
                    rest.1.push(h.attempts.into());
                    rest.2.push(h.rescues.into());
                    rest.3.push(h.fence.into());
                    rest.4.push(h.session.map(SessionId::as_i64));
                    rest.5.push(h.submitted.as_micros());
                    rest.6.push(h.at.as_micros());
                    last.0.push(h.flags.to_bits().into());
                    last.1.push(payloads.fresh(id).map(|payload| payload.to_vec()).unwrap_or_default());
                }
                Change::Update(_, h) => {
                    old.0.push(h.id.as_i64());
                    old.1.push(h.version.into());
                    old.2.push(h.state as i16);
                    old.3.push(h.place.map(|place| place.lane.as_i64()));
                    old.4.push(h.place.map(|place| place.position.cast_signed()));
                    old.5.push(h.attempt.into());
                    tail.0.push(h.rescues.into());
                    tail.1.push(h.fence.into());
                    tail.2.push(h.session.map(SessionId::as_i64));
                    tail.3.push(h.at.as_micros());
                    tail.4.push(h.flags.to_bits().into());
                }
                Change::Delete(id) => gone.push(id.as_i64()),
            }
            Ok(())
        })?;
        if !gone.is_empty() {
            self.push("DELETE FROM job WHERE id = ANY($1)", vec![Box::new(gone)]);
        }
        let all = (old.0, old.1, old.2, old.3, old.4, old.5, tail.0, tail.1, tail.2, tail.3, tail.4);
        columns!(
            self,
            all,
            UPDATE_JOBS,
            [id, version, state, lane, position, attempt, rescues, fence, session, at, flags]
        );
        let all = (
            new.0, new.1, new.2, new.3, new.4, new.5, rest.0, rest.1, rest.2, rest.3, rest.4, rest.5, rest.6,
            last.0, last.1,
        );
        columns!(
            self,
            all,
            INSERT_JOBS,
            [
                id, version, state, line, lane, position, attempt, attempts, rescues, fence, session,
                submitted, at, flags, payload,
            ]
        );
        Ok(())
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
            repaired, then_job, then_when, cancel, last) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
            ON CONFLICT (id) DO UPDATE SET settled = excluded.settled, phase = excluded.phase, \
            total = excluded.total, done = excluded.done, dead = excluded.dead, cancelled = excluded.cancelled, \
            repaired = excluded.repaired, then_job = excluded.then_job, then_when = excluded.then_when, \
            cancel = excluded.cancel, last = excluded.last";
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

    fn flush_attachments(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        // Payloads were written with their headers, and the way back from a job to its key is an index over the keys.
        tables.payloads.flush(|_| Ok(()))?;
        tables.unique_of.flush(|_| Ok(()))?;
        let rows = self;
        tables.results.flush(|change| {
            match change {
                Change::Insert(id, body) | Change::Update(id, body) => rows.push(
                    "INSERT INTO result (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                    vec![Box::new(id.as_i64()), Box::new(body.to_vec())],
                ),
                Change::Delete(id) => rows.push("DELETE FROM result WHERE id = $1", vec![Box::new(id.as_i64())]),
            }
            Ok(())
        })?;
        tables.uniques.flush(|change| {
            match change {
                Change::Insert((kind, key), taken) | Change::Update((kind, key), taken) => rows.push(
                    "INSERT INTO unique_key (kind, key, job, until) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (kind, key) DO UPDATE SET job = excluded.job, until = excluded.until",
                    vec![
                        Box::new(kind.as_str().to_owned()),
                        Box::new(key.as_str().to_owned()),
                        Box::new(taken.job.as_i64()),
                        Box::new(taken.until.as_micros()),
                    ],
                ),
                Change::Delete((kind, key)) => rows.push(
                    "DELETE FROM unique_key WHERE kind = $1 AND key = $2",
                    vec![Box::new(kind.as_str().to_owned()), Box::new(key.as_str().to_owned())],
                ),
            }
            Ok(())
        })?;
        tables.steps.flush(|change| {
            match change {
                Change::Insert((job, name), output) | Change::Update((job, name), output) => rows.push(
                    "INSERT INTO step (job, name, output) VALUES ($1, $2, $3)",
                    vec![
                        Box::new(job.as_i64()),
                        Box::new(name.as_str().to_owned()),
                        Box::new(output.to_vec()),
                    ],
                ),
                Change::Delete((job, name)) => rows.push(
                    "DELETE FROM step WHERE job = $1 AND name = $2",
                    vec![Box::new(job.as_i64()), Box::new(name.as_str().to_owned())],
                ),
            }
            Ok(())
        })?;
        tables.errors.flush(|change| {
            match change {
                Change::Insert((job, fence), error) | Change::Update((job, fence), error) => rows.push(
                    "INSERT INTO error (job, fence, attempt, started, ended, failure, error) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (job, fence) DO UPDATE SET \
                     attempt = excluded.attempt, started = excluded.started, ended = excluded.ended, \
                     failure = excluded.failure, error = excluded.error",
                    vec![
                        Box::new(job.as_i64()),
                        Box::new(i64::from(*fence)),
                        Box::new(i32::from(error.attempt)),
                        Box::new(error.started.as_micros()),
                        Box::new(error.ended.as_micros()),
                        Box::new(to_json(&error.failure)?),
                        // The one character that PostgreSQL has no place for.
                        Box::new(error.error.replace('\0', "\u{2400}")),
                    ],
                ),
                Change::Delete((job, fence)) => rows.push(
                    "DELETE FROM error WHERE job = $1 AND fence = $2",
                    vec![Box::new(job.as_i64()), Box::new(i64::from(*fence))],
                ),
            }
            Ok(())
        })
    }

    fn flush_processes(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let rows = self;
        tables.sessions.flush(|change| {
            match change {
                Change::Insert(id, session) | Change::Update(id, session) => rows.push(
                    "INSERT INTO session (id, node, number, pools, kinds, opened, until) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET pools = excluded.pools, \
                     kinds = excluded.kinds, until = excluded.until",
                    vec![
                        Box::new(id.as_i64()),
                        Box::new(session.node.as_str().to_owned()),
                        Box::new(i32::from(session.number)),
                        Box::new(to_json(&session.pools)?),
                        Box::new(to_json(&session.kinds)?),
                        Box::new(session.opened.as_micros()),
                        Box::new(session.until.as_micros()),
                    ],
                ),
                Change::Delete(id) => {
                    rows.push("DELETE FROM session WHERE id = $1", vec![Box::new(id.as_i64())]);
                }
            }
            Ok(())
        })?;
        tables.leases.flush(|change| {
            match change {
                Change::Insert(name, lease) | Change::Update(name, lease) => rows.push(
                    "INSERT INTO lease (name, holder, term, until) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, term = excluded.term, \
                     until = excluded.until",
                    vec![
                        Box::new(name.as_str().to_owned()),
                        Box::new(lease.holder.as_str().to_owned()),
                        Box::new(lease.term.cast_signed()),
                        Box::new(lease.until.as_micros()),
                    ],
                ),
                Change::Delete(name) => {
                    rows.push("DELETE FROM lease WHERE name = $1", vec![Box::new(name.as_str().to_owned())]);
                }
            }
            Ok(())
        })?;
        tables.secrets.flush(|change| {
            match change {
                Change::Insert(name, secret) | Change::Update(name, secret) => rows.push(
                    "INSERT INTO secret (name, sealed, until) VALUES ($1, $2, $3) \
                     ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, until = excluded.until",
                    vec![
                        Box::new(name.as_str().to_owned()),
                        Box::new(secret.sealed.clone()),
                        Box::new(secret.until.as_micros()),
                    ],
                ),
                Change::Delete(name) => {
                    rows.push("DELETE FROM secret WHERE name = $1", vec![Box::new(name.as_str().to_owned())]);
                }
            }
            Ok(())
        })?;
        tables.messages.flush(|change| {
            match change {
                Change::Insert((queue, number), body) | Change::Update((queue, number), body) => rows.push(
                    "INSERT INTO message (queue, number, body) VALUES ($1, $2, $3)",
                    vec![
                        Box::new(queue.as_str().to_owned()),
                        Box::new(number.cast_signed()),
                        Box::new(body.to_vec()),
                    ],
                ),
                Change::Delete((queue, number)) => rows.push(
                    "DELETE FROM message WHERE queue = $1 AND number = $2",
                    vec![Box::new(queue.as_str().to_owned()), Box::new(number.cast_signed())],
                ),
            }
            Ok(())
        })
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
