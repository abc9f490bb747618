//! The questions that a database answers by index, answered by ordered sets.

use std::collections::{BTreeMap, BTreeSet};

use turnwise_core::ids::{JobId, LaneId, LineId, SessionId};
use turnwise_core::job::{Header, State};
use turnwise_core::time::Time;

#[derive(Default)]
pub(super) struct Indexes {
    pub(super) ready: BTreeSet<(LineId, JobId)>,
    pub(super) due: BTreeSet<(Time, JobId)>,
    running: BTreeSet<(SessionId, JobId)>,
    waiting: BTreeMap<(LaneId, u64), JobId>,
}

impl Indexes {
    /// A header changed.
    pub(super) fn moved(&mut self, before: Option<&Header>, after: Option<&Header>) {
        if let Some(header) = before {
            self.set(header, false);
        }
        if let Some(header) = after {
            self.set(header, true);
        }
    }

    fn set(&mut self, header: &Header, there: bool) {
        let id = header.id;
        match header.state {
            State::Ready => toggle(&mut self.ready, (header.line, id), there),
            State::Scheduled | State::Retrying => toggle(&mut self.due, (header.at, id), there),
            State::Running => {
                if let Some(session) = header.session {
                    toggle(&mut self.running, (session, id), there);
                }
            }
            State::Waiting => {
                if let Some(place) = header.place.filter(|place| place.position > 0) {
                    let key = (place.lane, place.position);
                    if there {
                        self.waiting.insert(key, id)
                    } else {
                        self.waiting.remove(&key)
                    };
                }
            }
            State::Done | State::Dead | State::Cancelled => {}
        }
    }

    pub(super) fn running_of(&self, session: SessionId) -> impl Iterator<Item = JobId> {
        let range = (session, JobId::from_u64(0))..=(session, JobId::from_u64(u64::MAX));
        self.running.range(range).map(|(_, id)| *id)
    }

    /// The jobs that wait in a lane below a position, the last one first.
    pub(super) fn waiting_before(&self, lane: LaneId, before: u64) -> impl Iterator<Item = JobId> {
        self.waiting.range((lane, 0)..(lane, before)).rev().map(|(_, id)| *id)
    }

    pub(super) fn first_waiting(&self, lane: LaneId) -> Option<JobId> {
        self.waiting.range((lane, 0)..=(lane, u64::MAX)).next().map(|(_, id)| *id)
    }
}

fn toggle<T: Ord>(set: &mut BTreeSet<T>, item: T, there: bool) {
    if there {
        set.insert(item)
    } else {
        set.remove(&item)
    };
}
