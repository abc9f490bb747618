//! Questions to SQLite, one at a time.

use std::sync::Arc;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::lane::Lane;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::{Reader, codec, lists, schema::fault};
use crate::store::{
    Agenda, Details, Found, JobRow, LimitKey, Message, NodeNumbers, Read, Ready, ReadyAnswer, ReadyJob,
    Rules, Secret, StepRecord, StoreError, Want,
};

/// Lines that a reader remembers, at most.
const LINES: usize = 20_000;

type Line = (LineId, Arc<LineKey>);

/// Lines never change, so a reader keeps those that it has met.
#[derive(Default)]
pub(super) struct LineCache(HashMap<LineId, Arc<LineKey>>);

impl LineCache {
    pub(super) fn knows(&self, id: LineId) -> bool {
        self.0.contains_key(&id)
    }

    pub(super) fn get(
        &mut self,
        connection: &Connection,
        id: LineId,
    ) -> Result<Option<Arc<LineKey>>, StoreError> {
        if let Some(line) = self.0.get(&id) {
            return Ok(Some(line.clone()));
        }
        let sql = "SELECT kind, owner, priority, batch, limit_key FROM line WHERE id = ?1";
        let line = one(connection, sql, [id.as_i64()], |row| codec::line(row, 0))?;
        if let Some(line) = &line {
            if self.0.len() >= LINES {
                self.0.clear();
            }
            self.0.insert(id, line.clone());
        }
        Ok(line)
    }

    /// Those that are there.
    fn get_all(&mut self, connection: &Connection, ids: &[LineId]) -> Result<Vec<Line>, StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.get(connection, *id)?.map(|line| (*id, line)));
        }
        Ok(found)
    }
}

pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let found = connection.prepare_cached(sql).and_then(|mut found| found.query_row(values, read).optional());
    found.map_err(|error| fault(&error))
}

pub(super) fn many<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let rows = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_map(values, read)?.collect::<rusqlite::Result<Vec<T>>>());
    rows.map_err(|error| fault(&error))
}

pub(super) fn read(reader: &mut Reader, what: &Read, now: Time) -> Result<Found, StoreError> {
    let c = &reader.connection;
    Ok(match what {
        Read::Jobs(ids) => {
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                if let Some(header) = header(c, *id)? {
                    rows.push(row(c, &mut reader.lines, header)?);
                }
            }
            Found::Jobs(rows)
        }
        Read::Job(id) => Found::Job(details(reader, *id)?.map(Box::new)),
        Read::Steps(id) => Found::Steps(steps(c, *id)?),
        Read::Batch(id) => Found::Batches(lists::batch(c, *id)?.into_iter().collect()),
        Read::Batches { before, limit } => {
            let sql = format!("SELECT {} FROM batch WHERE id < ?1 ORDER BY id DESC LIMIT ?2", codec::BATCH);
            let before = before.map_or(i64::MAX, BatchId::as_i64);
            Found::Batches(many(c, &sql, params![before, *limit as i64], codec::batch)?)
        }
        Read::Lane(name) => {
            let sql = format!("SELECT {} FROM lane WHERE id = ?1", codec::LANE);
            Found::Lanes(many(c, &sql, [Lane::id_of(name).as_i64()], codec::lane)?)
        }
        Read::Lanes { after, limit } => {
            let sql = format!(
                "SELECT {} FROM lane WHERE name > ?1 AND (head IS NOT NULL OR waiting > 0) ORDER BY name LIMIT ?2",
                codec::LANE
            );
            let after = after.as_deref().unwrap_or("");
            Found::Lanes(many(c, &sql, params![after, *limit as i64], codec::lane)?)
        }
        Read::Behind { lane, before, limit } => {
            let sql = format!(
                "SELECT {} FROM job WHERE state = 0 AND position > 0 AND lane = ?1 AND position < ?2 \
                 ORDER BY position DESC LIMIT ?3",
                codec::HEADER
            );
            let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
            let asked = params![Lane::id_of(lane).as_i64(), before, *limit as i64];
            let headers = many(c, &sql, asked, codec::header)?;
            let lines = &mut reader.lines;
            Found::Jobs(headers.into_iter().map(|header| row(c, lines, header)).collect::<Result<_, _>>()?)
        }
        Read::Lines(ids) => Found::Lines(reader.lines.get_all(c, ids)?),
        Read::LaneNames(ids) => Found::LaneNames(lane_names(c, ids)?),
        Read::Owners { after, limit } => Found::Owners(lists::owners(c, after.as_deref(), *limit)?),
        Read::Running(session) => {
            let sql =
                format!("SELECT {} FROM job WHERE state = 3 AND session = ?1 ORDER BY id", codec::HEADER);
            let headers = many(c, &sql, [session.as_i64()], codec::header)?;
            let lines = &mut reader.lines;
            Found::Jobs(headers.into_iter().map(|header| row(c, lines, header)).collect::<Result<_, _>>()?)
        }
        Read::Agenda { by, limit } => Found::Agenda(agenda(c, now, by.unwrap_or(now), *limit)?),
        Read::BatchJobs { batch, after, limit } => lists::batch_jobs(reader, *batch, *after, *limit)?,
        Read::Ended { after, below, limit } => lists::ended(c, *after, *below, *limit)?,
        Read::Messages { queue, after, limit } => {
            let sql =
                "SELECT number, body FROM message WHERE queue = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
            let values = params![queue.as_str(), after.cast_signed(), *limit as i64];
            Found::Messages(many(c, sql, values, |row| {
                Ok(Message { number: codec::number(row, 0)?, body: codec::blob(row, 1)? })
            })?)
        }
        what => settings(c, what, now)?,
    })
}

