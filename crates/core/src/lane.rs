//! A lane is an ordered key: its jobs run one at a time in submit order.
//!
//! Positions are taken in the commit that accepts the job, under the lane's row. Only the head is ever
//! `ready`; everything behind it is `waiting` and costs the planner nothing. A head that waits for its retry
//! is still the head, so nothing can overtake it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{JobId, LaneId};
use crate::job::{Place, State};
use crate::line::first_eight;
use crate::name::Name;

/// What a lane does after a job's last attempt failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum OnDead {
    /// The dead letter is kept, and the lane goes on.
    #[default]
    Continue = 0,
    /// The lane stands still until a person resumes it.
    Halt = 1,
}

/// A lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Its id.
    pub id: LaneId,
    /// Its name.
    pub name: Name,
    /// The position that the next job takes.
    pub next: u64,
    /// The one job that is not `waiting`, if there is one.
    pub head: Option<JobId>,
    /// How many wait behind it.
    pub waiting: u64,
    /// What happens after a dead letter.
    pub on_dead: OnDead,
    /// It stands still because a job died.
    pub halted: bool,
    /// It stands still because somebody said so.
    pub paused: bool,
}

impl Lane {
    /// The id of the lane with this name.
    pub fn id_of(name: &Name) -> LaneId {
        LaneId::from_u64(first_eight(&Sha256::digest(name.as_bytes())))
    }

    /// A new lane with nothing in it.
    pub fn new(name: Name, on_dead: OnDead) -> Self {
        Lane {
            id: Lane::id_of(&name),
            name,
            next: 1,
            head: None,
            waiting: 0,
            on_dead,
            halted: false,
            paused: false,
        }
    }

    /// Whether its next job may become the head.
    pub fn is_free(&self) -> bool {
        self.head.is_none() && !self.stands()
    }

    /// Whether it stands still.
    pub fn stands(&self) -> bool {
        self.halted || self.paused
    }

    /// A job joins at the tail: it becomes the head at once (`true`), or waits.
    pub fn join(&mut self, job: JobId) -> (Place, bool) {
        let place = Place { lane: self.id, position: self.next };
        self.next += 1;
        let heads = self.is_free() && self.waiting == 0;
        if heads {
            self.head = Some(job);
        } else {
            self.waiting += 1;
        }
        (place, heads)
    }

    /// A waiting job becomes the head.
    pub fn promote(&mut self, job: JobId) {
        self.head = Some(job);
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// One of its jobs ended. Whether the lane's next job should be looked for.
    pub fn leave(&mut self, job: JobId, end: State) -> bool {
        if self.head != Some(job) {
            self.waiting = self.waiting.saturating_sub(1);
            return false;
        }
        self.head = None;
        if end == State::Dead && self.on_dead == OnDead::Halt {
            self.halted = true;
        }
        self.is_free() && self.waiting > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_head_at_a_time_in_order() {
        let mut lane = Lane::new(Name::new("room").unwrap(), OnDead::Continue);
        let [a, b] = [1, 2].map(JobId::from_u64);
        assert_eq!(lane.join(a), (Place { lane: lane.id, position: 1 }, true));
        assert_eq!(lane.join(b), (Place { lane: lane.id, position: 2 }, false));
        assert!(lane.leave(a, State::Dead));
        lane.promote(b);
        assert!(!lane.leave(b, State::Done));
        assert_eq!((lane.head, lane.waiting), (None, 0));
    }

    #[test]
    fn a_strict_lane_halts() {
        let mut lane = Lane::new(Name::new("room").unwrap(), OnDead::Halt);
        let [a, b] = [1, 2].map(JobId::from_u64);
        lane.join(a);
        lane.join(b);
        assert!(!lane.leave(a, State::Dead));
        assert!(lane.halted && !lane.is_free());
        assert!(!lane.join(JobId::from_u64(3)).1);
    }
}
