//! The world that a rule plays in: a fresh store, a clock that only the rule moves, and short words for what
//! rules do all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use turnwise_core::batch::{Batch, When};
use turnwise_core::ids::{BatchId, JobId, SessionId};
use turnwise_core::job::{Header, State};
use turnwise_core::kind::Kind;
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::name::Name;
use turnwise_core::priority::Priority;
use turnwise_core::refusal::Refusal;
use turnwise_core::retry::{Class, Retry};
use turnwise_core::time::{Time, secs};

use super::dump::Dump;
use crate::clock::Clock;
use crate::store::{
    Claim, Claimed, Control, Details, Failure, Found, LaneChoice, NewBatch, NewJob, NewThen, Outcome,
    OwnerRow, Read, Receipt, Roles, SessionUnit, Settle, Start, Store, StoreError, Submission, Submitted,
    Sweep, Unit, Verdict,
};

/// Makes worlds, one for each rule.
pub trait Factory {
    /// A world with nothing in it.
    fn fresh() -> impl Future<Output = World> + Send;
}

/// A clock that stands still until somebody moves it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock(AtomicI64::new(START.as_micros()))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// When every world begins.
const START: Time = Time::from_millis(1_800_000_000_000);
/// The session that [`World::claim`] claims with; it outlives every rule.
const USUAL_SESSION: u64 = 1;
/// Longer than any rule lasts.
const EVER: Duration = Duration::from_secs(100 * 366 * 86_400);

type Opener = Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>;

/// A store, its clock, and what a rule needs.
pub struct World {
    store: Option<Arc<dyn Store>>,
    clock: Arc<ManualClock>,
    open: Opener,
    durable: bool,
    ids: AtomicU64,
}

/// A checked name.
pub fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

impl World {
    /// A world around a store that `open` opens; `durable` if it can be opened again with what it held.
    pub fn new(
        clock: Arc<ManualClock>,
        durable: bool,
        open: impl Fn() -> Arc<dyn Store> + Send + Sync + 'static,
    ) -> Self {
        World { store: Some(open()), clock, open: Box::new(open), durable, ids: AtomicU64::new(1_000) }
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }

    /// Closes the store and opens it again; `None` if this store ends with its process.
    pub fn reopen(&mut self) -> Option<()> {
        if !self.durable {
            return None;
        }
        drop(self.store.take());
        self.store = Some((self.open)());
        Some(())
    }

    /// The time on the clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Moves the clock.
    pub fn advance(&self, span: Duration) {
        self.clock.0.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
    }

