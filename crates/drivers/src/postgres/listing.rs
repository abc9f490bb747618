//! Jobs by filter, newest first. A page goes straight to the jobs where an index leads there, and otherwise looks at a
//! bounded number of them, a window of ids after the other.

use std::ops::Range;

use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::limits;

use super::codec::{self, header_columns};
use super::link::Link;
use super::reads::{many, most, one, with_lines};
use super::{Reader, lists};
use crate::store::{Filter, JobRow, JobsPage, StoreError};

/// The jobs of a window that are wanted, each with its line. The lines are looked up one by one, by their key: how many
/// there are in all plays no part. What the window came to (how many jobs, and the last) is in every row; there is one
/// even if no job is wanted.
macro_rules! wanted {
    ($table:literal, $which:literal) => {
        concat!(
            "WITH seen AS MATERIALIZED (SELECT ",
            header_columns!(),
            " FROM ",
            $table,
            " WHERE ",
            $which,
            "id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3) \
             SELECT w.*, s.count, s.last FROM (SELECT count(*) AS count, min(id) AS last FROM seen) s LEFT JOIN (\
             SELECT j.*, l.* FROM (SELECT * FROM seen WHERE ($4::smallint IS NULL OR state = $4) \
             AND ($5::bigint IS NULL OR lane = $5)) j CROSS JOIN LATERAL (SELECT kind, owner, priority, batch, limit_key \
             FROM line WHERE line.id = j.line LIMIT 1) l WHERE ($6::text IS NULL OR l.kind = $6) \
             AND ($7::text IS NULL OR l.owner = $7) AND ($8::bigint IS NULL OR l.batch = $8)) w ON true \
             ORDER BY w.id DESC LIMIT $9"
        )
    };
}

/// The column after those of the line.
const COUNT: usize = codec::AFTER_HEADER + 5;

pub(super) fn list(reader: &mut Reader, filter: &Filter) -> Result<JobsPage, StoreError> {
    let limit = filter.limit.clamp(1, limits::PAGE_ROWS);
    let mut page = JobsPage::default();
    let Some(mut ids) = ids_of(&mut reader.link, filter)? else { return Ok(page) };
    if let Some(few) = few(&mut reader.link, filter, &ids)? {
        return chosen(reader, filter, &few, limit);
    }
    let mut looks = limits::ROWS_LOOKED_AT;
    // Mostly the first ones fit. If they do not, all that may be looked at is looked at together.
    let mut size = limit + limit / 2;
    while looks > 0 {
        size = size.min(looks);
        let seen = look(&mut reader.link, filter, &ids, size, limit - page.rows.len())?;
        page.rows.extend(seen.rows);
        if page.rows.len() == limit {
            page.before = page.rows.last().map(|row| row.header.id);
            return Ok(page);
        }
        page.before = seen.last.filter(|_| seen.count == size);
        let Some(last) = page.before else { return Ok(page) };
        ids.end = last.as_i64();
        looks -= size;
        size = looks;
    }
    Ok(page)
}

/// The ids to look among. Those of a batch lie between its first and its last; none, if nothing was ever of this batch.
fn ids_of(link: &mut Link, filter: &Filter) -> Result<Option<Range<i64>>, StoreError> {
    let ids = filter.ids();
    let Some(batch) = filter.batch else { return Ok(Some(ids)) };
    let known = "SELECT 1 FROM line WHERE batch = $1 LIMIT 1";
    if one(link, known, &[&batch.as_i64()], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    // A batch that is forgotten may have left jobs behind.
    let Some((first, last)) = lists::batch(link, batch)?.and_then(|batch| batch.ids()) else {
        return Ok(Some(ids));
    };
    Ok(Some(ids.start.max(first.as_i64())..ids.end.min(last.as_i64().saturating_add(1))))
}

/// The ids of the jobs in the states that have an index, newest first, if they are few. They are asked for in the order
/// of the index, so that nothing else is gone through.
fn few(link: &mut Link, filter: &Filter, ids: &Range<i64>) -> Result<Option<Vec<i64>>, StoreError> {
    let sql = match filter.state {
        Some(State::Ready) => "SELECT id FROM job_living WHERE state = 2 ORDER BY line, id LIMIT $1",
        Some(State::Running) => "SELECT id FROM job_living WHERE state = 3 ORDER BY session, id LIMIT $1",
        Some(State::Scheduled | State::Retrying) => {
            "SELECT id FROM job_living WHERE state IN (1, 4) ORDER BY at, id LIMIT $1"
        }
        _ => return Ok(None),
    };
    let enough = limits::PAGE_ROWS;
    let mut found = many(link, sql, &[&(most(enough) + 1)], |row| codec::get::<i64>(row, 0))?;
    if found.len() > enough {
        return Ok(None);
    }
    found.retain(|id| ids.contains(id));
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(Some(found))
}

/// The page of jobs whose ids are known, newest first.
fn chosen(reader: &mut Reader, filter: &Filter, ids: &[i64], limit: usize) -> Result<JobsPage, StoreError> {
    let sql = concat!("SELECT ", header_columns!(), " FROM job_living WHERE id = ANY($1) ORDER BY id DESC");
    let mut headers = many(&mut reader.link, sql, &[&ids], codec::header)?;
    let sieve = filter.sieve();
    headers.retain(|header| sieve.wants(header));
    let mut rows = with_lines(reader, headers)?;
    rows.retain(|row| sieve.wants_line(&row.line));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let before = rows.last().map(|row| row.header.id).filter(|_| more);
    Ok(JobsPage { rows, before })
}

/// What was in a window.
struct Seen {
    /// What is wanted of it.
    rows: Vec<JobRow>,
    /// How many jobs were in it.
    count: usize,
    /// The last of them.
    last: Option<JobId>,
}

/// Looks at so many jobs, for at most so many that are wanted.
fn look(
    link: &mut Link,
    filter: &Filter,
    ids: &Range<i64>,
    size: usize,
    wanted: usize,
) -> Result<Seen, StoreError> {
    // What has ended lies apart from what has not, and dead letters have an index of their own.
    let sql = match filter.state {
        None => wanted!("job", ""),
        Some(State::Dead) => wanted!("job_ended", "state = 6 AND "),
        Some(State::Done | State::Cancelled) => wanted!("job_ended", ""),
        Some(_) => wanted!("job_living", ""),
    };
    let state = filter.state.map(|state| state as i16);
    let lane = filter.sieve().lane().map(turnwise_core::ids::LaneId::as_i64);
    let batch = filter.batch.map(turnwise_core::ids::BatchId::as_i64);
    let (kind, owner) = (filter.kind.as_deref(), filter.owner.as_deref());
    let (size, wanted) = (most(size), most(wanted));
    let found =
        link.rows(sql, &[&ids.start, &ids.end, &size, &state, &lane, &kind, &owner, &batch, &wanted])?;
    let mut seen = Seen { rows: Vec::with_capacity(found.len()), count: 0, last: None };
    for row in &found {
        seen.count = codec::number(row, COUNT)? as usize;
        let last = codec::get::<Option<i64>>(row, COUNT + 1)?;
        seen.last = last.map(|id| JobId::from_u64(id.cast_unsigned()));
        if codec::get::<Option<i64>>(row, 0)?.is_some() {
            let line = codec::line(row, codec::AFTER_HEADER)?;
            seen.rows.push(JobRow { header: codec::header(row)?, line });
        }
    }
    Ok(seen)
}
