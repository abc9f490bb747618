//! Questions to PostgreSQL, one at a time.

use std::sync::Arc;

use hashbrown::HashMap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
use turnwise_core::job::Header;
use turnwise_core::lane::Lane;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::codec::{self, Decoded, batch_columns, header_columns, lane_columns, session_columns};
use super::link::{Link, Pending};
use super::{Reader, lists};
use crate::store::{
    Agenda, Details, Found, JobRow, Message, NodeNumbers, Read, Ready, ReadyAnswer, Rules, Secret,
    StepRecord, StoreError,
};

/// Lines that a reader remembers, at most.
const LINES: usize = 20_000;

type Line = (LineId, Arc<LineKey>);

/// Lines never change, so a reader keeps those that it has met.
#[derive(Default)]
pub(super) struct LineCache(HashMap<LineId, Arc<LineKey>>);

impl LineCache {
    pub(super) fn get(&mut self, link: &mut Link, id: LineId) -> Result<Option<Arc<LineKey>>, StoreError> {
        if let Some(line) = self.0.get(&id) {
            return Ok(Some(line.clone()));
        }
        let sql = "SELECT kind, owner, priority, batch, limit_key FROM line WHERE id = $1";
        let line = one(link, sql, &[&id.as_i64()], |row| codec::line(row, 0))?;
        if let Some(line) = &line {
            self.keep(id, line.clone());
        }
        Ok(line)
    }

    /// Looks many up at once.
    pub(super) fn fetch(
        &mut self,
        link: &mut Link,
        ids: impl Iterator<Item = LineId>,
    ) -> Result<(), StoreError> {
        let mut unknown: Vec<i64> = ids.filter(|id| !self.0.contains_key(id)).map(LineId::as_i64).collect();
        unknown.sort_unstable();
        unknown.dedup();
        if unknown.is_empty() {
            return Ok(());
        }
        let sql = "SELECT id, kind, owner, priority, batch, limit_key FROM line WHERE id = ANY($1)";
        for row in link.rows(sql, &[&unknown])? {
            self.keep(LineId::from_u64(codec::number(&row, 0)?), codec::line(&row, 1)?);
        }
        Ok(())
    }

    /// Those that are there.
    fn get_all(&mut self, link: &mut Link, ids: &[LineId]) -> Result<Vec<Line>, StoreError> {
        self.fetch(link, ids.iter().copied())?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.get(link, *id)?.map(|line| (*id, line)));
        }
        Ok(found)
    }

    fn keep(&mut self, id: LineId, line: Arc<LineKey>) {
        if self.0.len() >= LINES {
            self.0.clear();
        }
        self.0.insert(id, line);
    }
}

pub(super) fn one<T>(
    link: &mut Link,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
    read: impl FnOnce(&Row) -> Decoded<T>,
) -> Result<Option<T>, StoreError> {
    link.rows(sql, values)?.first().map(read).transpose()
}

pub(super) fn many<T>(
    link: &mut Link,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
    read: impl FnMut(&Row) -> Decoded<T>,
) -> Result<Vec<T>, StoreError> {
    link.rows(sql, values)?.iter().map(read).collect()
}

