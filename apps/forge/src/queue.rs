//! Who waits where: unfinished requests with their positions, counted when somebody looks, never before.

use std::collections::BTreeMap;

use turnwise::{Engine, Error, Filter, Job as _, JobId, JobRow, LaneId, Name, State, limits};

use crate::job::Generate;

/// The states of a request that has not ended.
const UNFINISHED: [State; 5] =
    [State::Running, State::Ready, State::Retrying, State::Scheduled, State::Waiting];
/// Requests that are placed for a list, of each state. Of more, the oldest are missing in it, and positions are too low.
const LOOKED_AT: usize = 100_000;

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

/// All jobs of the forge in a state, newest first.
pub(crate) async fn in_state(engine: &Engine, state: State) -> Result<Vec<JobId>, Error> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let (rows, next) = page(engine, state, before).await?;
        found.extend(rows.iter().map(|row| row.header.id));
        before = next;
        if before.is_none() {
            return Ok(found);
        }
    }
}

/// Jobs of the forge in a state, newest first: a page of them below an id, and where to go on.
async fn page(
    engine: &Engine,
    state: State,
    before: Option<JobId>,
) -> Result<(Vec<JobRow>, Option<JobId>), Error> {
    let (state, kind, limit) = (Some(state), Some(kind()?), limits::PAGE_ROWS);
    engine.jobs(Filter { state, kind, before, limit, ..Filter::default() }).await
}

/// Unfinished requests, each with its position: lane by lane, in their order.
pub(crate) async fn all(engine: &Engine) -> Result<Vec<Queued>, Error> {
    let mut rows = Vec::new();
    for state in UNFINISHED {
        let (mut before, most) = (None, rows.len() + LOOKED_AT);
        loop {
            let (found, next) = page(engine, state, before).await?;
            rows.extend(found);
            before = next;
            if before.is_none() || rows.len() >= most {
                break;
            }
        }
    }
    Ok(placed(rows))
}

/// The position of a request, unless it has ended. Whoever came last is found first.
pub(crate) async fn position(
    engine: &Engine,
    row: &JobRow,
    lane: Option<&Name>,
) -> Result<Option<u64>, Error> {
    if row.header.state.is_final() {
        return Ok(None);
    }
    let (Some(place), Some(lane)) = (row.header.place, lane) else { return Ok(Some(0)) };
    let Some(seen) = engine.lane(lane).await?.filter(|_| row.header.state == State::Waiting) else {
        return Ok(Some(0));
    };
    let (mut behind, mut before) = (0, None);
    loop {
        let rows = engine.behind(lane, before, limits::PAGE_ROWS).await?;
        let positions = || rows.iter().filter_map(|row| Some(row.header.place?.position));
        behind += positions().filter(|position| *position >= place.position).count() as u64;
        before = positions().next_back();
        if before.is_none_or(|before| before <= place.position) {
            break;
        }
    }
    Ok(Some(u64::from(seen.lane.head.is_some()) + seen.lane.waiting.saturating_sub(behind)))
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
