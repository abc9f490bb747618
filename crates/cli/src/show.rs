//! Output for people and for machines. Everything that came from outside is made harmless for a terminal
//! first.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::Value;

/// Longest cell of a table.
const CELL: usize = 48;

/// One column of a table: its title and what stands in it.
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) cell: fn(&Value) -> String,
}

/// How many rows somebody may ask for.
pub(crate) fn rows() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

/// Prints a line or several. Whoever stopped reading (`| head`) ends the program quietly.
pub(crate) fn line(text: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(text.as_ref().as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    if written.is_err() {
        std::process::exit(0);
    }
}

/// Prints a line that nobody needs to read: an engine goes on when its output is gone.
pub(crate) fn aside(text: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(text.as_ref().as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

/// Prints a value as JSON.
pub(crate) fn json(value: &Value) {
    line(pretty(value));
}

/// A value as readable JSON.
pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Prints rows as a table, or a sentence if there are none.
pub(crate) fn table(columns: &[Column], rows: &[Value], none: &str) {
    if rows.is_empty() {
        line(none);
        return;
    }
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| columns.iter().map(|column| short(&(column.cell)(row))).collect()).collect();
    let widest = |index: usize| cells.iter().map(|row| row[index].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> =
        columns.iter().enumerate().map(|(index, column)| widest(index).max(column.title.len())).collect();
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let print = |row: &[String]| {
        let padded: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        line(padded.join("  ").trim_end());
    };
    print(&titles);
    cells.iter().for_each(|row| print(row));
}

fn short(text: &str) -> String {
    let text = harmless(text);
    if text.chars().count() <= CELL {
        return text;
    }
    text.chars().take(CELL - 1).chain(['…']).collect()
}

/// Text without anything that a terminal would obey: an error text is not to move the cursor or retitle the
/// window.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The same, keeping line breaks.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.lines().map(harmless).collect::<Vec<_>>().join("\n")
}

/// A field of an object, as text; a dash if it is not there.
pub(crate) fn field(value: &Value, name: &str) -> String {
    match &value[name] {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How long ago a field with a time was, or how long until then.
pub(crate) fn ago(value: &Value, name: &str) -> String {
    let Some(micros) = value[name].as_i64().filter(|micros| *micros > 0) else { return "-".into() };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let span = crate::span::rough(Duration::from_micros(now.abs_diff(micros)));
    if micros > now { format!("in {span}") } else { format!("{span} ago") }
}

/// A field with a time, as a date.
pub(crate) fn date(value: &Value, name: &str) -> String {
    match value[name].as_i64().filter(|micros| *micros > 0) {
        Some(micros) => turnwise::Time::from_micros(micros).to_string(),
        None => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_obeyed() {
        assert_eq!(harmless("a\x1b[2Jb\u{9b}c\nd"), "a [2Jb c d");
        assert_eq!(harmless_lines("a\x07\nb"), "a \nb");
        assert_eq!(short(&"x".repeat(100)).chars().count(), CELL);
    }

    #[test]
    fn fields() {
        let value = serde_json::json!({"kind": "echo", "n": 3, "none": null, "at": 0});
        assert_eq!([field(&value, "kind"), field(&value, "n"), field(&value, "none")], ["echo", "3", "-"]);
        assert_eq!(ago(&value, "at"), "-");
        assert_eq!(date(&serde_json::json!({"at": 1_000_000}), "at"), "1970-01-01T00:00:01.000Z");
    }
}
