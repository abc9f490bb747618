//! Everything that a store holds, as plain values that can be compared, and the truths that must hold among
//! them whatever happened before.

use std::collections::BTreeMap;

use turnwise_core::batch::{Batch, Phase};
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::{JobId, LaneId, LineId};
use turnwise_core::job::State;
use turnwise_core::lane::Lane;
use turnwise_core::lease::Lease;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::tally::Tally;
use turnwise_core::time::Time;

use crate::store::{
    Blob, Details, Filter, Found, JobRow, LimitKey, OwnerRow, Read, Ready, ReadyAnswer, ReadyJob, Rules,
    Session, Store, Tail, Want,
};

/// More than any rule makes of anything.
const MANY: usize = 100_000;

/// Everything that a store holds.
#[derive(Debug, Default)]
pub struct Dump {
    /// Jobs with all that belongs to them, oldest first.
    pub jobs: Vec<Details>,
    /// Batches, newest first.
    pub batches: Vec<Batch>,
    /// Lanes, by id, also those that are empty but were joined by a job that is still known.
    pub lanes: BTreeMap<LaneId, Lane>,
    /// Owners with their counts.
    pub owners: Vec<OwnerRow>,
    /// How many run.
    pub gauges: BTreeMap<LimitKey, u32>,
    /// What is ready.
    pub ready: Vec<(LineId, Vec<ReadyJob>)>,
    /// What is due at any time, earliest first.
    pub due: Vec<JobId>,
    /// The events that are kept.
    pub events: Vec<(Cursor, Time, Event)>,
    /// Sessions.
    pub sessions: Vec<Session>,
    /// Leases.
    pub leases: Vec<Lease>,
    /// Kinds, pauses, schedules, tokens, as text.
    pub rest: Vec<String>,
}

impl Dump {
    /// Reads everything.
    pub async fn of(store: &dyn Store) -> Dump {
        Dump::read(store, true).await
    }

    /// Reads everything but payloads, results, errors and steps.
    pub async fn brief(store: &dyn Store) -> Dump {
        Dump::read(store, false).await
    }

    async fn read(store: &dyn Store, full: bool) -> Dump {
        let mut dump = Dump { events: events_of(store).await, ..Dump::default() };
        dump.read_jobs(store, full).await;
        dump.read_ready(store).await;
        if let Found::Batches(batches) = read(store, Read::Batches { before: None, limit: MANY }).await {
            dump.batches = batches;
        }
        if let Found::Lanes(lanes) = read(store, Read::Lanes { after: None, limit: MANY }).await {
            dump.lanes.extend(lanes.into_iter().map(|lane| (lane.id, lane)));
        }
        if let Found::Owners(owners) = read(store, Read::Owners { after: None, limit: MANY }).await {
            dump.owners = owners;
        }
        if let Found::Gauges(gauges) = read(store, Read::Gauges).await {
            dump.gauges = gauges.into_iter().collect();
        }
        if let Found::Rules(Rules { kinds, pauses, gauges }) = read(store, Read::Rules).await {
            assert_eq!(gauges.into_iter().collect::<BTreeMap<_, _>>(), dump.gauges, "rules know what runs");
            dump.rest.push(format!("{kinds:?} {pauses:?}"));
        }
        let all = Read::Agenda { by: Some(Time::MAX), limit: MANY };
        if let Found::Agenda(agenda) = read(store, all).await {
            dump.due = agenda.due;
        }
        if let Found::Sessions(sessions) = read(store, Read::Sessions).await {
            dump.sessions = sessions;
        }
        if let Found::Leases(leases) = read(store, Read::Leases).await {
            dump.leases = leases;
        }
        if let Found::Tokens(tokens) = read(store, Read::Tokens).await {
            dump.rest.push(serde_json::to_string(&tokens).unwrap());
        }
        for what in [Read::Kinds, Read::Pauses, Read::Schedules, Read::Roles] {
            dump.rest.push(format!("{:?}", read(store, what).await));
        }
        dump
    }

    async fn read_jobs(&mut self, store: &dyn Store, full: bool) {
        let mut filter = Filter { limit: 1_000, ..Filter::default() };
        loop {
            let page = store.list(filter.clone()).await.unwrap();
            self.jobs.extend(page.rows.iter().filter(|_| !full).cloned().map(brief));
            for row in page.rows.iter().filter(|_| full) {
                let Found::Job(Some(details)) = read(store, Read::Job(row.header.id)).await else {
                    panic!("job {} is listed but not there", row.header.id)
                };
                assert_eq!(details.row, *row, "a listing and a look agree");
                self.lanes.extend(details.lane.iter().map(|lane| (lane.id, lane.clone())));
                self.jobs.push(*details);
            }
            match page.before {
                Some(before) => filter.before = Some(before),
                None => break,
            }
        }
        self.jobs.reverse();
    }

