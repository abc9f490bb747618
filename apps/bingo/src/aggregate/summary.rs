//! What an aggregate shows: here, and only here, whole numbers become decimal ones.

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, TileInfo};

/// The figures of many runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// How many runs it speaks of.
    pub runs: u64,
    /// The teams, in the order of the file.
    pub teams: Vec<TeamSummary>,
}

/// The same figures without a name in them: however long names are, it does not grow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bare {
    pub(crate) runs: u64,
    /// In the order of the file.
    pub(crate) teams: Vec<TeamFigures>,
}

/// The fields of [`TeamSummary`] that are no names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TeamFigures {
    pub(crate) points: Option<Figures>,
    pub(crate) tiles: Option<Figures>,
    pub(crate) row_reached: Option<Figures>,
    pub(crate) wins: Option<Wins>,
    pub(crate) histogram: Vec<(u32, u64)>,
    pub(crate) rows: Vec<TimeFigures>,
    pub(crate) tile_times: Vec<TimeFigures>,
}

impl Bare {
    /// With the names of the plan whose runs these are.
    pub(crate) fn named(self, plan: &Plan) -> Summary {
        let tile_times = |times: Vec<TimeFigures>| {
            let named = plan.tiles().iter().cloned().zip(times);
            named.map(|(tile, times)| TileSummary { tile, times }).collect()
        };
        let teams = self.teams.into_iter().zip(plan.teams()).map(|(team, info)| TeamSummary {
            key: info.key.clone(),
            name: info.name.clone(),
            strategy: info.strategy.clone(),
            points: team.points,
            tiles: team.tiles,
            row_reached: team.row_reached,
            wins: team.wins,
            histogram: team.histogram,
            rows: team.rows,
            tile_times: tile_times(team.tile_times),
        });
        Summary { scenario: plan.name().to_owned(), runs: self.runs, teams: teams.collect() }
    }
}

/// The figures of one team. Without a single run, there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeamSummary {
    /// The team's key.
    pub key: String,
    /// The team's name.
    pub name: String,
    /// The team's strategy.
    pub strategy: String,
    /// Points at the end.
    pub points: Option<Figures>,
    /// Complete tiles at the end.
    pub tiles: Option<Figures>,
    /// The last row that was unlocked, from 0.
    pub row_reached: Option<Figures>,
    /// How often it won.
    pub wins: Option<Wins>,
    /// How often it ended with how many points.
    pub histogram: Vec<(u32, u64)>,
    /// For each row how often it was unlocked, and when.
    pub rows: Vec<TimeFigures>,
    /// For each tile how often it was complete, and when.
    pub tile_times: Vec<TileSummary>,
}

/// A tile and its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileSummary {
    /// The tile.
    #[serde(flatten)]
    pub tile: TileInfo,
    /// How often it was complete, and when.
    #[serde(flatten)]
    pub times: TimeFigures,
}

/// Mean, spread and percentiles of a whole number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "percentiles are named by their rank")]
pub struct Figures {
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the sample.
    pub sd: f64,
    pub min: u32,
    pub max: u32,
    pub p5: u32,
    pub p25: u32,
    pub p50: u32,
    pub p75: u32,
    pub p95: u32,
    /// Where the true mean lies with 95 % confidence, which one run alone cannot tell.
    pub ci95: Option<Interval>,
}

/// From low to high.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "two words that explain themselves")]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// How often a team won. A win that n teams share counts as 1/n for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wins {
    /// The share of all wins.
    pub rate: f64,
    /// Where the true rate lies with 95 % confidence (Wilson).
    pub ci95: Interval,
    /// Runs that it won alone.
    pub alone: u64,
    /// Runs that it won together with others.
    pub shared: u64,
}

/// How often something happened, and in which second. Without a single time, there are no figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "percentiles are named by their rank")]
pub struct TimeFigures {
    /// The share of runs in which it happened at all; nothing without a run.
    pub share: Option<f64>,
    /// The mean second, over those runs.
    pub mean: Option<f64>,
    pub min: Option<u32>,
    pub max: Option<u32>,
    pub p5: Option<u32>,
    pub p25: Option<u32>,
    pub p50: Option<u32>,
    pub p75: Option<u32>,
    pub p95: Option<u32>,
}
