//! Orders: what somebody wants simulated, checked before anything is queued.

use serde::{Deserialize, Serialize};
use turnwise::Name;

use super::limits::{ORDER_BYTES, RUNS, SEED_BYTES, TEAM_RUNS, TIMES_KEPT};
use crate::{Fault, Faults, Plan, Scenario, read};

/// A batch that somebody wants: a checked scenario, how many runs, and the seed of their luck. Read from a job, it is
/// checked again: anybody may submit a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written")]
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

/// An order as it stands in a job.
#[derive(Deserialize)]
struct Written {
    name: String,
    runs: u64,
    seed: String,
    scenario: Scenario,
}

impl TryFrom<Written> for Order {
    type Error = Fault;

    fn try_from(Written { name, runs, seed, scenario }: Written) -> Result<Order, Fault> {
        let order = Order { name, runs, seed, scenario };
        order.check()?;
        Ok(order)
    }
}

/// Why an order is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The scenario has faults.
    #[error("{0}")]
    Scenario(Faults),
    /// Something else about the order.
    #[error("{0}")]
    Order(Fault),
}

impl Order {
    /// Reads and checks an order. Its name is the scenario's unless it has one.
    pub fn new(name: Option<&str>, scenario: &str, runs: u64, seed: &str) -> Result<Order, Unfit> {
        let scenario = read(scenario).map_err(Unfit::Scenario)?;
        Order::of(name, scenario, runs, seed).map_err(Unfit::Order)
    }

    pub(crate) fn of(name: Option<&str>, scenario: Scenario, runs: u64, seed: &str) -> Result<Order, Fault> {
        let name = name.unwrap_or(scenario.name()).to_owned();
        Order::try_from(Written { name, runs, seed: seed.to_owned(), scenario })
    }

    fn check(&self) -> Result<(), Fault> {
        Name::new(&self.name).map_err(|bad| {
            fault(
                "name",
                format!("{bad}; a batch is called like its scenario unless it has a name of its own"),
            )
        })?;
        if self.seed.is_empty() || self.seed.len() > SEED_BYTES || self.seed.chars().any(char::is_control) {
            let wrong =
                format!("it has 1 to {SEED_BYTES} bytes and no control characters, such as `spring-1`");
            return Err(fault("seed", wrong));
        }
        if !(1..=RUNS).contains(&self.runs) {
            return Err(bad_runs(&self.runs.to_string()));
        }
        let bytes = serde_json::to_vec(self).map_err(|error| fault("", error.to_string()))?.len();
        if bytes > ORDER_BYTES {
            let wrong = format!(
                "the order has {bytes} bytes, and one batch holds {ORDER_BYTES}: make the scenario smaller"
            );
            return Err(fault("", wrong));
        }
        self.check_size(&Plan::new(&self.scenario))
    }

    /// Whether what a batch leaves can be kept.
    fn check_size(&self, plan: &Plan) -> Result<(), Fault> {
        let teams = plan.teams().len();
        let most = TEAM_RUNS / teams.max(1) as u64;
        if self.runs > most {
            let wrong = format!(
                "{} runs of {teams} teams are more than one batch keeps: use at most {most}, in several batches",
                self.runs
            );
            return Err(fault("runs", wrong));
        }
        let times = teams * (plan.rows() + plan.tiles().len());
        if times > TIMES_KEPT {
            let wrong = format!(
                "a batch keeps the times of {TIMES_KEPT} rows and tiles, counted for each team, and these are \
                 {times}: play with fewer teams at once, or on a smaller board"
            );
            return Err(fault("teams", wrong));
        }
        Ok(())
    }
}

/// Reads a scenario, and looks for whatever would keep a batch of it from being started.
pub fn check(scenario: &str) -> Result<Scenario, Faults> {
    startable(read(scenario)?)
}

/// A scenario of which a batch can be started, with however few runs.
pub(crate) fn startable(scenario: Scenario) -> Result<Scenario, Faults> {
    Ok(Order::of(None, scenario, 1, "a seed")?.scenario)
}

/// Reads a number of runs that somebody wrote.
pub fn runs_of(text: &str) -> Result<u64, String> {
    let runs = text.parse().ok().filter(|runs| (1..=RUNS).contains(runs));
    runs.ok_or_else(|| bad_runs(text).to_string())
}

fn bad_runs(runs: &str) -> Fault {
    fault("runs", format!("{runs} is not a number of runs: use a whole number from 1 to {RUNS}"))
}

fn fault(place: &str, wrong: String) -> Fault {
    Fault { place: place.to_owned(), wrong }
}
