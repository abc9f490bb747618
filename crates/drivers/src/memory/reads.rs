//! Questions to a store in memory.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use turnwise_core::ids::{JobId, LineId};
use turnwise_core::job::Header;
use turnwise_core::lane::Lane;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::tally::Tally;
use turnwise_core::time::Time;

use super::rows::Rows;
use crate::store::{
    Agenda, Details, Filter, Found, JobRow, JobsPage, LimitKey, Message, OwnerRow, Read, Ready, ReadyAnswer,
    Rules, StepRecord, Want,
};

pub(super) fn read(rows: &Rows, what: &Read, now: Time) -> Found {
    match what {
        Read::Jobs(ids) => Found::Jobs(ids.iter().filter_map(|id| row(rows, rows.jobs.get(id)?)).collect()),
        Read::Job(id) => Found::Job(details(rows, *id).map(Box::new)),
        Read::Steps(id) => Found::Steps(steps(rows, *id)),
        Read::Batch(id) => Found::Batches(rows.batches.get(id).cloned().into_iter().collect()),
        Read::Batches { before, limit } => {
            let upper = before.map_or(Unbounded, Excluded);
            Found::Batches(
                rows.batches.range((Unbounded, upper)).rev().map(|(_, b)| b.clone()).take(*limit).collect(),
            )
        }
        Read::Lane(name) => Found::Lanes(rows.lanes.get(&Lane::id_of(name)).cloned().into_iter().collect()),
        Read::Lanes { after, limit } => Found::Lanes(lanes(rows, after.as_ref(), *limit)),
        Read::Behind { lane, before, limit } => Found::Jobs(behind(rows, lane, *before, *limit)),
        Read::Lines(ids) => {
            Found::Lines(ids.iter().filter_map(|id| Some((*id, rows.lines.get(id)?.clone()))).collect())
        }
        Read::LaneNames(ids) => Found::LaneNames(
            ids.iter().filter_map(|id| Some((*id, rows.lanes.get(id)?.name.clone()))).collect(),
        ),
        Read::Owners { after, limit } => Found::Owners(owners(rows, after.as_ref(), *limit)),
        Read::Totals => Found::Totals(totals(rows)),
        Read::Kinds => Found::Kinds(rows.kinds.values().cloned().collect()),
        Read::Sessions => Found::Sessions(rows.sessions.values().cloned().collect()),
        Read::Roles => Found::Roles(rows.numbers.get(&()).cloned().unwrap_or_default().roles),
        Read::Leases => Found::Leases(rows.leases.values().cloned().collect()),
        Read::Pauses => Found::Pauses(rows.pauses.get(&()).cloned().unwrap_or_default()),
        Read::Schedules => Found::Schedules(rows.schedules.values().cloned().collect()),
        Read::Tokens => Found::Tokens(rows.tokens.values().cloned().collect()),
        Read::Secret(name) => Found::Secret(rows.secrets.get(name).cloned()),
        Read::Taken(kind, key) => Found::Taken(taken(rows, kind, key, now)),
        Read::Gauges => Found::Gauges(gauges(rows)),
        Read::Rules => Found::Rules(Rules {
            kinds: rows.kinds.values().cloned().collect(),
            pauses: rows.pauses.get(&()).cloned().unwrap_or_default(),
            gauges: gauges(rows),
        }),
        Read::Running(session) => {
            let running = rows.index.running_of(*session);
            Found::Jobs(running.filter_map(|id| row(rows, rows.jobs.get(&id)?)).collect())
        }
        Read::Agenda { by, limit } => Found::Agenda(agenda(rows, now, by.unwrap_or(now), *limit)),
        Read::BatchJobs { batch, after, limit } => {
            let of_batch = |header: &Header| {
                !header.state.is_final()
                    && !header.flags.continuation
                    && rows.lines.get(&header.line).is_some_and(|line| line.batch == Some(*batch))
            };
            let from = after.map_or(Unbounded, Excluded);
            scan(rows.jobs.range((from, Unbounded)).map(|(_, header)| header), *limit, of_batch)
        }
        Read::Ended { after, below, limit } => {
            let range = rows
                .jobs
                .range((Excluded(*after), Excluded((*below).max(JobId::from_u64(after.as_u64() + 1)))));
            scan(range.map(|(_, header)| header), *limit, |header| header.state.is_final())
        }
        Read::Messages { queue, after, limit } => {
            let from = Excluded((queue.clone(), *after));
            let range = rows.messages.range((from, Included((queue.clone(), u64::MAX))));
            let message = |((_, number), body): (&(Name, u64), &crate::store::Blob)| Message {
                number: *number,
                body: body.clone(),
            };
            Found::Messages(range.map(message).take(*limit).collect())
        }
        Read::Clock => Found::Clock(now),
    }
}

pub(super) fn ready(rows: &Rows, what: &Ready) -> ReadyAnswer {
    match what {
        Ready::Lines { after, limit } => {
            let mut lines = Vec::new();
            let mut from = after.map_or(Unbounded, |line| Excluded((line, JobId::from_u64(u64::MAX))));
            while lines.len() < *limit
                && let Some((line, _)) = rows.index.ready.range((from, Unbounded)).next()
            {
                if let Some(key) = rows.lines.get(line) {
                    lines.push((*line, key.clone()));
                }
                from = Excluded((*line, JobId::from_u64(u64::MAX)));
            }
            ReadyAnswer::Lines(lines)
        }
        Ready::Jobs(wants) => ReadyAnswer::Jobs(wants.iter().map(|want| next_jobs(rows, want)).collect()),
    }
}