    /// A number that was not used before.
    pub fn number(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::SeqCst)
    }

    /// Commits units that may be refused.
    pub async fn commit(&self, units: Vec<Unit>) -> Vec<Outcome> {
        let count = units.len();
        let outcomes = self.store().commit(units).await.unwrap();
        assert_eq!(outcomes.len(), count, "one outcome for each unit");
        outcomes
    }

    /// Commits a unit that must happen.
    pub async fn ok(&self, unit: Unit) -> Receipt {
        let said = format!("{unit:?}");
        match self.commit(vec![unit]).await.remove(0) {
            Ok(receipt) => receipt,
            Err(refusal) => panic!("refused: {refusal:?}\n{said}"),
        }
    }

    /// Commits a unit that must be refused, and leave no trace.
    pub async fn refused(&self, unit: Unit) -> Refusal {
        let said = format!("{unit:?}");
        let before = Dump::of(self.store()).await;
        let outcome = self.commit(vec![unit]).await.remove(0);
        let refusal = outcome.expect_err(&said);
        before.assert_same(&Dump::of(self.store()).await, &said);
        refusal
    }

    /// Looks something up.
    pub async fn read(&self, what: Read) -> Found {
        self.store().read(what).await.unwrap()
    }

    // Kinds, sessions, owners.

    /// Declares a kind with three attempts, ten seconds apart.
    pub async fn kind(&self, kind: &str) -> Name {
        self.kind_with(kind, |_| {}).await
    }

    /// Declares a kind with other rules.
    pub async fn kind_with(&self, kind: &str, change: impl FnOnce(&mut Kind)) -> Name {
        let mut rules = Kind { retry: Retry::fixed(secs(10)).attempts(3), ..Kind::new(name(kind)) };
        change(&mut rules);
        self.ok(Unit::Declare(rules)).await;
        name(kind)
    }

    /// Opens a session that outlives the rule.
    pub async fn session(&self) -> SessionId {
        self.session_for(EVER).await
    }

    /// Opens a session for a time.
    pub async fn session_for(&self, span: Duration) -> SessionId {
        let id = SessionId::from_u64(self.number());
        self.ok(open_session(id, span)).await;
        id
    }

    /// An operator asks for something that is granted.
    pub async fn control(&self, control: Control) -> Receipt {
        self.ok(Unit::Control(control)).await
    }

    /// A sweep: how many it changed.
    pub async fn sweep(&self, sweep: Sweep) -> usize {
        match self.ok(Unit::Sweep(sweep)).await {
            Receipt::Changed(count) => count,
            other => panic!("a sweep answered {other:?}"),
        }
    }

    /// An owner and its counts.
    pub async fn owner(&self, owner: &str) -> OwnerRow {
        let Found::Owners(rows) = self.read(Read::Owners { after: None, limit: 1_000 }).await else {
            panic!("owners were asked for")
        };
        rows.into_iter().find(|row| *row.owner == *owner).unwrap()
    }

    // Work comes.

    /// A plain job of owner `acme`, not yet submitted.
    pub fn job(&self, kind: &str) -> NewJob {
        let id = JobId::from_u64(self.number());
        NewJob {
            id,
            kind: name(kind),
            owner: name("acme"),
            priority: Priority::default(),
            batch: None,
            limit_key: None,
            lane: None,
            start: Start::Now,
            attempts: None,
            unique: Vec::new(),
            payload: format!("payload of {id}").into_bytes().into(),
        }
    }

    /// A job in a lane that goes on after a dead letter.
    pub fn lane_job(&self, kind: &str, lane: &str) -> NewJob {
        let lane = LaneChoice { name: name(lane), on_dead: OnDead::Continue };
        NewJob { lane: Some(lane), ..self.job(kind) }
    }

    /// Submits jobs that must be accepted.
    pub async fn submit(&self, jobs: impl IntoIterator<Item = NewJob>) -> Vec<JobId> {
        let jobs = jobs.into_iter().collect();
        let submitted = self.send(Submission { jobs, ..Submission::default() }).await;
        submitted.into_iter().map(|submitted| submitted.id).collect()
    }

    /// Submits one job that must be accepted.
    pub async fn submit_one(&self, job: NewJob) -> JobId {
        self.submit([job]).await[0]
    }

    /// Submits something that must be accepted.
    pub async fn send(&self, submission: Submission) -> Vec<Submitted> {
        match self.ok(Unit::Submit(submission)).await {
            Receipt::Submitted(submitted) => submitted,
            other => panic!("a submission answered {other:?}"),
        }
    }

    /// Opens, fills and seals a batch of plain jobs, with a continuation if `when` says so. Answers with the
    /// batch, its jobs and the continuation.
    pub async fn batch_of(
        &self,
        kind: &str,
        count: usize,
        when: Option<When>,
    ) -> (BatchId, Vec<JobId>, Option<JobId>) {
        let (open, then) = self.new_batch(kind, when);
        let id = open.id;
        let jobs: Vec<NewJob> = (0..count).map(|_| NewJob { batch: Some(id), ..self.job(kind) }).collect();
        let ids = jobs.iter().map(|job| job.id).collect();
        self.send(Submission { open: vec![open], jobs, seal: vec![id] }).await;
        (id, ids, then)
    }

    /// A batch that is not yet submitted, and the id of its continuation.
    pub fn new_batch(&self, kind: &str, when: Option<When>) -> (NewBatch, Option<JobId>) {
        let id = BatchId::from_u64(self.number());
        let then = when.map(|when| NewThen { job: NewJob { batch: Some(id), ..self.job(kind) }, when });
        let job = then.as_ref().map(|then| then.job.id);
        (NewBatch { id, name: name("batch"), owner: name("acme"), then }, job)
    }

    // A worker works.

    /// The claim of a job as it is now, by a session.
    pub async fn claim_unit(&self, job: JobId, session: SessionId) -> Unit {
        Unit::Claim(Claim { job, version: self.header(job).await.version, session, term: None })
    }

    /// Claims a job with a session that never ends.
    pub async fn claim(&self, job: JobId) -> Claimed {
        let session = self.usual_session().await;
        self.claim_as(job, session).await
    }

    /// The refusal of a claim by a session that never ends.
    pub async fn claim_refused(&self, job: JobId) -> Refusal {
        let session = self.usual_session().await;
        self.refused(self.claim_unit(job, session).await).await
    }

    /// Claims a job.
    pub async fn claim_as(&self, job: JobId, session: SessionId) -> Claimed {
        match self.ok(self.claim_unit(job, session).await).await {
            Receipt::Claimed(claimed) => *claimed,
            other => panic!("a claim answered {other:?}"),
        }
    }

    async fn usual_session(&self) -> SessionId {
        let id = SessionId::from_u64(USUAL_SESSION);
        let Found::Sessions(known) = self.read(Read::Sessions).await else {
            panic!("sessions were asked for")
        };
        if known.iter().all(|session| session.id != id) {
            self.ok(open_session(id, EVER)).await;
        }
        id
    }

    /// A run ends: the state that the job is in then.
    pub async fn settle(&self, claimed: &Claimed, verdict: Verdict) -> State {
        moved(self.ok(settle(claimed, verdict, Submission::default())).await)
    }

    /// A run ends well.
    pub async fn done(&self, claimed: &Claimed) -> State {
        self.settle(claimed, Verdict::Done(None)).await
    }

    /// A run fails.
    pub async fn fail(&self, claimed: &Claimed) -> State {
        self.settle(claimed, failed("it broke")).await
    }

    /// Claims a job and ends it well.
    pub async fn run(&self, job: JobId) {
        let claimed = self.claim(job).await;
        assert_eq!(self.done(&claimed).await, State::Done);
    }

    /// Claims a job and ends it as a dead letter.
    pub async fn kill(&self, job: JobId) {
        let claimed = self.claim(job).await;
        assert_eq!(self.settle(&claimed, Verdict::Dead("no use".into())).await, State::Dead);
    }

    // What there is.

    /// A job's header.
    pub async fn header(&self, job: JobId) -> Header {
        self.details(job).await.unwrap_or_else(|| panic!("no job {job}")).row.header
    }

    /// A job's state.
    pub async fn state(&self, job: JobId) -> State {
        self.header(job).await.state
    }

    /// The states of jobs.
    pub async fn states(&self, jobs: &[JobId]) -> Vec<State> {
        let Found::Jobs(rows) = self.read(Read::Jobs(jobs.to_vec())).await else {
            panic!("jobs were asked for")
        };
        assert_eq!(rows.len(), jobs.len());
        rows.iter().map(|row| row.header.state).collect()
    }

    /// All about a job.
    pub async fn details(&self, job: JobId) -> Option<Details> {
        match self.read(Read::Job(job)).await {
            Found::Job(details) => details.map(|details| *details),
            other => panic!("a job was asked for: {other:?}"),
        }
    }

    /// A batch.
    pub async fn batch(&self, id: BatchId) -> Batch {
        match self.read(Read::Batch(id)).await {
            Found::Batches(mut batches) => batches.pop().unwrap(),
            other => panic!("a batch was asked for: {other:?}"),
        }
    }

    /// A lane.
    pub async fn lane(&self, lane: &str) -> Lane {
        match self.read(Read::Lane(name(lane))).await {
            Found::Lanes(mut lanes) => lanes.pop().unwrap(),
            other => panic!("a lane was asked for: {other:?}"),
        }
    }

    /// Everything there is.
    pub async fn dump(&self) -> Dump {
        Dump::of(self.store()).await
    }
}

