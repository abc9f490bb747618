//! The rows of a store in memory: one ordered map for each family, and the indexes over jobs.

use std::collections::BTreeMap;

use turnwise_core::event::Event;
use turnwise_core::ids::{JobId, LaneId, SessionId};
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::index::Indexes;
use crate::ledger::{Backend, Change, Load, Space, Tables, spaces};
use crate::store::StoreError;

type Map<S> = BTreeMap<<S as Space>::Key, <S as Space>::Value>;

macro_rules! rows {
    ($($field:ident $space:ident,)*) => {
        #[derive(Default)]
        pub(super) struct Rows {
            $(pub(super) $field: Map<spaces::$space>,)*
            pub(super) index: Indexes,
            pub(super) blocks: BTreeMap<u64, (Time, Vec<Event>)>,
            /// The steps of each job in the order they were finished.
            pub(super) step_order: BTreeMap<JobId, Vec<Name>>,
        }

        $(
            impl Load<spaces::$space> for Rows {
                fn load(
                    &mut self,
                    key: &<spaces::$space as Space>::Key,
                ) -> Result<Option<<spaces::$space as Space>::Value>, StoreError> {
                    Ok(self.$field.get(key).cloned())
                }
            }
        )*

        impl Rows {
            /// Writes every changed row.
            pub(super) fn flush(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
                self.flush_jobs(tables)?;
                self.flush_steps(tables)?;
                $(write(&mut tables.$field, &mut self.$field)?;)*
                Ok(())
            }
        }
    };
}

fn write<S: Space>(table: &mut crate::ledger::Table<S>, map: &mut Map<S>) -> Result<(), StoreError>
where
    S::Key: Ord,
{
    table.flush(|change| {
        match change {
            Change::Insert(key, value) | Change::Update(key, value) => map.insert(key.clone(), value.clone()),
            Change::Delete(key) => map.remove(key),
        };
        Ok(())
    })
}

rows! {
    jobs Jobs,
    payloads Payloads,
    results Results,
    lines Lines,
    lanes Lanes,
    batches Batches,
    kinds Kinds,
    accounts Accounts,
    tallies Tallies,
    uniques Uniques,
    unique_of UniqueOf,
    steps Steps,
    errors Errors,
    progress ProgressOf,
    gauges Gauges,
    buckets Buckets,
    sessions Sessions,
    leases Leases,
    pauses PausesRow,
    schedules Schedules,
    tokens Tokens,
    token_count TokenCount,
    secrets Secrets,
    queues Queues,
    messages Messages,
    terms Terms,
    numbers Numbers,
}

impl Rows {
    fn flush_jobs(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let (jobs, index) = (&mut self.jobs, &mut self.index);
        tables.jobs.flush(|change| {
            match change {
                Change::Insert(id, header) | Change::Update(id, header) => {
                    let before = jobs.insert(*id, *header);
                    index.moved(before.as_ref(), Some(header));
                }
                Change::Delete(id) => {
                    let before = jobs.remove(id);
                    index.moved(before.as_ref(), None);
                }
            }
            Ok(())
        })
    }
}

impl Rows {
    fn flush_steps(&mut self, tables: &mut Tables) -> Result<(), StoreError> {
        let (steps, order) = (&mut self.steps, &mut self.step_order);
        tables.steps.flush(|change| {
            match change {
                Change::Insert(key, output) | Change::Update(key, output) => {
                    if steps.insert(key.clone(), output.clone()).is_none() {
                        order.entry(key.0).or_default().push(key.1.clone());
                    }
                }
                Change::Delete(key) => {
                    steps.remove(key);
                    order.entry(key.0).or_default().retain(|name| *name != key.1);
                }
            }
            Ok(())
        })
    }
}

impl Backend for Rows {
    fn may_have(&self, _job: JobId) -> bool {
        true
    }

    fn first_waiting(&mut self, tables: &mut Tables, lane: LaneId) -> Result<Option<JobId>, StoreError> {
        self.flush_jobs(tables)?;
        Ok(self.index.first_waiting(lane))
    }

    fn runs_any(&mut self, tables: &mut Tables, session: SessionId) -> Result<bool, StoreError> {
        self.flush_jobs(tables)?;
        Ok(self.index.running_of(session).next().is_some())
    }

    fn count_steps(&mut self, tables: &mut Tables, job: JobId) -> Result<usize, StoreError> {
        self.flush_steps(tables)?;
        Ok(self.step_order.get(&job).map_or(0, Vec::len))
    }

    fn drop_old_errors(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        write(&mut tables.errors, &mut self.errors)?;
        let all: Vec<(JobId, u32)> =
            self.errors.range((job, 0)..=(job, u32::MAX)).map(|(key, _)| *key).collect();
        for old in &all[..all.len().saturating_sub(limits::ERRORS_KEPT)] {
            self.errors.remove(old);
        }
        Ok(())
    }

    fn forget(&mut self, tables: &mut Tables, job: JobId) -> Result<(), StoreError> {
        self.flush(tables)?;
        self.payloads.remove(&job);
        self.results.remove(&job);
        self.progress.remove(&job);
        for name in self.step_order.remove(&job).unwrap_or_default() {
            self.steps.remove(&(job, name));
        }
        while let Some((key, _)) = self.errors.range((job, 0)..=(job, u32::MAX)).next() {
            let key = *key;
            self.errors.remove(&key);
        }
        Ok(())
    }

    fn trim(&mut self, block: u64) -> Result<usize, StoreError> {
        let before = self.blocks.len();
        let last = self.blocks.keys().next_back().copied().unwrap_or(0);
        self.blocks = self.blocks.split_off(&block.min(last));
        Ok(before - self.blocks.len())
    }

    fn expire(&mut self, tables: &mut Tables, by: Time) -> Result<usize, StoreError> {
        self.flush(tables)?;
        let before = self.uniques.len() + self.secrets.len();
        self.uniques.retain(|_, taken| taken.until > by);
        self.secrets.retain(|_, secret| secret.until > by);
        Ok(before - self.uniques.len() - self.secrets.len())
    }
}
