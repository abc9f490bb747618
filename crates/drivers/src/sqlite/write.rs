//! Writing the rows that a commit changed.

use rusqlite::{Statement, params};
use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::lane::OnDead;

use super::codec::to_json;
use super::rows::Rows;
use super::schema::fault;
use crate::ledger::{Change, Tables};
use crate::store::{Blob, StoreError};

/// Longer payloads have a row of their own, so that the header's row stays small enough to be rewritten often.
const INLINE: usize = 1_024;

const INSERT_JOB: &str = "INSERT INTO job (id, version, state, line, lane, position, attempt, attempts, rescues, \
    fence, session, submitted, at, flags, payload) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
/// What never changes after the first commit (line, submitted, payload) is left alone.
const UPDATE_JOB: &str = "UPDATE job SET version = ?2, state = ?3, lane = ?4, position = ?5, attempt = ?6, \
    rescues = ?7, fence = ?8, session = ?9, at = ?10, flags = ?11 WHERE id = ?1";

impl Rows {
    /// Writes every changed row. Headers first: payloads are written with them.
    pub(super) fn flush(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        self.flush_jobs(tables)?;
        self.flush_lanes_and_batches(tables)?;
        self.flush_counts(tables)?;
        self.flush_attachments(tables)?;
        self.flush_processes(tables)?;
        self.flush_records(tables)
    }

    pub(super) fn flush_jobs(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let Tables { jobs, payloads, .. } = tables;
        let mut highest = JobId::from_u64(0);
        // Held over the whole flush: finding each statement again for each row costs a tenth of writing it.
        let mut insert = self.statement(INSERT_JOB)?;
        let mut update = self.statement(UPDATE_JOB)?;
        jobs.flush(|change| match change {
            Change::Insert(id, header) => {
                highest = highest.max(*id);
                let long = payloads.fresh(id).filter(|payload| payload.len() > INLINE);
                if let Some(body) = long {
                    self.run("INSERT INTO payload (id, body) VALUES (?1, ?2)", (id.as_i64(), &body[..]))?;
                }
                let inline = payloads.fresh(id).filter(|_| long.is_none());
                insert_job(&mut insert, header, inline)
            }
            Change::Update(_, header) => update_job(&mut update, header),
            Change::Delete(id) => {
                self.run("DELETE FROM payload WHERE id = ?1", [id.as_i64()])?;
                self.run("DELETE FROM job WHERE id = ?1", [id.as_i64()])
            }
        })?;
        drop((insert, update));
        self.noted(highest);
        Ok(())
    }

