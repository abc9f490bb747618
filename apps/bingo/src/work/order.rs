//! Orders: what somebody wants simulated, checked before anything is queued.

use serde::{Deserialize, Serialize};
use turnwise::Name;

use super::limits::{ORDER_BYTES, RUNS, SEED_BYTES, TEAM_RUNS, TIMES_KEPT};
use crate::{Faults, Plan, Scenario, read};

/// A batch that somebody wants: a checked scenario, how many runs, and the seed of their luck.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// What people call it.
    pub name: String,
    /// How many runs.
    pub runs: u64,
    /// What the luck of every run is made from.
    pub seed: String,
    /// What is played.
    pub scenario: Scenario,
}

/// Why an order is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The scenario has faults.
    #[error("{0}")]
    Scenario(Faults),
    /// Something else about the order.
    #[error("{0}")]
    Order(String),
}

impl Order {
    /// Reads and checks an order. Its name is the scenario's unless it has one.
    pub fn new(name: Option<&str>, scenario: &str, runs: u64, seed: &str) -> Result<Order, Unfit> {
        let scenario = read(scenario).map_err(Unfit::Scenario)?;
        let name = name.unwrap_or(scenario.name()).to_owned();
        let order = Order { name, runs, seed: seed.to_owned(), scenario };
        order.check().map_err(Unfit::Order)?;
        Ok(order)
    }

    fn check(&self) -> Result<(), String> {
        Name::new(&self.name).map_err(|bad| format!("name: {bad}"))?;
        if self.seed.is_empty() || self.seed.len() > SEED_BYTES || self.seed.chars().any(char::is_control) {
            return Err(format!(
                "seed: it has 1 to {SEED_BYTES} bytes and no control characters, such as `spring-1`"
            ));
        }
        if !(1..=RUNS).contains(&self.runs) {
            return Err(bad_runs(&self.runs.to_string()));
        }
        let plan = Plan::new(&self.scenario);
        let teams = plan.teams().len();
        let most = TEAM_RUNS / teams.max(1) as u64;
        if self.runs > most {
            return Err(format!(
                "runs: {} runs of {teams} teams are more than one batch keeps: use at most {most}, in several batches",
                self.runs
            ));
        }
        let times = teams * (plan.rows() + plan.tiles().len());
        if times > TIMES_KEPT {
            return Err(format!(
                "teams: a batch keeps the times of {TIMES_KEPT} rows and tiles, counted for each team, and these are \
                 {times}: play with fewer teams at once, or on a smaller board"
            ));
        }
        let bytes = serde_json::to_vec(self).map_err(|error| error.to_string())?.len();
        if bytes > ORDER_BYTES {
            return Err(format!(
                "the order has {bytes} bytes, and one batch holds {ORDER_BYTES}: make the scenario smaller"
            ));
        }
        Ok(())
    }
}

/// Reads a number of runs that somebody wrote.
pub fn runs_of(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|runs| (1..=RUNS).contains(runs)).ok_or_else(|| bad_runs(text))
}

fn bad_runs(runs: &str) -> String {
    format!("runs: {runs} is not a number of runs: use a whole number from 1 to {RUNS}")
}