fn lane_names(c: &Connection, ids: &[LaneId]) -> Result<Vec<(LaneId, Name)>, StoreError> {
    let sql = "SELECT name FROM lane WHERE id = ?1";
    let named = |id: &LaneId| {
        let name = one(c, sql, [id.as_i64()], |row| codec::name(row, 0))?;
        Ok(name.map(|name| (*id, name)))
    };
    ids.iter().filter_map(|id| named(id).transpose()).collect()
}

fn gauges(c: &Connection) -> Result<Vec<(LimitKey, u32)>, StoreError> {
    let sql = "SELECT key, body FROM record WHERE space = 'gauge'";
    many(c, sql, [], |row| Ok((codec::json(row, 0)?, codec::json(row, 1)?)))
}

/// What is not about jobs.
fn settings(c: &Connection, what: &Read, now: Time) -> Result<Found, StoreError> {
    Ok(match what {
        Read::Totals => Found::Totals(lists::totals(c)?),
        Read::Kinds => Found::Kinds(records(c, "kind")?),
        Read::Schedules => Found::Schedules(records(c, "schedule")?),
        Read::Tokens => Found::Tokens(records(c, "token")?),
        Read::Pauses => Found::Pauses(records(c, "pauses")?.pop().unwrap_or_default()),
        Read::Gauges => Found::Gauges(gauges(c)?),
        Read::Rules => Found::Rules(Rules {
            kinds: records(c, "kind")?,
            pauses: records(c, "pauses")?.pop().unwrap_or_default(),
            gauges: gauges(c)?,
        }),
        Read::Sessions => {
            let sql = "SELECT id, node, number, pools, kinds, opened, until FROM session ORDER BY id";
            Found::Sessions(many(c, sql, [], codec::session)?)
        }
        Read::Roles => {
            let numbers: Option<NodeNumbers> = records(c, "number")?.pop();
            Found::Roles(numbers.unwrap_or_default().roles)
        }
        Read::Leases => {
            Found::Leases(many(c, "SELECT name, holder, term, until FROM lease", [], codec::lease)?)
        }
        Read::Taken(kind, key) => {
            let sql = "SELECT job FROM unique_key WHERE kind = ?1 AND key = ?2 AND until > ?3";
            let asked = params![kind.as_str(), key.as_str(), now.as_micros()];
            Found::Taken(one(c, sql, asked, |row| Ok(JobId::from_u64(codec::number(row, 0)?)))?)
        }
        Read::Secret(name) => {
            let sql = "SELECT sealed, until FROM secret WHERE name = ?1";
            Found::Secret(one(c, sql, [name.as_str()], |row| {
                Ok(Secret { name: name.clone(), sealed: row.get(0)?, until: codec::time(row, 1)? })
            })?)
        }
        Read::Clock => Found::Clock(now),
        other => return Err(StoreError::Broken(format!("{other:?} is not a setting"))),
    })
}

