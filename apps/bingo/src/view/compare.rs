//! Two batches side by side: which differences are more than luck?

use serde::Serialize;
use utoipa::ToSchema;

use crate::work::Results;
use crate::{Figures, TeamSummary};

/// How two batches compare, team by team.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Comparison {
    /// Teams that are in both, by their keys.
    pub teams: Vec<TeamComparison>,
    /// Keys of teams that are only in the first.
    pub only_first: Vec<String>,
    /// Keys of teams that are only in the second.
    pub only_second: Vec<String>,
}

/// One team in both.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TeamComparison {
    /// Its key.
    pub key: String,
    /// Its name in the first.
    pub name: String,
    /// Its strategy in the first.
    pub first_strategy: String,
    /// Its strategy in the second.
    pub second_strategy: String,
    /// Points.
    pub points: Measure,
    /// Complete tiles.
    pub tiles: Measure,
    /// The last row that was unlocked.
    pub row_reached: Measure,
    /// Share of the runs that it won.
    pub win_rate: Measure,
}

/// One number in both, and the difference with its bounds. In 95 of 100 comparisons the bounds hold every difference of the
/// comparison: with bounds for each of them alone, one of twenty equal ones would be called different.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Measure {
    /// In the first; nothing if it has no run.
    pub first: Option<f64>,
    /// In the second; nothing if it has no run.
    pub second: Option<f64>,
    /// The second less the first.
    pub difference: Option<f64>,
    /// Lower bound of the difference; nothing with too few runs to tell.
    pub low: Option<f64>,
    /// Upper bound of the difference; nothing with too few runs to tell.
    pub high: Option<f64>,
    /// Whether it is more than luck: zero is not within the bounds. Nothing with too few runs to tell.
    pub clear: Option<bool>,
}

/// A mean and the variance of what it was taken from.
#[derive(Clone, Copy)]
struct Mean {
    mean: f64,
    variance: f64,
    runs: f64,
}

/// Numbers of a team that are compared.
const MEASURES: usize = 4;

/// Runs that either batch has at least, for bounds to be told: with fewer, neither is their spread known nor their mean
/// about normal.
const ENOUGH: f64 = 30.0;

/// How many standard deviations to either side hold all of so many differences in 95 of 100 cases: each is allowed its part
/// of the five (Bonferroni). The quantile of the normal distribution is that of Hastings, which is off by less than 0.00045.
fn width(differences: usize) -> f64 {
    let beyond = 0.05 / 2.0 / differences.max(1) as f64;
    let t = (-2.0 * beyond.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

impl Measure {
    fn of(first: Option<Mean>, second: Option<Mean>, width: f64) -> Measure {
        let bounds = first.zip(second).filter(|(first, second)| first.runs.min(second.runs) >= ENOUGH);
        let bounds = bounds.map(|(first, second)| {
            let difference = second.mean - first.mean;
            let margin = width * (first.variance / first.runs + second.variance / second.runs).sqrt();
            (difference - margin, difference + margin)
        });
        Measure {
            first: first.map(|first| first.mean),
            second: second.map(|second| second.mean),
            difference: first.zip(second).map(|(first, second)| second.mean - first.mean),
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
            clear: bounds.map(|(low, high)| low > 0.0 || high < 0.0),
        }
    }
}

/// Compares two batches. Each result is taken as a sample of its own, also if both have the same seed: bounds are then
/// wider than they need to be, never too narrow.
pub fn compare(first: &Results, second: &Results) -> Comparison {
    let (ours, theirs) = (&first.summary.teams, &second.summary.teams);
    let runs = (first.summary.runs as f64, second.summary.runs as f64);
    let both = ours.iter().filter(|one| theirs.iter().any(|other| other.key == one.key)).count();
    let width = width(MEASURES * both);
    let teams = ours.iter().filter_map(|one| {
        let other = theirs.iter().find(|other| other.key == one.key)?;
        let measure = |figures: fn(&TeamSummary) -> &Option<Figures>| {
            let mean = |team: &TeamSummary, runs: f64| {
                let figures = figures(team).as_ref()?;
                Some(Mean { mean: figures.mean, variance: figures.sd * figures.sd, runs })
            };
            Measure::of(mean(one, runs.0), mean(other, runs.1), width)
        };
        // A share of a win lies between 0 and 1, so this is the most that its variance can be.
        let wins = |team: &TeamSummary, runs: f64| {
            let rate = team.wins.as_ref()?.rate;
            Some(Mean { mean: rate, variance: rate * (1.0 - rate), runs })
        };
        Some(TeamComparison {
            key: one.key.clone(),
            name: one.name.clone(),
            first_strategy: one.strategy.clone(),
            second_strategy: other.strategy.clone(),
            points: measure(|team| &team.points),
            tiles: measure(|team| &team.tiles),
            row_reached: measure(|team| &team.row_reached),
            win_rate: Measure::of(wins(one, runs.0), wins(other, runs.1), width),
        })
    });
    let missing = |from: &[TeamSummary], to: &[TeamSummary]| {
        let gone = from.iter().filter(|team| to.iter().all(|other| other.key != team.key));
        gone.map(|team| team.key.clone()).collect()
    };
    Comparison {
        teams: teams.collect(),
        only_first: missing(ours, theirs),
        only_second: missing(theirs, ours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_clear_when_luck_does_not_explain_it() {
        let mean = |mean, runs| Some(Mean { mean, variance: 4.0, runs });
        let near = Measure::of(mean(10.0, 100.0), mean(10.2, 100.0), width(1));
        assert!(near.clear == Some(false) && near.low < Some(0.0) && near.high > Some(0.0), "{near:?}");
        let same = Measure::of(mean(10.0, 10_000.0), mean(10.2, 10_000.0), width(1));
        assert!(same.clear == Some(true) && same.low > Some(0.0), "{same:?}");
        let margin = 1.96 * (8.0_f64 / 100.0).sqrt();
        assert!((near.high.unwrap() - 0.2 - margin).abs() < 2e-4, "{near:?}");
    }

    #[test]
    fn a_few_runs_have_no_bounds_and_none_no_difference() {
        let mean = |mean, runs| Some(Mean { mean, variance: 0.0, runs });
        for (first, second) in [(1.0, 1.0), (2.0, 1e6), (1e6, 29.0)] {
            let few = Measure::of(mean(1.0, first), mean(2.0, second), width(1));
            assert_eq!((few.difference, few.low, few.high, few.clear), (Some(1.0), None, None, None));
        }
        assert_eq!(Measure::of(mean(1.0, 30.0), mean(2.0, 30.0), width(1)).clear, Some(true));
        let none = Measure::of(None, mean(2.0, 1e6), width(1));
        assert_eq!((none.first, none.second, none.difference, none.clear), (None, Some(2.0), None, None));
    }

    #[test]
    fn the_more_is_compared_the_wider_the_bounds() {
        // From tables of the normal distribution.
        for (differences, expected) in [(1, 1.959_964), (8, 2.734_369), (40, 3.227_218), (400, 3.836_2)] {
            assert!((width(differences) - expected).abs() < 5e-4, "{differences}: {}", width(differences));
        }
        let mean = |mean| Some(Mean { mean, variance: 15.0, runs: 30.0 });
        assert_eq!(Measure::of(mean(0.0), mean(2.5), width(1)).clear, Some(true));
        let one_of_many = Measure::of(mean(0.0), mean(2.5), width(8));
        assert_eq!(one_of_many.clear, Some(false), "one of many may be so far off by luck");
    }
}