pub(super) fn read(reader: &mut Reader, what: &Read) -> Result<Found, StoreError> {
    let link = &mut reader.link;
    Ok(match what {
        Read::Jobs(ids) => {
            let wanted: Vec<i64> = ids.iter().map(|id| id.as_i64()).collect();
            let sql = concat!("SELECT ", header_columns!(), " FROM job WHERE id = ANY($1)");
            let headers = many(link, sql, &[&wanted], codec::header)?;
            let by_id: HashMap<JobId, Header> =
                headers.into_iter().map(|header| (header.id, header)).collect();
            let in_order = ids.iter().filter_map(|id| by_id.get(id).copied()).collect();
            Found::Jobs(with_lines(reader, in_order)?)
        }
        Read::Job(id) => Found::Job(details(reader, *id)?.map(Box::new)),
        Read::Steps(id) => Found::Steps(steps(link, *id)?),
        Read::Batch(id) => Found::Batches(lists::batch(link, *id)?.into_iter().collect()),
        Read::Batches { before, limit } => {
            let sql =
                concat!("SELECT ", batch_columns!(), " FROM batch WHERE id < $1 ORDER BY id DESC LIMIT $2");
            let before = before.map_or(i64::MAX, BatchId::as_i64);
            Found::Batches(many(link, sql, &[&before, &most(*limit)], codec::batch)?)
        }
        Read::Lane(name) => {
            let sql = concat!("SELECT ", lane_columns!(), " FROM lane WHERE id = $1");
            Found::Lanes(many(link, sql, &[&Lane::id_of(name).as_i64()], codec::lane)?)
        }
        Read::Lanes { after, limit } => {
            let sql = concat!(
                "SELECT ",
                lane_columns!(),
                " FROM lane WHERE name > $1 AND (head IS NOT NULL OR waiting > 0) \
                 ORDER BY name LIMIT $2"
            );
            let after = after.as_deref().unwrap_or("");
            Found::Lanes(many(link, sql, &[&after, &most(*limit)], codec::lane)?)
        }
        Read::Behind { lane, before, limit } => Found::Jobs(behind(reader, lane, *before, *limit)?),
        Read::Lines(ids) => Found::Lines(reader.lines.get_all(link, ids)?),
        Read::LaneNames(ids) => Found::LaneNames(lane_names(link, ids)?),
        Read::Owners { after, limit } => Found::Owners(lists::owners(link, after.as_deref(), *limit)?),
        Read::Running(session) => {
            let sql = concat!(
                "SELECT ",
                header_columns!(),
                " FROM job WHERE state = 3 AND session = $1 ORDER BY id"
            );
            let headers = many(link, sql, &[&session.as_i64()], codec::header)?;
            Found::Jobs(with_lines(reader, headers)?)
        }
        Read::Agenda { by, limit } => {
            let now = reader.clock.as_ref().map(|clock| clock.now());
            Found::Agenda(agenda(link, now, *by, *limit)?)
        }
        Read::BatchJobs { batch, after, limit } => lists::batch_jobs(link, *batch, *after, *limit)?,
        Read::Ended { after, below, limit } => lists::ended(link, *after, *below, *limit)?,
        Read::Messages { queue, after, limit } => {
            let sql =
                "SELECT number, body FROM message WHERE queue = $1 AND number > $2 ORDER BY number LIMIT $3";
            let values: &[&(dyn ToSql + Sync)] = &[&queue.as_str(), &after.cast_signed(), &most(*limit)];
            Found::Messages(many(link, sql, values, |row| {
                Ok(Message { number: codec::number(row, 0)?, body: codec::blob(row, 1)? })
            })?)
        }
        Read::Taken(kind, key) => Found::Taken(taken(reader, kind, key)?),
        Read::Clock => Found::Clock(now(reader)?),
        what => settings(link, what)?,
    })
}

fn lane_names(link: &mut Link, ids: &[LaneId]) -> Result<Vec<(LaneId, Name)>, StoreError> {
    let ids: Vec<i64> = ids.iter().map(|id| id.as_i64()).collect();
    let sql = "SELECT id, name FROM lane WHERE id = ANY($1)";
    many(link, sql, &[&ids], |row| Ok((LaneId::from_u64(codec::number(row, 0)?), codec::name(row, 1)?)))
}

/// What is not about jobs.
fn settings(link: &mut Link, what: &Read) -> Result<Found, StoreError> {
    Ok(match what {
        Read::Totals => Found::Totals(lists::totals(link)?),
        Read::Kinds => Found::Kinds(records(link, "kind")?),
        Read::Rules => Found::Rules(rules(link)?),
        Read::Schedules => Found::Schedules(records(link, "schedule")?),
        Read::Tokens => Found::Tokens(records(link, "token")?),
        Read::Pauses => Found::Pauses(records(link, "pauses")?.pop().unwrap_or_default()),
        Read::Gauges => {
            let sql = "SELECT key, body FROM record WHERE space = 'gauge'";
            Found::Gauges(many(link, sql, &[], |row| Ok((codec::json(row, 0)?, codec::json(row, 1)?)))?)
        }
        Read::Sessions => {
            let sql = concat!("SELECT ", session_columns!(), " FROM session ORDER BY id");
            Found::Sessions(many(link, sql, &[], codec::session)?)
        }
        Read::Roles => {
            let numbers: Option<NodeNumbers> = records(link, "number")?.pop();
            Found::Roles(numbers.unwrap_or_default().roles)
        }
        Read::Leases => Found::Leases(many(
            link,
            "SELECT name, holder, term, until FROM lease ORDER BY name",
            &[],
            codec::lease,
        )?),
        Read::Secret(name) => {
            let sql = "SELECT sealed, until FROM secret WHERE name = $1";
            Found::Secret(one(link, sql, &[&name.as_str()], |row| {
                Ok(Secret { name: name.clone(), sealed: codec::get(row, 0)?, until: codec::time(row, 1)? })
            })?)
        }
        other => return Err(StoreError::Broken(format!("{other:?} is not a setting"))),
    })
}

