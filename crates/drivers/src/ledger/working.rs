//! The working set: the rows that a commit looks at and changes.

use std::sync::Arc;

use turnwise_core::event::Event;
use turnwise_core::ids::{JobId, LaneId, LineId, SessionId};
use turnwise_core::job::{Header, State};
use turnwise_core::kind::Kind;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::Trouble;
use super::table::{Load, Space, Table};
use crate::store::StoreError;

/// Rows kept of a family after a commit, at most.
const KEPT: usize = 20_000;

macro_rules! spaces {
    ($($(#[$doc:meta])* $field:ident $space:ident : $key:ty => $value:ty;)*) => {
        /// The families of rows.
        pub(crate) mod spaces {
            use super::super::table::Space;
            #[allow(unused_imports, reason = "not every list of types uses each of these")]
            use crate::store::*;
            use std::sync::Arc;
            use turnwise_core::{
                batch::Batch, ids::*, job::Header, kind::Kind, lane::Lane, lease::Lease, line::LineKey,
                name::Name, rate::Bucket, tally::{Account, Tally}, unique::Taken,
            };
            $(
                $(#[$doc])*
                pub(crate) struct $space;
                impl Space for $space {
                    type Key = $key;
                    type Value = $value;
                }
            )*
        }

        /// All families together.
        #[derive(Default)]
        pub(crate) struct Tables {
            $($(#[$doc])* pub(crate) $field: Table<spaces::$space>,)*
        }

        impl Tables {
            fn begin_unit(&mut self) {
                $(self.$field.begin_unit();)*
            }

            fn undo_unit(&mut self) {
                $(self.$field.undo_unit();)*
            }

            fn clear(&mut self) {
                $(self.$field.clear();)*
            }
        }

        $(
            impl Has<spaces::$space> for Tables {
                fn table(&mut self) -> &mut Table<spaces::$space> {
                    &mut self.$field
                }
            }
        )*

        /// What a store must offer: its rows, and one question that an index answers.
        pub(crate) trait Backend: $(Load<spaces::$space> +)* {
            /// Whether a job with this id may be there. `false` must be certain; it saves a look.
            fn may_have(&self, job: JobId) -> bool;

            /// The first waiting job of a lane, after every changed row was written.
            fn first_waiting(&mut self, tables: &mut Tables, lane: LaneId) -> Result<Option<JobId>, StoreError>;

            /// Whether a session runs a job, after every changed row was written.
            fn runs_any(&mut self, tables: &mut Tables, session: SessionId) -> Result<bool, StoreError>;

            /// How many steps a job has, after every changed row was written.
            fn count_steps(&mut self, tables: &mut Tables, job: JobId) -> Result<usize, StoreError>;

            /// Removes all but the latest errors of a job, after every changed row was written.
            fn drop_old_errors(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError>;

            /// Removes what belongs to an ended job beside its header, after every changed row was written.
            fn forget(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError>;

            /// Removes the blocks of events before this one, but never the last: cursors are counted on from it.
            fn trim(&mut self, block: u64) -> Result<usize, StoreError>;

            /// Removes unique keys and secrets that have ended by a time, after every changed row was written.
            fn expire(&mut self, tables: &mut Tables, by: Time) -> Result<usize, StoreError>;
        }
    };
}

/// Picks the table of a family.
pub(crate) trait Has<S: Space> {
    fn table(&mut self) -> &mut Table<S>;
}

spaces! {
    /// Headers.
    jobs Jobs: JobId => Header;
    /// Payloads.
    payloads Payloads: JobId => Blob;
    /// Results.
    results Results: JobId => Blob;
    /// What lines have in common.
    lines Lines: LineId => Arc<LineKey>;
    /// Lanes.
    lanes Lanes: LaneId => Lane;
    /// Batches.
    batches Batches: BatchId => Batch;
    /// Kinds.
    kinds Kinds: Name => Arc<Kind>;
    /// Weight, quota and backlog by owner.
    accounts Accounts: Name => Account;
    /// Counts by owner and kind.
    tallies Tallies: (Name, Name) => Tally;
    /// Unique keys by kind and key.
    uniques Uniques: (Name, Name) => Taken;
    /// Keys that end with their job.
    unique_of UniqueOf: JobId => (Name, Name);
    /// Finished steps.
    steps Steps: (JobId, Name) => Blob;
    /// Failed attempts by fence.
    errors Errors: (JobId, u32) => AttemptError;
    /// Progress.
    progress ProgressOf: JobId => Progress;
    /// How many run.
    gauges Gauges: LimitKey => u32;
    /// Token buckets.
    buckets Buckets: LimitKey => Bucket;
    /// Sessions.
    sessions Sessions: SessionId => Session;
    /// The term that a claim of a kind bound to a lease was made under, while it runs.
    terms Terms: JobId => u64;
    /// Leases.
    leases Leases: Name => Lease;
    /// What is paused.
    pauses PausesRow: () => Pauses;
    /// Schedules.
    schedules Schedules: Name => Schedule;
    /// Tokens for access.
    tokens Tokens: Name => Token;
    /// How many there are.
    token_count TokenCount: () => usize;
    /// Secrets.
    secrets Secrets: Name => Secret;
    /// Durable queues.
    queues Queues: Name => QueueState;
    /// Their messages.
    messages Messages: (Name, u64) => Blob;
    /// The node numbers that are given out.
    numbers Numbers: () => NodeNumbers;
}

/// Rows, the backend they come from, and what the commit will tell the world.
pub(crate) struct Working<B> {
    pub(crate) backend: B,
    pub(crate) tables: Tables,
    /// What happened.
    pub(crate) events: Vec<Event>,
    /// Lines that may have ready work now.
    pub(crate) ready: Vec<LineId>,
    unit_events: usize,
    unit_ready: usize,
}

impl<B: Backend> Working<B> {
    pub(crate) fn new(backend: B) -> Self {
        Working {
            backend,
            tables: Tables::default(),
            events: Vec::new(),
            ready: Vec::new(),
            unit_events: 0,
            unit_ready: 0,
        }
    }

    pub(super) fn begin_unit(&mut self) {
        self.tables.begin_unit();
        self.unit_events = self.events.len();
        self.unit_ready = self.ready.len();
    }

    pub(super) fn undo_unit(&mut self) {
        self.tables.undo_unit();
        self.events.truncate(self.unit_events);
        self.ready.truncate(self.unit_ready);
    }

    /// A row.
    pub(super) fn get<S: Space>(&mut self, key: &S::Key) -> Result<Option<S::Value>, StoreError>
    where
        Tables: Has<S>,
        B: Load<S>,
    {
        Ok(Has::<S>::table(&mut self.tables).get(&mut self.backend, key)?.cloned())
    }

    /// Sets a row.
    pub(super) fn put<S: Space>(&mut self, key: S::Key, value: S::Value)
    where
        Tables: Has<S>,
    {
        Has::<S>::table(&mut self.tables).put(key, Some(value));
    }

    /// Removes a row.
    pub(super) fn remove<S: Space>(&mut self, key: &S::Key) -> Result<(), StoreError>
    where
        Tables: Has<S>,
        B: Load<S>,
    {
        let table = Has::<S>::table(&mut self.tables);
        if table.get(&mut self.backend, key)?.is_some() {
            table.put(key.clone(), None);
        }
        Ok(())
    }

    pub(super) fn job(&mut self, id: JobId) -> Result<Header, Trouble> {
        Ok(self.get::<spaces::Jobs>(&id)?.ok_or(Refusal::UnknownJob(id))?)
    }

    /// A job with this id, if there is one. The backend is not asked about an id that is certainly new.
    pub(super) fn known_job(&mut self, id: JobId) -> Result<Option<Header>, StoreError> {
        match self.tables.jobs.knows(&id) || self.backend.may_have(id) {
            true => self.get::<spaces::Jobs>(&id),
            false => Ok(None),
        }
    }

    /// Removes all but the latest errors of a job.
    pub(super) fn drop_old_errors(&mut self, job: JobId) -> Result<(), StoreError> {
        self.backend.drop_old_errors(&mut self.tables, job)?;
        self.tables.errors.drop_rows(|(known, _)| *known == job);
        Ok(())
    }

    /// Removes a job and all that belongs to it.
    pub(super) fn forget(&mut self, header: &Header) -> Result<(), StoreError> {
        let id = header.id;
        self.remove::<spaces::Jobs>(&id)?;
        self.backend.forget(&mut self.tables, id)?;
        let tables = &mut self.tables;
        tables.payloads.drop_row(&id);
        tables.results.drop_row(&id);
        tables.progress.drop_row(&id);
        if header.flags.steps {
            tables.steps.drop_rows(|(job, _)| *job == id);
        }
        if header.flags.errors {
            tables.errors.drop_rows(|(job, _)| *job == id);
        }
        Ok(())
    }

    pub(super) fn line(&mut self, id: LineId) -> Result<Arc<LineKey>, Trouble> {
        let line = self.get::<spaces::Lines>(&id)?;
        Ok(line.ok_or_else(|| StoreError::Broken(format!("line {id} is missing")))?)
    }

    pub(super) fn kind(&mut self, name: &Name) -> Result<Arc<Kind>, Trouble> {
        Ok(self.get::<spaces::Kinds>(name)?.ok_or_else(|| Refusal::UnknownKind(name.clone()))?)
    }

    /// After a commit: keeps what the next one will probably need, and no more than a bounded number of it.
    pub(crate) fn tidy(&mut self) {
        let t = &mut self.tables;
        t.jobs.tidy(KEPT, |header| header.state == State::Running);
        t.payloads.tidy(0, |_| false);
        t.results.tidy(0, |_| false);
        t.lines.tidy(KEPT, |_| true);
        t.lanes.tidy(KEPT, |_| true);
        t.batches.tidy(KEPT, |_| true);
        t.kinds.tidy(KEPT, |_| true);
        t.accounts.tidy(KEPT, |_| true);
        t.tallies.tidy(KEPT, |_| true);
        t.uniques.tidy(0, |_| false);
        t.unique_of.tidy(0, |_| false);
        t.steps.tidy(0, |_| false);
        t.errors.tidy(0, |_| false);
        t.progress.tidy(0, |_| false);
        t.gauges.tidy(KEPT, |_| true);
        t.buckets.tidy(KEPT, |_| true);
        t.sessions.tidy(KEPT, |_| true);
        t.terms.tidy(0, |_| false);
        t.leases.tidy(KEPT, |_| true);
        t.pauses.tidy(KEPT, |_| true);
        t.schedules.tidy(0, |_| false);
        t.tokens.tidy(0, |_| false);
        t.token_count.tidy(0, |_| false);
        t.secrets.tidy(0, |_| false);
        t.queues.tidy(KEPT, |_| true);
        t.messages.tidy(0, |_| false);
        t.numbers.tidy(1, |_| true);
        self.events.clear();
        self.ready.clear();
    }

    /// A commit failed: nothing in here is to be trusted any more.
    pub(crate) fn discard(&mut self) {
        self.tables.clear();
        self.events.clear();
        self.ready.clear();
    }
}