    async fn read_ready(&mut self, store: &dyn Store) {
        let lines = store.ready(Ready::Lines { after: None, limit: MANY }).await.unwrap();
        let ReadyAnswer::Lines(lines) = lines else { panic!("lines were asked for") };
        let wants = lines.iter().map(|(line, _)| Want { line: *line, after: None, limit: MANY }).collect();
        let ReadyAnswer::Jobs(jobs) = store.ready(Ready::Jobs(wants)).await.unwrap() else {
            panic!("jobs were asked for")
        };
        self.ready = lines.into_iter().map(|(line, _)| line).zip(jobs).collect();
    }

    /// Says where two dumps differ, if they do.
    pub fn assert_same(&self, other: &Dump, after: &str) {
        let (ours, theirs) = (self.lines(), other.lines());
        if ours == theirs {
            return;
        }
        let only = |a: &[String], b: &[String]| -> String {
            let missing = a.iter().filter(|line| !b.contains(line)).map(|line| format!("  {line}\n"));
            missing.collect()
        };
        panic!(
            "differs after {after}\nonly in the first:\n{}only in the second:\n{}",
            only(&ours, &theirs),
            only(&theirs, &ours)
        );
    }

    /// As text, one line for each thing, without the events.
    pub fn lines_without_events(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.jobs.iter().map(|job| format!("{job:?}")).collect();
        lines.extend(self.batches.iter().map(|batch| format!("{batch:?}")));
        lines.extend(self.lanes.values().map(|lane| format!("{lane:?}")));
        lines.extend(self.owners.iter().map(|owner| format!("{owner:?}")));
        lines.push(format!("gauges {:?}", self.gauges));
        lines.push(format!("ready {:?}", self.ready));
        lines.push(format!("due {:?}", self.due));
        lines.push(format!("{:?} {:?}", self.sessions, self.leases));
        lines.extend(self.rest.iter().cloned());
        lines
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.lines_without_events();
        lines.extend(self.events.iter().map(|event| format!("{event:?}")));
        lines
    }

    /// The truths that hold in every store at every moment.
    pub fn check(&self) {
        self.check_jobs();
        self.check_lanes();
        self.check_batches();
        self.check_counts();
    }

