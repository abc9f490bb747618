//! Bingo events, simulated: how a board of tiles would go for teams with different players and strategies.
//!
//! A [`Scenario`] is a checked file ([`read`]); a [`Plan`] is a scenario made ready for many runs; [`Plan::run`] plays one
//! run by a [`Seed`] and an index, and [`Plan::timeline`] tells the same run event by event. Runs are added up in an
//! [`Aggregate`], in any order and any split, and kept in a few bytes each ([`encode_runs`]).
//!
//! Nothing here reads a clock, a file or a random device: the same scenario, seed and index give the same run, bit for bit, on
//! every machine. `docs/bingo.md` describes the format of scenarios, the strategies and the rules.

mod aggregate;
mod board;
mod export;
mod kept;
pub mod limits;
mod luck;
mod odds;
mod plan;
mod play;
mod routes;
mod run;
mod scenario;
mod shipped;
mod strategies;
mod tiles;
mod timeline;
mod view;
mod work;

pub use aggregate::{Aggregate, Figures, Interval, Summary, TeamSummary, TileSummary, TimeFigures, Wins};
pub use export::{csv_header, csv_lines, json_lines};
pub use kept::{KeepFault, Runs, TeamResult, decode_runs, encode_runs};
pub use luck::Seed;
pub use plan::{Plan, TeamInfo, TileInfo};
pub use play::Scratch;
pub use routes::application;
pub use run::{Run, RunFault, TeamRun};
pub use scenario::{Fault, Faults, Scenario, Trouble, read};
pub use shipped::{Shipped, shipped};
pub use strategies::{StrategyKind, StrategyParam, all as strategies};
pub use timeline::{Happening, Moment, TeamTimeline, Timeline};
pub use view::{Comparison, Export, Format, Listed, Measure, Status, StatusWord, TeamComparison, compare};
pub use work::{
    Bingo, Failure, Order, Progress, Results, Settings, Unfit, Verdict, check, run_here, runs_of,
};
