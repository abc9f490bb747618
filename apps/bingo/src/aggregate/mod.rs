//! Many runs, added up. Everything is whole numbers, so neither the order of runs nor the way in which they were split
//! into parts can change a digit; and its size does not grow with the number of runs.

mod counts;
mod summary;
mod times;

use serde::{Deserialize, Serialize};

pub(crate) use summary::{Bare, TeamFigures};
pub use summary::{Figures, Interval, Summary, TeamSummary, TileSummary, TimeFigures, Wins};

use crate::plan::Plan;
use crate::run::{Run, TeamRun};
use counts::{Counts, WITHIN_95};
use times::Times;

/// The sum of runs of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregate {
    runs: u64,
    teams: Vec<TeamAggregate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TeamAggregate {
    points: Counts,
    tiles: Counts,
    row_reached: Counts,
    /// Wins alone, with one other, with two others, …
    wins: Counts,
    rows: Vec<Times>,
    tile_times: Vec<Times>,
}

impl Aggregate {
    /// No runs of this plan yet.
    pub fn new(plan: &Plan) -> Aggregate {
        let team = TeamAggregate {
            points: Counts::up_to(plan.most_points() as usize),
            tiles: Counts::up_to(plan.tiles().len()),
            row_reached: Counts::up_to(plan.rows()),
            wins: Counts::up_to(plan.teams().len()),
            rows: vec![Times::default(); plan.rows()],
            tile_times: vec![Times::default(); plan.tiles().len()],
        };
        Aggregate { runs: 0, teams: vec![team; plan.teams().len()] }
    }

    /// How many runs it holds.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds one run of the plan.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        for (team, run) in self.teams.iter_mut().zip(&run.teams) {
            team.add(run);
        }
    }

    /// Adds all runs of another aggregate of the same plan.
    pub fn merge(&mut self, other: &Aggregate) {
        self.runs += other.runs;
        for (team, other) in self.teams.iter_mut().zip(&other.teams) {
            team.merge(other);
        }
    }

    /// The figures, with the names of the plan.
    pub fn summary(&self, plan: &Plan) -> Summary {
        self.bare().named(plan)
    }

    /// The figures alone.
    pub(crate) fn bare(&self) -> Bare {
        let times = |all: &[Times]| all.iter().map(|times| times.figures(self.runs)).collect();
        let teams = self.teams.iter().map(|team| TeamFigures {
            points: team.points.figures(),
            tiles: team.tiles.figures(),
            row_reached: team.row_reached.figures(),
            wins: wins(&team.wins, self.runs),
            histogram: team.points.histogram(),
            rows: times(&team.rows),
            tile_times: times(&team.tile_times),
        });
        Bare { runs: self.runs, teams: teams.collect() }
    }
}

impl TeamAggregate {
    fn add(&mut self, run: &TeamRun) {
        self.points.add(run.points);
        self.tiles.add(run.tiles);
        self.row_reached.add(run.row_reached);
        self.wins.add(run.tied);
        for (times, second) in self.rows.iter_mut().zip(&run.row_unlocks) {
            second.iter().for_each(|second| times.add(*second));
        }
        for (times, second) in self.tile_times.iter_mut().zip(&run.tile_times) {
            second.iter().for_each(|second| times.add(*second));
        }
    }

    fn merge(&mut self, other: &TeamAggregate) {
        self.points.merge(&other.points);
        self.tiles.merge(&other.tiles);
        self.row_reached.merge(&other.row_reached);
        self.wins.merge(&other.wins);
        for (times, other) in self.rows.iter_mut().zip(&other.rows) {
            times.merge(other);
        }
        for (times, other) in self.tile_times.iter_mut().zip(&other.tile_times) {
            times.merge(other);
        }
    }
}

/// Shares of wins over all runs, with the interval of Wilson, which behaves near 0 and 1. Nothing without a run.
fn wins(counts: &Counts, runs: u64) -> Option<Wins> {
    if runs == 0 {
        return None;
    }
    let counts = counts.histogram();
    let won = || counts.iter().filter(|(tied, _)| *tied > 0);
    // From 0, because the sum of nothing is -0.
    let shares: f64 = won().fold(0.0, |sum, (tied, count)| sum + *count as f64 / f64::from(*tied));
    let alone: u64 = won().filter(|(tied, _)| *tied == 1).map(|(_, count)| count).sum();
    let shared: u64 = won().filter(|(tied, _)| *tied > 1).map(|(_, count)| count).sum();
    let n = runs as f64;
    let rate = shares / n;
    let z = WITHIN_95 * WITHIN_95;
    let centre = (rate + z / (2.0 * n)) / (1.0 + z / n);
    let margin = (rate * (1.0 - rate) / n + z / (4.0 * n * n)).sqrt() * WITHIN_95 / (1.0 + z / n);
    // At 0 and 1 the interval ends exactly there; rounding must not say otherwise.
    let ci95 =
        Interval { low: (centre - margin).max(0.0).min(rate), high: (centre + margin).min(1.0).max(rate) };
    Some(Wins { rate, ci95, alone, shared })
}
