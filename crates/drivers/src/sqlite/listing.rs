//! Jobs by filter, newest first. A page goes straight to the jobs where an index leads there, and otherwise looks at a
//! bounded number of them, one after the other.

use std::ops::Range;

use rusqlite::{Connection, Row, params};
use turnwise_core::job::{Header, State};
use turnwise_core::limits;

use super::reads::{LineCache, many, one, row};
use super::schema::fault;
use super::{Reader, codec, lists};
use crate::store::{Filter, JobsPage, Sieve, StoreError};

/// A line that nobody has met costs as much as so many jobs.
const LINE_COST: usize = 4;

pub(super) fn list(reader: &mut Reader, filter: &Filter) -> Result<JobsPage, StoreError> {
    let Reader { connection: c, lines } = reader;
    let sieve = filter.sieve();
    let Some(ids) = ids_of(c, filter)? else { return Ok(JobsPage::default()) };
    let mut page = Page::new(filter, &sieve, lines);
    let few = match filter.state {
        Some(state) => few(c, state, &ids)?,
        None => None,
    };
    match few {
        Some(few) => {
            let sql = format!("SELECT {} FROM job WHERE id = ?1", codec::HEADER);
            for id in few {
                if let Some(header) = one(c, &sql, [id], codec::header)?
                    && !page.take(c, header)?
                {
                    return Ok(page.found);
                }
            }
        }
        None => {
            // Dead letters have an index of their own, in the order of their ids.
            let which = if filter.state == Some(State::Dead) { "state = 6 AND" } else { "" };
            let sql = format!(
                "SELECT {} FROM job WHERE {which} id >= ?1 AND id < ?2 ORDER BY id DESC",
                codec::HEADER
            );
            let mut statement = c.prepare_cached(&sql).map_err(|error| fault(&error))?;
            let mut rows = statement.query(params![ids.start, ids.end]).map_err(|error| fault(&error))?;
            while let Some(row) = rows.next().map_err(|error| fault(&error))? {
                if !page.take(c, header(row)?)? {
                    return Ok(page.found);
                }
            }
        }
    }
    page.found.before = None;
    Ok(page.found)
}

fn header(row: &Row<'_>) -> Result<Header, StoreError> {
    codec::header(row).map_err(|error| fault(&error))
}

/// The ids to look among. Those of a batch lie between its first and its last; none, if nothing was ever of this batch.
fn ids_of(c: &Connection, filter: &Filter) -> Result<Option<Range<i64>>, StoreError> {
    let ids = filter.ids();
    let Some(batch) = filter.batch else { return Ok(Some(ids)) };
    if one(c, "SELECT 1 FROM line WHERE batch = ?1 LIMIT 1", [batch.as_i64()], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    // A batch that is forgotten may have left jobs behind.
    let Some((first, last)) = lists::batch(c, batch)?.and_then(|batch| batch.ids()) else {
        return Ok(Some(ids));
    };
    Ok(Some(ids.start.max(first.as_i64())..ids.end.min(last.as_i64().saturating_add(1))))
}

/// The ids of the jobs in the states that have an index, newest first, if they are few.
fn few(c: &Connection, state: State, ids: &Range<i64>) -> Result<Option<Vec<i64>>, StoreError> {
    let (index, states) = match state {
        State::Ready => ("job_ready", "state = 2"),
        State::Running => ("job_running", "state = 3"),
        State::Scheduled | State::Retrying => ("job_due", "state IN (1, 4)"),
        State::Waiting | State::Done | State::Dead | State::Cancelled => return Ok(None),
    };
    let most = limits::ROWS_LOOKED_AT;
    let sql = format!("SELECT id FROM job INDEXED BY {index} WHERE {states} LIMIT ?1");
    let mut found = many(c, &sql, [most as i64 + 1], |row| row.get::<_, i64>(0))?;
    if found.len() > most {
        return Ok(None);
    }
    found.retain(|id| ids.contains(id));
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(Some(found))
}

/// A page that is being filled.
struct Page<'a> {
    sieve: &'a Sieve<'a>,
    lines: &'a mut LineCache,
    limit: usize,
    /// What may still be looked at.
    looks: usize,
    found: JobsPage,
}

impl<'a> Page<'a> {
    fn new(filter: &Filter, sieve: &'a Sieve<'a>, lines: &'a mut LineCache) -> Self {
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS);
        Page { sieve, lines, limit, looks: limits::ROWS_LOOKED_AT, found: JobsPage::default() }
    }

    /// Takes a job in, if it is wanted; `false` if the page has ended before it.
    fn take(&mut self, c: &Connection, header: Header) -> Result<bool, StoreError> {
        if self.found.rows.len() == self.limit || self.looks == 0 {
            return Ok(false);
        }
        self.found.before = Some(header.id);
        self.looks -= 1;
        if self.sieve.wants(&header) {
            if !self.lines.knows(header.line) {
                self.looks = self.looks.saturating_sub(LINE_COST);
            }
            let job = row(c, self.lines, header)?;
            if self.sieve.wants_line(&job.line) {
                self.found.rows.push(job);
            }
        }
        Ok(true)
    }
}
