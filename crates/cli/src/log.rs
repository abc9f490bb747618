//! The log: one line per event on standard error, as text for people or as JSON for machines.

use std::io::IsTerminal as _;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Format {
    /// The word in a configuration.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = [Format::Text, Format::Json].into_iter().find(|format| format.word() == word);
        known.ok_or_else(|| format!("`{word}` is not a log format: use text or json"))
    }
}

/// What the library for RabbitMQ says is said by the engine too, in its own words; and the library prints messages that
/// came back, with what is in them.
const SILENT: &str = "lapin";

/// Starts the log. The level comes from `TURNWISE_LOG_LEVEL`, else from `RUST_LOG`, else it is `info`.
pub(crate) fn start(format: Format) -> anyhow::Result<()> {
    let level = ["TURNWISE_LOG_LEVEL", "RUST_LOG"].into_iter().find_map(|name| {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
        Some((name, text))
    });
    let filter = match &level {
        Some((name, text)) => EnvFilter::try_new(text).map_err(|error| {
            crate::failure::usage(format!("{name}={text} is no log level: {error}. Try info or debug"))
        })?,
        None => EnvFilter::new("info"),
    };
    let named = level.as_ref().is_some_and(|(_, text)| text.contains(SILENT));
    let filter = if named { filter } else { filter.add_directive(format!("{SILENT}=off").parse()?) };
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => lines.with_target(false).with_ansi(std::io::stderr().is_terminal()).init(),
        Format::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