/// Jobs that wait in a lane, the last one first.
fn behind(
    reader: &mut Reader,
    lane: &Name,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<JobRow>, StoreError> {
    let sql = concat!(
        "SELECT ",
        header_columns!(),
        " FROM job WHERE state = 0 AND position > 0 AND lane = $1 AND position < $2 ORDER BY position DESC LIMIT $3"
    );
    let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
    let values: &[&(dyn ToSql + Sync)] = &[&Lane::id_of(lane).as_i64(), &before, &most(limit)];
    let headers = many(&mut reader.link, sql, values, codec::header)?;
    with_lines(reader, headers)
}

/// The job that a unique key stands for.
fn taken(reader: &mut Reader, kind: &Name, key: &Name) -> Result<Option<JobId>, StoreError> {
    let now = now(reader)?.as_micros();
    let sql = "SELECT job FROM unique_key WHERE kind = $1 AND key = $2 AND until > $3";
    let values: &[&(dyn ToSql + Sync)] = &[&kind.as_str(), &key.as_str(), &now];
    one(&mut reader.link, sql, values, |row| Ok(JobId::from_u64(codec::number(row, 0)?)))
}

/// The database's clock is everybody's, unless a test brought its own.
fn now(reader: &mut Reader) -> Result<Time, StoreError> {
    if let Some(clock) = &reader.clock {
        return Ok(clock.now());
    }
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let time = one(&mut reader.link, sql, &[], |row| codec::time(row, 0))?;
    time.ok_or_else(|| StoreError::Broken("the database does not know the time".into()))
}

pub(super) fn ready(reader: &mut Reader, what: &Ready) -> Result<ReadyAnswer, StoreError> {
    let Reader { link, lines, .. } = reader;
    match what {
        Ready::Lines { after, limit } => {
            // One seek for each line, however many jobs it has.
            let sql = "WITH RECURSIVE walk (line, n) AS ( \
                         (SELECT line, 1::bigint FROM job WHERE state = 2 AND line > $1 ORDER BY line LIMIT 1) \
                         UNION ALL \
                         SELECT next.line, walk.n + 1 FROM walk CROSS JOIN LATERAL \
                           (SELECT line FROM job WHERE state = 2 AND line > walk.line ORDER BY line LIMIT 1) next \
                         WHERE walk.n < $2 \
                       ) SELECT line FROM walk";
            let from = after.map_or(-1, LineId::as_i64);
            let ids =
                many(link, sql, &[&from, &most(*limit)], |row| Ok(LineId::from_u64(codec::number(row, 0)?)))?;
            lines.fetch(link, ids.iter().copied())?;
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                if let Some(line) = lines.get(link, id)? {
                    found.push((id, line));
                }
            }
            Ok(ReadyAnswer::Lines(found))
        }
        Ready::Jobs(wants) => {
            let sql =
                "SELECT id, version FROM job WHERE state = 2 AND line = $1 AND id > $2 ORDER BY id LIMIT $3";
            let questions: Vec<Pending> = wants
                .iter()
                .map(|want| Pending {
                    sql: sql.into(),
                    values: vec![
                        Box::new(want.line.as_i64()),
                        Box::new(want.after.map_or(-1, JobId::as_i64)),
                        Box::new(most(want.limit)),
                    ],
                })
                .collect();
            let job = |row: &Row| Ok((JobId::from_u64(codec::number(row, 0)?), codec::small(row, 1)?));
            let answers = link.send(&questions)?;
            let jobs = answers.iter().map(|rows| rows.iter().map(job).collect::<Decoded<Vec<_>>>());
            Ok(ReadyAnswer::Jobs(jobs.collect::<Decoded<_>>()?))
        }
    }
}

/// A limit as SQL takes it.
pub(super) fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn records<T: serde::de::DeserializeOwned>(link: &mut Link, space: &str) -> Result<Vec<T>, StoreError> {
    many(link, "SELECT body FROM record WHERE space = $1 ORDER BY key", &[&space], |row| codec::json(row, 0))
}

