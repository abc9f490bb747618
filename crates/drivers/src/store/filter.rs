//! Which jobs to list, and the page that answers.

use std::ops::Range;
use std::time::Duration;

use turnwise_core::ids::{BatchId, JobId, LaneId, first_id_at};
use turnwise_core::job::{Header, State};
use turnwise_core::lane::Lane;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::read::JobRow;

/// Which jobs to list.
///
/// Times are those in the ids: when a job was submitted, by the clock of the node that submitted it, in whole
/// milliseconds. So they cost nothing to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only in this state.
    pub state: Option<State>,
    /// Only of this kind.
    pub kind: Option<Name>,
    /// Only of this owner.
    pub owner: Option<Name>,
    /// Only of this batch.
    pub batch: Option<BatchId>,
    /// Only of this lane.
    pub lane: Option<Name>,
    /// Only submitted at this time or later.
    pub since: Option<Time>,
    /// Only submitted before this time.
    pub until: Option<Time>,
    /// Only ids below this.
    pub before: Option<JobId>,
    /// At most so many.
    pub limit: usize,
}

/// A page of jobs. It may hold fewer than asked for although more follow: a page looks at a bounded number
/// of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobsPage {
    /// The jobs, newest first.
    pub rows: Vec<JobRow>,
    /// Where to go on, unless the end was reached.
    pub before: Option<JobId>,
}

/// A filter that was made ready to look at many jobs.
pub(crate) struct Sieve<'a> {
    filter: &'a Filter,
    lane: Option<LaneId>,
}

impl Filter {
    /// The ids to look among, as databases hold them.
    pub(crate) fn ids(&self) -> Range<i64> {
        // A millisecond that has begun counts.
        let next_ms = |until: Time| until + Duration::from_micros(999);
        let from = self.since.map_or(0, first_id_at);
        let until = self.until.map_or(u64::MAX, |until| first_id_at(next_ms(until)));
        let below = until.min(self.before.map_or(u64::MAX, JobId::as_u64)).min(i64::MAX as u64);
        from.cast_signed()..below.max(from).cast_signed()
    }

    /// Made ready for many jobs.
    pub(crate) fn sieve(&self) -> Sieve<'_> {
        Sieve { filter: self, lane: self.lane.as_ref().map(Lane::id_of) }
    }
}

impl Sieve<'_> {
    /// The lane that is asked for.
    #[cfg(feature = "fleet")]
    pub(crate) fn lane(&self) -> Option<LaneId> {
        self.lane
    }

    /// Whether a job is wanted, as far as its header tells.
    pub(crate) fn wants(&self, header: &Header) -> bool {
        self.filter.state.is_none_or(|state| header.state == state)
            && self.lane.is_none_or(|lane| header.place.is_some_and(|place| place.lane == lane))
    }

    /// Whether the jobs of a line are wanted.
    pub(crate) fn wants_line(&self, line: &LineKey) -> bool {
        let Filter { kind, owner, batch, .. } = self.filter;
        kind.as_ref().is_none_or(|kind| line.kind == *kind)
            && owner.as_ref().is_none_or(|owner| line.owner == *owner)
            && batch.is_none_or(|batch| line.batch == Some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_cursors_bound_the_ids() {
        let time = |micros: i64| Time::from_micros(1_800_000_000_000_000 + micros);
        let first = |micros| first_id_at(time(micros)).cast_signed();
        let ids = |since, until, before| Filter { since, until, before, ..Filter::default() }.ids();
        assert_eq!(ids(None, None, None), 0..i64::MAX);
        assert_eq!(ids(Some(time(0)), Some(time(1)), None), first(0)..first(1_000), "milliseconds are whole");
        assert_eq!(ids(Some(time(999)), Some(time(1_000)), None), first(0)..first(1_000));
        assert_eq!(ids(None, Some(Time::MAX), Some(JobId::from_u64(7))), 0..7);
        assert!(ids(Some(time(0)), None, Some(JobId::from_u64(7))).is_empty());
        assert!(ids(Some(Time::MAX), Some(Time::ZERO), None).is_empty());
    }
}