fn next_jobs(rows: &Rows, want: &Want) -> Vec<(JobId, u32)> {
    let from = want.after.map_or(Included((want.line, JobId::from_u64(0))), |id| Excluded((want.line, id)));
    let range = rows.index.ready.range((from, Included((want.line, JobId::from_u64(u64::MAX)))));
    let job = |(_, id): &(LineId, JobId)| rows.jobs.get(id).map(|header| (*id, header.version));
    range.filter_map(job).take(want.limit).collect()
}

pub(super) fn list(rows: &Rows, filter: &Filter) -> JobsPage {
    let limit = filter.limit.clamp(1, limits::PAGE_ROWS);
    let (sieve, ids) = (filter.sieve(), filter.ids());
    let id = |number: i64| JobId::from_u64(number.cast_unsigned());
    let mut page = JobsPage::default();
    for (looked_at, (id, header)) in rows.jobs.range(id(ids.start)..id(ids.end)).rev().enumerate() {
        if page.rows.len() == limit || looked_at == limits::ROWS_LOOKED_AT {
            return page;
        }
        page.before = Some(*id);
        if sieve.wants(header)
            && let Some(row) = row(rows, header)
            && sieve.wants_line(&row.line)
        {
            page.rows.push(row);
        }
    }
    page.before = None;
    page
}

fn row(rows: &Rows, header: &Header) -> Option<JobRow> {
    rows.lines.get(&header.line).map(|line| JobRow { header: *header, line: line.clone() })
}

fn steps(rows: &Rows, id: JobId) -> Vec<StepRecord> {
    let names = rows.step_order.get(&id).into_iter().flatten();
    let step = |name: &Name| {
        let output = rows.steps.get(&(id, name.clone()))?.clone();
        Some(StepRecord { name: name.clone(), output })
    };
    names.filter_map(step).collect()
}

fn details(rows: &Rows, id: JobId) -> Option<Details> {
    let header = rows.jobs.get(&id)?;
    Some(Details {
        row: row(rows, header)?,
        payload: rows.payloads.get(&id)?.clone(),
        result: rows.results.get(&id).cloned(),
        errors: rows.errors.range((id, 0)..=(id, u32::MAX)).map(|(_, error)| error.clone()).collect(),
        steps: steps(rows, id),
        progress: rows.progress.get(&id).cloned(),
        lane: header.place.and_then(|place| rows.lanes.get(&place.lane).cloned()),
    })
}

fn lanes(rows: &Rows, after: Option<&Name>, limit: usize) -> Vec<Lane> {
    let mut lanes: Vec<&Lane> = rows
        .lanes
        .values()
        .filter(|lane| {
            (lane.head.is_some() || lane.waiting > 0) && after.is_none_or(|after| lane.name > *after)
        })
        .collect();
    lanes.sort_by(|a, b| a.name.cmp(&b.name));
    lanes.into_iter().take(limit).cloned().collect()
}

fn owners(rows: &Rows, after: Option<&Name>, limit: usize) -> Vec<OwnerRow> {
    let from = after.map_or(Unbounded, |after| Excluded(after.clone()));
    let accounts = rows.accounts.range((from, Unbounded)).take(limit);
    accounts
        .map(|(owner, account)| OwnerRow {
            owner: owner.clone(),
            account: *account,
            tallies: rows
                .tallies
                .iter()
                .filter(|((whose, _), _)| whose == owner)
                .map(|((_, kind), tally)| (kind.clone(), *tally))
                .collect(),
        })
        .collect()
}

/// The job that a unique key stands for.
fn taken(rows: &Rows, kind: &Name, key: &Name, now: Time) -> Option<JobId> {
    let taken = rows.uniques.get(&(kind.clone(), key.clone()));
    taken.filter(|taken| taken.until > now).map(|taken| taken.job)
}

/// Jobs that wait in a lane, the last one first.
fn behind(rows: &Rows, lane: &Name, before: Option<u64>, limit: usize) -> Vec<JobRow> {
    let waiting = rows.index.waiting_before(Lane::id_of(lane), before.unwrap_or(u64::MAX)).take(limit);
    waiting.filter_map(|id| row(rows, rows.jobs.get(&id)?)).collect()
}

fn totals(rows: &Rows) -> BTreeMap<Name, Tally> {
    let mut totals: BTreeMap<Name, Tally> = BTreeMap::new();
    for ((_, kind), tally) in &rows.tallies {
        totals.entry(kind.clone()).or_default().add(tally);
    }
    totals
}

fn gauges(rows: &Rows) -> Vec<(LimitKey, u32)> {
    rows.gauges.iter().map(|(key, running)| (key.clone(), *running)).collect()
}

fn agenda(rows: &Rows, now: Time, by: Time, limit: usize) -> Agenda {
    let first: Vec<_> =
        rows.index.due.iter().take(limit.saturating_add(1)).map(|(at, id)| (*id, *at)).collect();
    let sessions = rows.sessions.values().map(|session| (session.id, session.until)).collect();
    Agenda::new((now, by), limit, &first, sessions, rows.schedules.values().cloned().collect())
}

fn scan<'a>(
    headers: impl Iterator<Item = &'a Header>,
    limit: usize,
    wanted: impl Fn(&Header) -> bool,
) -> Found {
    let (mut ids, mut after) = (Vec::new(), None);
    for header in headers {
        if ids.len() == limit {
            return Found::Ids { ids, after };
        }
        if wanted(header) {
            ids.push(header.id);
        }
        after = Some(header.id);
    }
    Found::Ids { ids, after: None }
}
