//! Families of which a commit rarely changes more than a few rows: a statement for each.

use crate::ledger::{Change, Tables};
use crate::postgres::codec::to_json;
use crate::postgres::rows::Rows;
use crate::store::StoreError;

impl Rows {
    pub(super) fn flush_attachments(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
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
        })
    }

    pub(super) fn flush_history(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let rows = self;
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

    pub(super) fn flush_processes(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
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
        })
    }

    pub(super) fn flush_secrets_and_messages(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let rows = self;
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
}
