//! Kept runs for other programs: CSV and JSON, line by line.

use std::io::{Result, Write};

use crate::kept::{Runs, TeamResult};
use crate::plan::Plan;

/// The first line of the CSV.
pub fn csv_header(to: &mut impl Write) -> Result<()> {
    writeln!(to, "run,team,points,tiles,row_reached,win_share")
}

/// One line for each run and team. Teams are told by key, which needs no quotes.
pub fn csv_lines(plan: &Plan, runs: &Runs, to: &mut impl Write) -> Result<()> {
    for (index, results) in runs.iter() {
        for (team, result) in plan.teams().iter().zip(results) {
            let TeamResult { points, tiles, row_reached, .. } = result;
            writeln!(to, "{index},{},{points},{tiles},{row_reached},{}", team.key, share(result))?;
        }
    }
    Ok(())
}

/// One JSON object in a line for each run.
pub fn json_lines(plan: &Plan, runs: &Runs, to: &mut impl Write) -> Result<()> {
    for (index, results) in runs.iter() {
        write!(to, "{{\"run\":{index},\"teams\":[")?;
        for (number, (team, result)) in plan.teams().iter().zip(results).enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let TeamResult { points, tiles, row_reached, .. } = result;
            let (key, share) = (&team.key, share(result));
            write!(to, "{comma}{{\"team\":\"{key}\",\"points\":{points},\"tiles\":{tiles},")?;
            write!(to, "\"row_reached\":{row_reached},\"win_share\":\"{share}\"}}")?;
        }
        writeln!(to, "]}}")?;
    }
    Ok(())
}

/// `0`, `1`, or a fraction such as `1/2`.
fn share(result: &TeamResult) -> String {
    match result.tied {
        0 | 1 => result.tied.to_string(),
        tied => format!("1/{tied}"),
    }
}
