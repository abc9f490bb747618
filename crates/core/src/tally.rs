//! Counts by owner and kind, changed in the commit that changes a job: what people are shown is never counted
//! up from the jobs themselves.

use serde::{Deserialize, Serialize};

use crate::job::State;
use crate::limits;

/// How many jobs are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally(pub [u64; 8]);

impl Tally {
    /// A job moved.
    pub fn shift(&mut self, from: Option<State>, to: Option<State>) {
        if let Some(from) = from {
            let count = &mut self.0[from as usize];
            *count = count.saturating_sub(1);
        }
        if let Some(to) = to {
            self.0[to as usize] += 1;
        }
    }

    /// Counts somebody else's jobs too.
    pub fn add(&mut self, other: &Tally) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Jobs in one state.
    pub fn of(&self, state: State) -> u64 {
        self.0[state as usize]
    }

    /// Jobs that have not ended.
    pub fn unfinished(&self) -> u64 {
        State::ALL.into_iter().filter(|state| !state.is_final()).map(|state| self.of(state)).sum()
    }
}

/// What is set for one owner, and its backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its share of the turns, relative to others.
    pub weight: u32,
    /// How many unfinished jobs it may have.
    pub quota: u64,
    /// How many it has.
    pub backlog: u64,
}

impl Default for Account {
    fn default() -> Self {
        Account { weight: 1, quota: limits::BACKLOG_PER_OWNER, backlog: 0 }
    }
}
