//! The rules of the game.

use serde_json::json;
use turnwise_bingo::{Aggregate, Runs, csv_header, csv_lines, json_lines, shipped};

use crate::small::{activity, begun, plan, row, run, small, team, timeline};
