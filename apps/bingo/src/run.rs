//! What comes out of one run.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One run: what each team made of it. It can be used again for the next run, so that runs allocate nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which run it is, from 0.
    pub index: u64,
    /// The teams, in the order of the file.
    pub teams: Vec<TeamRun>,
}

/// One team's part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamRun {
    /// Points of its complete tiles.
    pub points: u32,
    /// How many tiles are complete.
    pub tiles: u32,
    /// The last row that was unlocked, from 0.
    pub row_reached: u32,
    /// How many teams have the most points, if this is one of them; otherwise 0. Its share of the win is 1 / `tied`.
    pub tied: u32,
    /// For each row the second in which it was unlocked.
    pub row_unlocks: Vec<Option<u32>>,
    /// For each tile, row by row, the second in which it was complete.
    pub tile_times: Vec<Option<u32>>,
}

impl TeamRun {
    /// The share of the win as a fraction: 1/1 alone, 1/n with others, 0/1 without.
    pub fn win_share(&self) -> (u32, u32) {
        if self.tied == 0 { (0, 1) } else { (1, self.tied) }
    }
}

/// Why a run could not be finished. It never happens to a checked scenario; it is a guard against mistakes in the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunFault {
    /// The next event is not later than the last.
    #[error(
        "run {run}: time stands still for team `{team}` at second {second}; please report it with the scenario"
    )]
    TimeStandsStill {
        /// Which run.
        run: u64,
        /// The key of the team.
        team: String,
        /// The second of the event.
        second: u64,
    },
    /// More events than any checked scenario can have.
    #[error("run {run}: team `{team}` needs more than {most} events; please report it with the scenario")]
    TooManyEvents {
        /// Which run.
        run: u64,
        /// The key of the team.
        team: String,
        /// The limit.
        most: u64,
    },
}

/// Shares the win among the teams with the most points.
pub(crate) fn share_win(teams: &mut [TeamRun]) {
    let most = teams.iter().map(|team| team.points).max().unwrap_or(0);
    let tied = teams.iter().filter(|team| team.points == most).count() as u32;
    for team in teams {
        team.tied = if team.points == most { tied } else { 0 };
    }
}