/// Opens a session.
pub fn open_session(id: SessionId, span: Duration) -> Unit {
    open_session_as(id, Roles::default(), span)
}

/// Opens a session of a node that does only some things.
pub fn open_session_as(id: SessionId, roles: Roles, span: Duration) -> Unit {
    let (pools, kinds) = (BTreeMap::new(), BTreeSet::new());
    Unit::Session(SessionUnit::Open { id, node: name("node"), pools, kinds, roles, span })
}

/// The end of a run.
pub fn settle(claimed: &Claimed, verdict: Verdict, submission: Submission) -> Unit {
    let header = &claimed.header;
    Unit::Settle(Settle { job: header.id, fence: header.fence, verdict, submission })
}

/// A failure that may go better next time.
pub fn failed(error: &str) -> Verdict {
    Verdict::Failed { class: Class::Retry, failure: Failure::Error, error: error.into() }
}

/// A submission of jobs alone.
pub fn jobs_of(jobs: impl IntoIterator<Item = NewJob>) -> Submission {
    Submission { jobs: jobs.into_iter().collect(), ..Submission::default() }
}

/// The state in a receipt.
pub fn moved(receipt: Receipt) -> State {
    match receipt {
        Receipt::Moved(state) => state,
        other => panic!("a state was expected: {other:?}"),
    }
}

/// Whether a store says that there is no room.
pub fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Full)
}
