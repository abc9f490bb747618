//! Results in words and tables.

use serde_json::Value;

use super::looking::{clock, rough};
use crate::show::{self, Column, field};

/// What a batch came to.
pub(super) fn results(told: &Value) {
    let seconds = told["seconds"].as_f64().unwrap_or(0.0);
    let pace = told["runs_per_s"].as_f64().unwrap_or(0.0);
    let batch = told["batch"].as_str().map(|id| format!(" (batch {id})")).unwrap_or_default();
    show::line(format!(
        "{}{batch}: {}, {} of {} runs with seed `{}`, {:.0} runs/s, {}",
        show::harmless(&field(told, "name")),
        field(told, "status"),
        field(told, "simulated"),
        field(told, "runs"),
        show::harmless(&field(told, "seed")),
        pace,
        rough(seconds),
    ));
    if let Some(message) = told["message"].as_str() {
        show::line(show::harmless_lines(message));
    }
    show::line("");
    let teams = told["teams"].as_array().cloned().unwrap_or_default();
    let columns = [
        Column { title: "TEAM", cell: |team| field(team, "name") },
        Column { title: "STRATEGY", cell: |team| field(team, "strategy") },
        Column { title: "WINS", cell: |team| share(&team["wins"]["rate"]) },
        Column { title: "95 %", cell: |team| interval(&team["wins"]["ci95"], share) },
        Column { title: "POINTS", cell: |team| decimal(&team["points"]["mean"]) },
        Column { title: "SD", cell: |team| decimal(&team["points"]["sd"]) },
        Column { title: "P5", cell: |team| whole(&team["points"]["p5"]) },
        Column { title: "P50", cell: |team| whole(&team["points"]["p50"]) },
        Column { title: "P95", cell: |team| whole(&team["points"]["p95"]) },
        Column { title: "TILES", cell: |team| decimal(&team["tiles"]["mean"]) },
        Column { title: "ROW", cell: |team| decimal(&from_one(&team["row_reached"]["mean"])) },
    ];
    show::table(&columns, &teams, "No team has results.");
}

/// Two batches side by side.
pub(super) fn comparison(compared: &Value) {
    let teams = compared["teams"].as_array().cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for team in &teams {
        for (what, name) in [
            ("points", "points"),
            ("tiles", "tiles"),
            ("row_reached", "row reached"),
            ("win_rate", "win rate"),
        ] {
            let mut row = team[what].clone();
            if what == "row_reached" {
                row["first"] = from_one(&row["first"]);
                row["second"] = from_one(&row["second"]);
            }
            row["team"] = team["name"].clone();
            row["what"] = name.into();
            rows.push(row);
        }
    }
    let columns = [
        Column { title: "TEAM", cell: |row| field(row, "team") },
        Column { title: "WHAT", cell: |row| field(row, "what") },
        Column { title: "FIRST", cell: |row| decimal(&row["first"]) },
        Column { title: "SECOND", cell: |row| decimal(&row["second"]) },
        Column { title: "DIFFERENCE", cell: |row| signed(&row["difference"]) },
        Column { title: "BOUNDS", cell: |row| interval(row, signed) },
        Column {
            title: "",
            cell: |row| match row["clear"].as_bool() {
                Some(true) => "clear".into(),
                Some(false) => "may be luck".into(),
                None => "too few runs".into(),
            },
        },
    ];
    show::table(&columns, &rows, "No team is in both.");
    if rows.iter().any(|row| !row["clear"].is_null()) {
        show::line("In 95 of 100 comparisons the bounds hold every true difference of the table.");
    }
    for (which, name) in [("only_first", "first"), ("only_second", "second")] {
        let keys: Vec<&str> =
            compared[which].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !keys.is_empty() {
            show::line(format!("Only in the {name}: {}", keys.join(", ")));
        }
    }
}

/// A number of a row as people count: the first is 1.
fn from_one(row: &Value) -> Value {
    row.as_f64().map_or(Value::Null, |row| (row + 1.0).into())
}

/// Something that happened in a run.
pub(super) fn moment(moment: &Value) -> String {
    let players = || {
        let players = moment["players"].as_array().into_iter().flatten();
        players.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let text = |name: &str| field(moment, name);
    let what = match moment["what"].as_str().unwrap_or_default() {
        "online" => format!("{} comes", text("player")),
        "offline" => format!("{} goes", text("player")),
        "begun" => format!("{} begin {} for {}", players(), text("activity"), text("tile")),
        "ended" => format!("{} end {} for {}", players(), text("activity"), text("tile")),
        "drop" => match moment["tile"].as_str() {
            Some(tile) => format!("{} gets {} {} for {tile}", text("player"), text("units"), text("drop")),
            None => {
                format!("{} gets {} {}, which no tile needs", text("player"), text("units"), text("drop"))
            }
        },
        "tile" => format!("{} is complete: {} points", text("tile"), text("points")),
        "row" => format!("row {} is unlocked", moment["row"].as_u64().unwrap_or(0) + 1),
        other => other.to_owned(),
    };
    format!("{}  {}", clock(&moment["second"]), show::harmless(&what))
}

/// What is not known.
const NOTHING: &str = "–";

fn decimal(value: &Value) -> String {
    value.as_f64().map_or_else(|| NOTHING.into(), |value| format!("{value:.2}"))
}

fn whole(value: &Value) -> String {
    value.as_u64().map_or_else(|| NOTHING.into(), |value| value.to_string())
}

fn signed(value: &Value) -> String {
    value.as_f64().map_or_else(|| NOTHING.into(), |value| format!("{value:+.3}"))
}

fn share(value: &Value) -> String {
    value.as_f64().map_or_else(|| NOTHING.into(), |value| format!("{:.2} %", value * 100.0))
}

fn interval(value: &Value, shown: fn(&Value) -> String) -> String {
    match value["low"].is_null() {
        true => NOTHING.into(),
        false => format!("{} to {}", shown(&value["low"]), shown(&value["high"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_in_words() {
        let told = |moment: Value| super::moment(&moment);
        assert_eq!(
            told(json!({"second": 90_061, "what": "row", "row": 1})),
            "1d 01:01:01  row 2 is unlocked"
        );
        let drop =
            json!({"second": 5, "what": "drop", "player": "Eve", "drop": "log", "units": 3, "tile": null});
        assert_eq!(told(drop), "0d 00:00:05  Eve gets 3 log, which no tile needs");
        let begun = json!({"second": 0, "what": "begun", "players": ["A", "B\u{1b}"], "activity": "Hunt", "tile": "One"});
        assert_eq!(told(begun), "0d 00:00:00  A, B  begin Hunt for One");
    }
}
