//! Who waits where: unfinished requests with their positions, counted when somebody looks, never before.

use std::collections::BTreeMap;

use turnwise::{Engine, Error, Filter, Job as _, JobRow, LaneId, Name, State, limits};

use crate::job::Generate;

/// The states of a request that has not ended.
const UNFINISHED: [State; 5] =
    [State::Running, State::Ready, State::Retrying, State::Scheduled, State::Waiting];
/// Requests that are looked at, of each state.
const LOOKED_AT: usize = 5_000;

/// An unfinished request and how many are before it in its lane.
pub(crate) struct Queued {
    pub(crate) row: JobRow,
    /// 0 for the one at the head.
    pub(crate) position: u64,
}

/// The kind of the forge's jobs.
pub(crate) fn kind() -> Result<Name, Error> {
    Ok(Name::new(Generate::KIND)?)
}

/// Jobs of the forge in a state, newest first, in a lane if one is named.
pub(crate) async fn in_state(
    engine: &Engine,
    state: State,
    lane: Option<&Name>,
) -> Result<Vec<JobRow>, Error> {
    let limit = limits::PAGE_ROWS;
    let mut filter =
        Filter { state: Some(state), kind: Some(kind()?), lane: lane.cloned(), limit, ..Filter::default() };
    let mut found = Vec::new();
    loop {
        let (rows, before) = engine.jobs(filter.clone()).await?;
        found.extend(rows);
        if before.is_none() || found.len() >= LOOKED_AT {
            return Ok(found);
        }
        filter.before = before;
    }
}

/// Unfinished requests, each with its position: lane by lane, in their order.
pub(crate) async fn all(engine: &Engine) -> Result<Vec<Queued>, Error> {
    let mut rows = Vec::new();
    for state in UNFINISHED {
        rows.extend(in_state(engine, state, None).await?);
    }
    Ok(placed(rows))
}

/// The position of a request, unless it has ended.
pub(crate) async fn position(
    engine: &Engine,
    row: &JobRow,
    lane: Option<&Name>,
) -> Result<Option<u64>, Error> {
    if row.header.state.is_final() {
        return Ok(None);
    }
    if row.header.state != State::Waiting {
        return Ok(Some(0));
    }
    let mut rows = Vec::new();
    for state in UNFINISHED {
        rows.extend(in_state(engine, state, lane).await?);
    }
    let found = placed(rows).into_iter().find(|queued| queued.row.header.id == row.header.id);
    // It has left the line while it was counted: it is at the head or behind it now.
    Ok(Some(found.map_or(0, |queued| queued.position)))
}

fn placed(mut rows: Vec<JobRow>) -> Vec<Queued> {
    let place = |row: &JobRow| row.header.place.map_or((0, 0), |place| (place.lane.as_u64(), place.position));
    rows.sort_by_key(place);
    // A job that moved on between two looks is seen in two states.
    rows.dedup_by_key(|row| row.header.id);
    let mut before: BTreeMap<u64, u64> = BTreeMap::new();
    rows.into_iter()
        .map(|row| {
            let next = before.entry(place(&row).0).or_default();
            let position = *next;
            *next += 1;
            Queued { row, position }
        })
        .collect()
}

/// The lanes of these requests, by id.
pub(crate) async fn lanes(engine: &Engine, queue: &[Queued]) -> Result<BTreeMap<LaneId, Name>, Error> {
    let mut ids: Vec<LaneId> =
        queue.iter().filter_map(|queued| Some(queued.row.header.place?.lane)).collect();
    ids.sort_unstable();
    ids.dedup();
    engine.lane_names(&ids).await
}
