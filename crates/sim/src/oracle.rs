//! At the end: the store is compared with the shadow, and its counts with what is there.

use std::collections::BTreeMap;

use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::tally::Tally;
use turnwise_drivers::store::{Details, Filter, Found, JobRow, Read, Store};

use crate::shadow::JobShadow;
use crate::world::{Broken, World, broken, now};

/// Judges a world at rest.
pub(crate) fn judge(world: &World) -> Result<(), Broken> {
    let rows = every_job(world);
    jobs(world, &rows)?;
    batches(world)?;
    tallies(world, &rows)?;
    gauges(world)?;
    if world.plan.calm {
        crate::invariants::turns_were_shared(world)?;
    }
    Ok(())
}

fn every_job(world: &World) -> Vec<JobRow> {
    let mut rows = Vec::new();
    let mut filter = Filter { limit: limits::PAGE_ROWS, ..Filter::default() };
    while let Some(Ok(page)) = now(world.store.list(filter.clone())) {
        rows.extend(page.rows);
        match page.before {
            Some(before) => filter.before = Some(before),
            None => break,
        }
    }
    rows
}

fn jobs(world: &World, rows: &[JobRow]) -> Result<(), Broken> {
    let shadow = world.shadow();
    if rows.len() != shadow.jobs.len() {
        return broken(
            1,
            format!("{} jobs are in the store, and {} were accepted", rows.len(), shadow.jobs.len()),
        );
    }
    for row in rows {
        let header = &row.header;
        let Some(job) = shadow.jobs.get(&header.id) else {
            return broken(1, format!("{} is in the store, but was never accepted", header.id));
        };
        let is = (header.state, header.fence, header.attempt, header.rescues);
        let must = (job.state, job.fence, job.attempt, job.rescues);
        if is != must {
            return broken(1, format!("{} is {is:?} in the store, and must be {must:?}", header.id));
        }
        match world.look(Read::Job(header.id)) {
            Some(Found::Job(Some(details))) => history(&details, job)?,
            _ => return broken(1, format!("{} cannot be read", header.id)),
        }
    }
    Ok(())
}

/// Every error is kept, and every step.
fn history(details: &Details, job: &JobShadow) -> Result<(), Broken> {
    let id = details.row.header.id;
    let errors = job.errors.min(limits::ERRORS_KEPT);
    if details.errors.len() != errors {
        return broken(
            7,
            format!("{id} failed {errors} times, and {} errors are kept", details.errors.len()),
        );
    }
    if details.steps.len() != job.steps.len() {
        return broken(
            2,
            format!("{id} took {} steps, and {} are kept", job.steps.len(), details.steps.len()),
        );
    }
    if (job.state == State::Done) != details.result.is_some() {
        return broken(2, format!("{id} is {}, and its result is {:?}", job.state, details.result));
    }
    Ok(())
}

fn batches(world: &World) -> Result<(), Broken> {
    let shadow = world.shadow();
    let Some(Found::Batches(rows)) = world.look(Read::Batches { before: None, limit: usize::MAX }) else {
        return broken(5, "batches cannot be read");
    };
    if rows.len() != shadow.batches.len() {
        return broken(
            5,
            format!("{} batches are in the store, and {} were opened", rows.len(), shadow.batches.len()),
        );
    }
    for row in rows {
        let Some(batch) = shadow.batches.get(&row.id) else {
            return broken(5, format!("batch {} was never opened", row.id));
        };
        let is = (row.phase, row.total, [row.done, row.dead, row.cancelled], row.repaired);
        let must = (batch.phase, batch.total, batch.ends, batch.repaired);
        if is != must {
            return broken(5, format!("batch {} is {is:?} in the store, and must be {must:?}", row.id));
        }
    }
    Ok(())
}

/// Counts are what one gets by counting.
fn tallies(world: &World, rows: &[JobRow]) -> Result<(), Broken> {
    let Some(Found::Owners(owners)) = world.look(Read::Owners { after: None, limit: usize::MAX }) else {
        return broken(0, "owners cannot be read");
    };
    let mut counted: BTreeMap<(Name, Name), Tally> = BTreeMap::new();
    for row in rows {
        let tally = counted.entry((row.line.owner.clone(), row.line.kind.clone())).or_default();
        tally.shift(None, Some(row.header.state));
    }
    for owner in owners {
        let mut unfinished = 0;
        for (kind, tally) in owner.tallies {
            let must = counted.remove(&(owner.owner.clone(), kind.clone())).unwrap_or_default();
            if tally != must {
                return broken(0, format!("{} {kind} is counted as {tally:?}, and is {must:?}", owner.owner));
            }
            unfinished += tally.unfinished();
        }
        if owner.account.backlog != unfinished {
            return broken(
                0,
                format!("the backlog of {} is {}, not {unfinished}", owner.owner, owner.account.backlog),
            );
        }
    }
    match counted.first_key_value() {
        Some((key, _)) => broken(0, format!("nobody counts {key:?}")),
        None => Ok(()),
    }
}

/// Nothing runs, so nothing may be counted as running.
fn gauges(world: &World) -> Result<(), Broken> {
    match world.look(Read::Gauges) {
        Some(Found::Gauges(gauges)) if gauges.is_empty() => Ok(()),
        found => broken(3, format!("nothing runs, and the gauges say {found:?}")),
    }
}