/// Jobs with their lines, in the order of the headers.
pub(super) fn with_lines(reader: &mut Reader, headers: Vec<Header>) -> Result<Vec<JobRow>, StoreError> {
    let Reader { link, lines, .. } = reader;
    lines.fetch(link, headers.iter().map(|header| header.line))?;
    let mut rows = Vec::with_capacity(headers.len());
    for header in headers {
        let line = lines.get(link, header.line)?;
        let line = line.ok_or_else(|| StoreError::Broken(format!("line {} is missing", header.line)))?;
        rows.push(JobRow { header, line });
    }
    Ok(rows)
}

fn steps(link: &mut Link, id: JobId) -> Result<Vec<StepRecord>, StoreError> {
    many(link, "SELECT name, output FROM step WHERE job = $1 ORDER BY number", &[&id.as_i64()], |row| {
        Ok(StepRecord { name: codec::name(row, 0)?, output: codec::blob(row, 1)? })
    })
}

fn details(reader: &mut Reader, id: JobId) -> Result<Option<Details>, StoreError> {
    let link = &mut reader.link;
    let sql = concat!("SELECT ", header_columns!(), ", payload FROM job WHERE id = $1");
    let job = one(link, sql, &[&id.as_i64()], |row| {
        Ok((codec::header(row)?, codec::blob(row, codec::AFTER_HEADER)?))
    })?;
    let Some((header, payload)) = job else { return Ok(None) };
    let errors =
        "SELECT fence, attempt, started, ended, failure, error FROM error WHERE job = $1 ORDER BY fence";
    let progress = "SELECT body FROM record WHERE space = 'progress' AND key = $1";
    let lane = concat!("SELECT ", lane_columns!(), " FROM lane WHERE id = $1");
    let result = "SELECT body FROM result WHERE id = $1";
    let details = Details {
        payload,
        result: one(link, result, &[&id.as_i64()], |row| codec::blob(row, 0))?,
        errors: many(link, errors, &[&id.as_i64()], codec::attempt_error)?,
        steps: steps(link, id)?,
        progress: one(link, progress, &[&id.to_string()], |row| codec::json(row, 0))?,
        lane: match header.place {
            Some(place) => one(link, lane, &[&place.lane.as_i64()], codec::lane)?,
            None => None,
        },
        row: with_lines(reader, vec![header])?
            .pop()
            .ok_or_else(|| StoreError::Broken("a job without a line".into()))?,
    };
    Ok(Some(details))
}

/// In one question, because it is asked all the time. What a row is about is said by its first column.
fn agenda(link: &mut Link, now: Option<Time>, by: Option<Time>, limit: usize) -> Result<Agenda, StoreError> {
    let sql = "(SELECT 0, id, at, NULL FROM job WHERE state IN (1, 4) ORDER BY at, id LIMIT $1) UNION ALL \
               (SELECT 1, id, until, NULL FROM session ORDER BY id) UNION ALL \
               (SELECT 2, 0, 0, body FROM record WHERE space = 'schedule' ORDER BY key) UNION ALL \
               SELECT 3, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL";
    let (mut first, mut sessions, mut schedules, mut clock) =
        (Vec::new(), Vec::new(), Vec::new(), Time::ZERO);
    for row in &link.rows(sql, &[&most(limit).saturating_add(1)])? {
        let (number, at) = (codec::number(row, 1)?, codec::time(row, 2)?);
        match codec::get::<i32>(row, 0)? {
            0 => first.push((JobId::from_u64(number), at)),
            1 => sessions.push((SessionId::from_u64(number), at)),
            2 => schedules.push(codec::json(row, 3)?),
            _ => clock = at,
        }
    }
    let now = now.unwrap_or(clock);
    Ok(Agenda::new((now, by.unwrap_or(now)), limit, &first, sessions, schedules))
}

fn rules(link: &mut Link) -> Result<Rules, StoreError> {
    let sql =
        "SELECT space, key, body FROM record WHERE space IN ('kind', 'pauses', 'gauge') ORDER BY space, key";
    let mut rules = Rules::default();
    for row in &link.rows(sql, &[])? {
        match codec::get::<&str>(row, 0)? {
            "kind" => rules.kinds.push(codec::json(row, 2)?),
            "pauses" => rules.pauses = codec::json(row, 2)?,
            _ => rules.gauges.push((codec::json(row, 1)?, codec::json(row, 2)?)),
        }
    }
    Ok(rules)
}
