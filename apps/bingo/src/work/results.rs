//! What a batch came to: as it is stored, and as it is shown.

use serde::{Deserialize, Serialize};

use super::limits::FAILURE_CHARS;
use crate::aggregate::Bare;
use crate::{Plan, Summary};

/// What a batch came to.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// How it ended.
    pub verdict: Verdict,
    /// What is to be said about it, if all did not go well.
    pub message: Option<String>,
    /// Runs that were ordered.
    pub runs: u64,
    /// Runs that are in the aggregates.
    pub simulated: u64,
    /// Runs that failed for good.
    pub failed_runs: u64,
    /// The first of them.
    pub failures: Vec<Failure>,
    /// Processor time that all workers together spent in the simulation, in microseconds.
    pub simulation_us: u64,
    /// The aggregates, for each team.
    pub summary: Summary,
}

/// The results as they are stored. A result of a job has a limit, so names are left out: they are in the order. What is
/// left has a size that the limits of an order bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) verdict: Verdict,
    pub(crate) message: Option<String>,
    pub(crate) runs: u64,
    pub(crate) simulated: u64,
    pub(crate) failed_runs: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) simulation_us: u64,
    #[serde(with = "packed")]
    pub(crate) figures: Bare,
}

impl Stored {
    /// The results, with the names of the order.
    pub(crate) fn named(self, plan: &Plan) -> Results {
        Results {
            verdict: self.verdict,
            message: self.message,
            runs: self.runs,
            simulated: self.simulated,
            failed_runs: self.failed_runs,
            failures: self.failures,
            simulation_us: self.simulation_us,
            summary: self.figures.named(plan),
        }
    }
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every run was simulated.
    Completed,
    /// Some runs failed. The aggregates are those of the others.
    Error,
    /// Somebody ended it early. The aggregates are those of the runs that were simulated.
    Cancelled,
}

/// A run that failed for good, with all that is needed to try it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The first run.
    pub run: u64,
    /// How many runs from there; 1 unless a whole range was lost.
    pub count: u64,
    /// The seed of the batch, from which the run's luck comes.
    pub seed: String,
    /// How often it was tried on its own.
    pub attempts: u16,
    /// What went wrong the last time.
    pub error: String,
}

/// The beginning of an error, which may be as long as its author liked. A control character would be six in JSON.
pub(crate) fn brief(error: &str) -> String {
    error.chars().map(|c| if c.is_control() { ' ' } else { c }).take(FAILURE_CHARS).collect()
}

/// Thousands of figures are a few bytes each as text, and would be a hundred as JSON.
mod packed {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::aggregate::Bare;

    pub(super) fn serialize<S: Serializer>(figures: &Bare, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = postcard::to_stdvec(figures).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bare, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        postcard::from_bytes(&bytes).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use turnwise::limits::RESULT_BYTES;

    use super::*;
    use crate::aggregate::TeamFigures;
    use crate::limits::{ROW_POINTS, TEAMS, TILES_PER_ROW};
    use crate::work::limits::{FAILURES_TOLD, SEED_BYTES, TIMES_KEPT};
    use crate::{Figures, Interval, TimeFigures, Wins};

    /// A team with the longest figures that there are.
    fn team(rows: usize) -> TeamFigures {
        let (most, interval) = (u32::MAX, Interval { low: 0.1, high: 0.9 });
        let (min, max, p5, p25, p50, p75, p95) = (most, most, most, most, most, most, most);
        let figures = Figures { mean: 0.1, sd: 0.1, min, max, p5, p25, p50, p75, p95, ci95: Some(interval) };
        let [min, max, p5, p25, p50, p75, p95] = [Some(most); 7];
        let times = TimeFigures { share: Some(0.1), mean: Some(0.1), min, max, p5, p25, p50, p75, p95 };
        TeamFigures {
            points: Some(figures.clone()),
            tiles: Some(figures.clone()),
            row_reached: Some(figures),
            wins: Some(Wins { rate: 0.1, ci95: interval, alone: u64::MAX, shared: u64::MAX }),
            histogram: vec![(most, u64::MAX); rows * ROW_POINTS as usize + 1],
            rows: vec![times.clone(); rows],
            tile_times: vec![times; rows * TILES_PER_ROW],
        }
    }

    #[test]
    fn whatever_an_order_may_come_to_fits_into_a_result() {
        for teams in 1..=TEAMS {
            let rows = TIMES_KEPT.div_ceil(teams * (1 + TILES_PER_ROW));
            let error = brief(&"🎲\u{1b}\"".repeat(2_000));
            let failure =
                Failure { run: u64::MAX, count: u64::MAX, seed: "\"".repeat(SEED_BYTES), attempts: 9, error };
            let stored = Stored {
                verdict: Verdict::Error,
                message: Some("x".repeat(8 * FAILURE_CHARS)),
                runs: u64::MAX,
                simulated: u64::MAX,
                failed_runs: u64::MAX,
                failures: vec![failure; FAILURES_TOLD],
                simulation_us: u64::MAX,
                figures: Bare { runs: u64::MAX, teams: vec![team(rows); teams] },
            };
            let bytes = serde_json::to_vec(&stored).unwrap();
            assert!(bytes.len() < RESULT_BYTES, "{teams} teams, {rows} rows: {} bytes", bytes.len());
            let again: Stored = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(again.figures, stored.figures);
        }
    }
}
