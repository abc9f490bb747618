//! The rows of a store in memory: one ordered map for each family, and the indexes over jobs.

use std::collections::BTreeMap;

use turnwise_core::event::Event;
use turnwise_core::ids::{JobId, LaneId};
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
            /// The last block that was trimmed.
            pub(super) trimmed: u64,
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
    secrets Secrets,
    queues Queues,
    messages Messages,
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

impl Backend for Rows {
    fn may_have(&self, _job: JobId) -> bool {
        true
    }

    fn first_waiting(&mut self, tables: &mut Tables, lane: LaneId) -> Result<Option<JobId>, StoreError> {
        self.flush_jobs(tables)?;
        Ok(self.index.first_waiting(lane))
    }

    fn forget(&mut self, job: JobId) -> Result<(), StoreError> {
        self.payloads.remove(&job);
        self.results.remove(&job);
        self.progress.remove(&job);
        self.steps.retain(|(id, _), _| *id != job);
        self.errors.retain(|(id, _), _| *id != job);
        Ok(())
    }

    fn trim(&mut self, block: Option<u64>, ended: Time) -> Result<usize, StoreError> {
        let before = self.blocks.len() + self.uniques.len() + self.secrets.len();
        if let Some(block) = block {
            self.blocks.retain(|known, _| *known > block);
            self.trimmed = self.trimmed.max(block);
        }
        self.uniques.retain(|_, taken| taken.until > ended);
        self.secrets.retain(|_, secret| secret.until > ended);
        Ok(before - self.blocks.len() - self.uniques.len() - self.secrets.len())
    }
}