    fn flush_lanes_and_batches(&self, tables: &mut Tables) -> Result<(), StoreError> {
        tables.lines.flush(|change| match change {
            Change::Insert(id, line) | Change::Update(id, line) => self.run(
                "INSERT OR REPLACE INTO line (id, kind, owner, priority, batch, limit_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    id.as_i64(),
                    line.kind.as_str(),
                    line.owner.as_str(),
                    line.priority.level(),
                    line.batch.map(BatchId::as_i64),
                    line.limit_key.as_deref(),
                ],
            ),
            Change::Delete(id) => self.run("DELETE FROM line WHERE id = ?1", [id.as_i64()]),
        })?;
        tables.lanes.flush(|change| match change {
            Change::Insert(_, lane) | Change::Update(_, lane) => self.run(
                "INSERT OR REPLACE INTO lane (id, name, next, head, waiting, on_dead, halted, paused) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    lane.id.as_i64(),
                    lane.name.as_str(),
                    lane.next.cast_signed(),
                    lane.head.map(JobId::as_i64),
                    lane.waiting.cast_signed(),
                    lane.on_dead == OnDead::Halt,
                    lane.halted,
                    lane.paused,
                ],
            ),
            Change::Delete(id) => self.run("DELETE FROM lane WHERE id = ?1", [id.as_i64()]),
        })?;
        tables.batches.flush(|change| match change {
            Change::Insert(_, batch) | Change::Update(_, batch) => self.run(
                "INSERT OR REPLACE INTO batch (id, name, owner, opened, settled, phase, total, done, dead, cancelled, \
                 repaired, then_job, then_when, cancel, last, first) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                params![
                    batch.id.as_i64(),
                    batch.name.as_str(),
                    batch.owner.as_str(),
                    batch.opened.as_micros(),
                    batch.settled.as_micros(),
                    batch.phase as u8,
                    batch.total.cast_signed(),
                    batch.done.cast_signed(),
                    batch.dead.cast_signed(),
                    batch.cancelled.cast_signed(),
                    batch.repaired.cast_signed(),
                    batch.then.map(|then| then.job.as_i64()),
                    batch.then.map(|then| then.when == When::AllDone),
                    batch.cancel,
                    batch.last.as_i64(),
                    batch.first.as_i64(),
                ],
            ),
            Change::Delete(id) => self.run("DELETE FROM batch WHERE id = ?1", [id.as_i64()]),
        })
    }

    fn flush_counts(&self, tables: &mut Tables) -> Result<(), StoreError> {
        tables.accounts.flush(|change| match change {
            Change::Insert(owner, account) | Change::Update(owner, account) => self.run(
                "INSERT OR REPLACE INTO account (owner, weight, quota, backlog) VALUES (?1, ?2, ?3, ?4)",
                params![
                    owner.as_str(),
                    account.weight,
                    account.quota.min(i64::MAX as u64).cast_signed(),
                    account.backlog.cast_signed()
                ],
            ),
            Change::Delete(owner) => self.run("DELETE FROM account WHERE owner = ?1", [owner.as_str()]),
        })?;
        tables.tallies.flush(|change| match change {
            Change::Insert((owner, kind), tally) | Change::Update((owner, kind), tally) => {
                let [c0, c1, c2, c3, c4, c5, c6, c7] = tally.0.map(u64::cast_signed);
                self.run(
                    "INSERT OR REPLACE INTO tally (owner, kind, waiting, scheduled, ready, running, retrying, done, dead, \
                     cancelled) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    params![owner.as_str(), kind.as_str(), c0, c1, c2, c3, c4, c5, c6, c7],
                )
            }
            Change::Delete((owner, kind)) => {
                self.run("DELETE FROM tally WHERE owner = ?1 AND kind = ?2", [owner.as_str(), kind.as_str()])
            }
        })
    }

    fn flush_attachments(&self, tables: &mut Tables) -> Result<(), StoreError> {
        // Payloads were written with their headers.
        tables.payloads.flush(|_| Ok(()))?;
        tables.results.flush(|change| match change {
            Change::Insert(id, body) | Change::Update(id, body) => self.run(
                "INSERT OR REPLACE INTO result (id, body) VALUES (?1, ?2)",
                params![id.as_i64(), &body[..]],
            ),
            Change::Delete(id) => self.run("DELETE FROM result WHERE id = ?1", [id.as_i64()]),
        })?;
        tables.uniques.flush(|change| match change {
            Change::Insert((kind, key), taken) | Change::Update((kind, key), taken) => self.run(
                "INSERT OR REPLACE INTO unique_key (kind, key, job, until) VALUES (?1, ?2, ?3, ?4)",
                params![kind.as_str(), key.as_str(), taken.job.as_i64(), taken.until.as_micros()],
            ),
            Change::Delete((kind, key)) => {
                self.run("DELETE FROM unique_key WHERE kind = ?1 AND key = ?2", [kind.as_str(), key.as_str()])
            }
        })?;
        // The way back from a job to its key is an index over the keys.
        tables.unique_of.flush(|_| Ok(()))?;
        self.flush_steps(tables)?;
        self.flush_errors(tables)
    }

    pub(super) fn flush_errors(&self, tables: &mut Tables) -> Result<(), StoreError> {
        tables.errors.flush(|change| match change {
            Change::Insert((job, fence), error) | Change::Update((job, fence), error) => self.run(
                "INSERT OR REPLACE INTO error (job, fence, attempt, started, ended, failure, error) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    job.as_i64(),
                    fence,
                    error.attempt,
                    error.started.as_micros(),
                    error.ended.as_micros(),
                    to_json(&error.failure)?,
                    error.error,
                ],
            ),
            Change::Delete((job, fence)) => {
                self.run("DELETE FROM error WHERE job = ?1 AND fence = ?2", params![job.as_i64(), fence])
            }
        })
    }

    pub(super) fn flush_steps(&self, tables: &mut Tables) -> Result<(), StoreError> {
        tables.steps.flush(|change| match change {
            Change::Insert((job, name), output) | Change::Update((job, name), output) => self.run(
                "INSERT INTO step (job, name, output) VALUES (?1, ?2, ?3)",
                params![job.as_i64(), name.as_str(), &output[..]],
            ),
            Change::Delete((job, name)) => self
                .run("DELETE FROM step WHERE job = ?1 AND name = ?2", params![job.as_i64(), name.as_str()]),
        })
    }

    fn flush_processes(&self, tables: &mut Tables) -> Result<(), StoreError> {
        tables.sessions.flush(|change| match change {
            Change::Insert(id, session) | Change::Update(id, session) => self.run(
                "INSERT OR REPLACE INTO session (id, node, number, pools, kinds, opened, until) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    id.as_i64(),
                    session.node.as_str(),
                    session.number,
                    to_json(&session.pools)?,
                    to_json(&session.kinds)?,
                    session.opened.as_micros(),
                    session.until.as_micros(),
                ],
            ),
            Change::Delete(id) => self.run("DELETE FROM session WHERE id = ?1", [id.as_i64()]),
        })?;
        tables.leases.flush(|change| match change {
            Change::Insert(name, lease) | Change::Update(name, lease) => self.run(
                "INSERT OR REPLACE INTO lease (name, holder, term, until) VALUES (?1, ?2, ?3, ?4)",
                params![
                    name.as_str(),
                    lease.holder.as_str(),
                    lease.term.cast_signed(),
                    lease.until.as_micros()
                ],
            ),
            Change::Delete(name) => self.run("DELETE FROM lease WHERE name = ?1", [name.as_str()]),
        })?;
        tables.secrets.flush(|change| match change {
            Change::Insert(name, secret) | Change::Update(name, secret) => self.wipe(
                "INSERT OR REPLACE INTO secret (name, sealed, until) VALUES (?1, ?2, ?3)",
                params![name.as_str(), secret.sealed, secret.until.as_micros()],
            ),
            Change::Delete(name) => self.wipe("DELETE FROM secret WHERE name = ?1", [name.as_str()]),
        })?;
        tables.messages.flush(|change| match change {
            Change::Insert((queue, number), body) | Change::Update((queue, number), body) => self.run(
                "INSERT INTO message (queue, number, body) VALUES (?1, ?2, ?3)",
                params![queue.as_str(), number.cast_signed(), &body[..]],
            ),
            Change::Delete((queue, number)) => self.run(
                "DELETE FROM message WHERE queue = ?1 AND number = ?2",
                params![queue.as_str(), number.cast_signed()],
            ),
        })
    }

    fn flush_records(&self, tables: &mut Tables) -> Result<(), StoreError> {
        macro_rules! records {
            ($($field:ident $space:literal $key:ident => $text:expr;)*) => {$(
                tables.$field.flush(|change| match change {
                    Change::Insert($key, value) | Change::Update($key, value) => {
                        self.put_record($space, &$text, &to_json(value)?)
                    }
                    Change::Delete($key) => self.remove_record($space, &$text),
                })?;
            )*};
        }
        records! {
            kinds "kind" key => key.as_str();
            progress "progress" key => key.to_string();
            gauges "gauge" key => to_json(key)?;
            buckets "bucket" key => to_json(key)?;
            pauses "pauses" _key => "";
            schedules "schedule" key => key.as_str();
            tokens "token" key => key.as_str();
            token_count "tokens" _key => "";
            queues "queue" key => key.as_str();
            terms "term" key => key.to_string();
            numbers "number" _key => "";
        }
        Ok(())
    }

    fn put_record(&self, space: &str, key: &str, body: &str) -> Result<(), StoreError> {
        self.run("INSERT OR REPLACE INTO record (space, key, body) VALUES (?1, ?2, ?3)", [space, key, body])
    }

    fn remove_record(&self, space: &str, key: &str) -> Result<(), StoreError> {
        self.run("DELETE FROM record WHERE space = ?1 AND key = ?2", [space, key])
    }
}

fn insert_job(insert: &mut Statement<'_>, header: &Header, payload: Option<&Blob>) -> Result<(), StoreError> {
    let values = (
        header.id.as_i64(),
        header.version,
        header.state as u8,
        header.line.as_i64(),
        header.place.map(|place| place.lane.as_i64()),
        header.place.map(|place| place.position.cast_signed()),
        header.attempt,
        header.attempts,
        header.rescues,
        header.fence,
        header.session.map(SessionId::as_i64),
        header.submitted.as_micros(),
        header.at.as_micros(),
        header.flags.to_bits(),
        payload.map(|payload| &payload[..]),
    );
    insert.execute(values).map(drop).map_err(|error| fault(&error))
}

fn update_job(update: &mut Statement<'_>, header: &Header) -> Result<(), StoreError> {
    let values = (
        header.id.as_i64(),
        header.version,
        header.state as u8,
        header.place.map(|place| place.lane.as_i64()),
        header.place.map(|place| place.position.cast_signed()),
        header.attempt,
        header.rescues,
        header.fence,
        header.session.map(SessionId::as_i64),
        header.at.as_micros(),
        header.flags.to_bits(),
    );
    update.execute(values).map(drop).map_err(|error| fault(&error))
}