pub(super) fn ready(reader: &mut Reader, what: &Ready) -> Result<ReadyAnswer, StoreError> {
    let c = &reader.connection;
    match what {
        Ready::Lines { after, limit } => {
            // One seek for each line, however many jobs it has.
            let sql = "SELECT line FROM job WHERE state = 2 AND line > ?1 ORDER BY line LIMIT 1";
            let mut lines: Vec<Line> = Vec::new();
            let mut last = after.map_or(-1, LineId::as_i64);
            while lines.len() < *limit
                && let Some(next) = one(c, sql, [last], |row| row.get::<_, i64>(0))?
            {
                let id = LineId::from_u64(next.cast_unsigned());
                if let Some(line) = reader.lines.get(c, id)? {
                    lines.push((id, line));
                }
                last = next;
            }
            Ok(ReadyAnswer::Lines(lines))
        }
        Ready::Jobs(wants) => {
            let answers = wants.iter().map(|want| next_jobs(c, want));
            Ok(ReadyAnswer::Jobs(answers.collect::<Result<_, _>>()?))
        }
    }
}

fn next_jobs(c: &Connection, want: &Want) -> Result<Vec<ReadyJob>, StoreError> {
    let sql = "SELECT id, version FROM job WHERE state = 2 AND line = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    let after = want.after.map_or(-1, JobId::as_i64);
    many(c, sql, params![want.line.as_i64(), after, want.limit as i64], |row| {
        Ok((JobId::from_u64(codec::number(row, 0)?), row.get(1)?))
    })
}

fn records<T: serde::de::DeserializeOwned>(c: &Connection, space: &str) -> Result<Vec<T>, StoreError> {
    many(c, "SELECT body FROM record WHERE space = ?1 ORDER BY key", [space], |row| codec::json(row, 0))
}

fn header(c: &Connection, id: JobId) -> Result<Option<Header>, StoreError> {
    let sql = "SELECT id, version, state, line, lane, position, attempt, attempts, rescues, fence, session, \
               submitted, at, flags FROM job WHERE id = ?1";
    one(c, sql, [id.as_i64()], codec::header)
}

pub(super) fn row(c: &Connection, lines: &mut LineCache, header: Header) -> Result<JobRow, StoreError> {
    let line = lines.get(c, header.line)?;
    let line = line.ok_or_else(|| StoreError::Broken(format!("line {} is missing", header.line)))?;
    Ok(JobRow { header, line })
}

fn steps(c: &Connection, id: JobId) -> Result<Vec<StepRecord>, StoreError> {
    many(c, "SELECT name, output FROM step WHERE job = ?1 ORDER BY number", [id.as_i64()], |row| {
        Ok(StepRecord { name: codec::name(row, 0)?, output: codec::blob(row, 1)? })
    })
}

fn details(reader: &mut Reader, id: JobId) -> Result<Option<Details>, StoreError> {
    let c = &reader.connection;
    let Some(header) = header(c, id)? else { return Ok(None) };
    let sql = "SELECT coalesce(payload, (SELECT body FROM payload WHERE payload.id = job.id), x'') FROM job WHERE id = ?1";
    let payload = one(c, sql, [id.as_i64()], |row| codec::blob(row, 0))?;
    let errors =
        "SELECT fence, attempt, started, ended, failure, error FROM error WHERE job = ?1 ORDER BY fence";
    let progress = "SELECT body FROM record WHERE space = 'progress' AND key = ?1";
    let lane = format!("SELECT {} FROM lane WHERE id = ?1", codec::LANE);
    Ok(Some(Details {
        payload: payload.unwrap_or_default(),
        result: one(c, "SELECT body FROM result WHERE id = ?1", [id.as_i64()], |row| codec::blob(row, 0))?,
        errors: many(c, errors, [id.as_i64()], codec::attempt_error)?,
        steps: steps(c, id)?,
        progress: one(c, progress, [id.to_string()], |row| codec::json(row, 0))?,
        lane: match header.place {
            Some(place) => one(c, &lane, [place.lane.as_i64()], codec::lane)?,
            None => None,
        },
        row: row(c, &mut reader.lines, header)?,
    }))
}

fn agenda(c: &Connection, now: Time, by: Time, limit: usize) -> Result<Agenda, StoreError> {
    let sql = "SELECT id, at FROM job WHERE state IN (1, 4) ORDER BY at, id LIMIT ?1";
    let first = many(c, sql, [i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)], |row| {
        Ok((JobId::from_u64(codec::number(row, 0)?), codec::time(row, 1)?))
    })?;
    let sessions = many(c, "SELECT id, until FROM session ORDER BY id", [], |row| {
        Ok((SessionId::from_u64(codec::number(row, 0)?), codec::time(row, 1)?))
    })?;
    Ok(Agenda::new((now, by), limit, &first, sessions, records(c, "schedule")?))
}