    fn check_jobs(&self) {
        let mut ready = Vec::new();
        let mut due = Vec::new();
        for job in &self.jobs {
            let header = &job.row.header;
            assert_eq!(header.session.is_some(), header.state == State::Running, "{header:?}");
            match header.state {
                State::Ready => ready.push((header.line, header.id, header.version)),
                State::Scheduled | State::Retrying => due.push((header.at, header.id)),
                _ => {}
            }
        }
        ready.sort_unstable();
        due.sort_unstable();
        let listed = self.ready.iter().flat_map(|(line, jobs)| jobs.iter().map(|job| (*line, job.0, job.1)));
        assert_eq!(listed.collect::<Vec<_>>(), ready, "ready jobs are listed, and no others");
        assert_eq!(self.due, due.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), "due jobs are listed");
    }

    fn check_lanes(&self) {
        for lane in self.lanes.values() {
            let placed = self.jobs.iter().map(|job| &job.row.header).filter(|header| {
                !header.state.is_final()
                    && header.place.is_some_and(|place| place.lane == lane.id && place.position > 0)
            });
            let mut placed: Vec<_> = placed.collect();
            placed.sort_by_key(|header| header.place.map(|place| place.position));
            let waiting = placed.iter().filter(|header| header.state == State::Waiting).count();
            assert_eq!(lane.waiting, waiting as u64, "{lane:?}");
            let moving: Vec<JobId> = placed
                .iter()
                .filter(|header| header.state != State::Waiting)
                .map(|header| header.id)
                .collect();
            assert_eq!(lane.head.into_iter().collect::<Vec<_>>(), moving, "{lane:?}");
            if let Some(head) = lane.head {
                assert_eq!(Some(head), placed.first().map(|header| header.id), "{lane:?}: overtaken");
                let idle = placed[0].state != State::Running;
                assert!(!(lane.stands() && idle), "{lane:?} stands still, its head must not be claimable");
            } else {
                assert!(lane.stands() || placed.is_empty(), "{lane:?} has jobs and does not go on");
            }
        }
    }

    fn check_batches(&self) {
        for batch in &self.batches {
            let of = self.jobs.iter().filter(|job| job.row.line.batch == Some(batch.id));
            let (mut total, mut counted) = (0, 0);
            for job in of.filter(|job| !job.row.header.flags.continuation) {
                total += 1;
                counted += u64::from(job.row.header.flags.counted);
            }
            let ended = batch.done + batch.dead + batch.cancelled;
            // Forgotten jobs have been counted, so both sides lack the same number.
            assert_eq!(batch.total - total, ended - counted, "{batch:?}");
            if matches!(batch.phase, Phase::Settled | Phase::Parked) {
                assert_eq!(batch.pending(), 0, "{batch:?}");
            } else {
                assert!(batch.phase == Phase::Open || batch.pending() > 0, "{batch:?} should have settled");
            }
            self.check_continuation(batch);
        }
    }

    fn check_continuation(&self, batch: &Batch) {
        let Some(then) = batch.then else { return };
        let Some(job) = self.jobs.iter().find(|job| job.row.header.id == then.job) else { return };
        let header = &job.row.header;
        // One that was cancelled and forgotten may have left its id to another job.
        if !header.flags.continuation {
            return;
        }
        let held = header.state == State::Waiting && header.place.is_none_or(|place| place.position == 0);
        if batch.phase == Phase::Settled {
            assert!(!held, "{batch:?} has settled, its continuation waits for ever");
        } else {
            let alive = !held && header.state != State::Cancelled;
            assert!(!alive, "{batch:?} has not settled, its continuation goes: {header:?}");
        }
    }

    fn check_counts(&self) {
        let mut tallies: BTreeMap<(Name, Name), Tally> = BTreeMap::new();
        let mut gauges: BTreeMap<LimitKey, u32> = BTreeMap::new();
        for job in &self.jobs {
            let (header, line) = (&job.row.header, &job.row.line);
            let tally = tallies.entry((line.owner.clone(), line.kind.clone())).or_default();
            tally.shift(None, Some(header.state));
            if header.state == State::Running {
                let keys = [None, line.limit_key.clone()];
                for key in keys.into_iter().take(1 + usize::from(line.limit_key.is_some())) {
                    *gauges.entry(LimitKey { kind: line.kind.clone(), key }).or_default() += 1;
                }
            }
        }
        assert_eq!(self.gauges, gauges, "gauges are what runs");
        for row in &self.owners {
            let mut backlog = 0;
            for (kind, tally) in &row.tallies {
                let key = (row.owner.clone(), kind.clone());
                let recount = tallies.remove(&key).unwrap_or_default();
                backlog += recount.unfinished();
                for state in State::ALL {
                    let (kept, there) = (tally.of(state), recount.of(state));
                    // `done` also counts those that are forgotten.
                    let right = if state == State::Done { kept >= there } else { kept == there };
                    assert!(right, "{key:?} {state}: counted {kept}, there are {there}");
                }
            }
            assert_eq!(row.account.backlog, backlog, "backlog of {}", row.owner);
        }
        assert!(tallies.is_empty(), "jobs that nobody counted: {tallies:?}");
    }
}

/// A job of which only the row is known.
fn brief(row: JobRow) -> Details {
    Details {
        row,
        payload: Blob::default(),
        result: None,
        errors: Vec::new(),
        steps: Vec::new(),
        progress: None,
        lane: None,
    }
}

async fn read(store: &dyn Store, what: Read) -> Found {
    store.read(what).await.unwrap()
}

/// Every event that is kept, read page by page.
pub async fn events_of(store: &dyn Store) -> Vec<(Cursor, Time, Event)> {
    events_after(store, Cursor::START).await
}

/// Every event after a cursor, or after the oldest that is kept.
pub async fn events_after(store: &dyn Store, mut after: Cursor) -> Vec<(Cursor, Time, Event)> {
    let mut events = Vec::new();
    loop {
        match store.tail(after, limits::PAGE_ROWS).await.unwrap() {
            Tail::Gone { oldest } => {
                assert!(oldest > after, "the way on must lead on");
                after = oldest;
            }
            Tail::Page(page) if page.events.is_empty() => return events,
            Tail::Page(page) => {
                assert!(page.next > after);
                events.extend(page.events);
                after = page.next;
            }
        }
    }
}

/// The states that a reader of events believes in.
pub fn replayed<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeMap<JobId, State> {
    let mut states = BTreeMap::new();
    for event in events {
        if let Event::Job { job, state, .. } = event {
            states.insert(*job, *state);
        }
    }
    states
}
