//! `doctor`: looks for what is wrong, says what to do about it, and prints the settings in force.

mod checks;

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::Home;
use crate::settings::{Layers, Settings};
use crate::show::{self, Column, field};

/// Look for what is wrong. Exit code 1 if something is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// It works, but somebody should know.
    Warn,
    /// It will not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    verdict: Verdict,
    what: &'static str,
    says: String,
}

impl Check {
    fn new(verdict: Verdict, what: &'static str, says: impl Into<String>) -> Check {
        Check { verdict, what, says: says.into() }
    }

    fn ok(what: &'static str, says: impl Into<String>) -> Check {
        Check::new(Verdict::Ok, what, says)
    }

    fn warn(what: &'static str, says: impl Into<String>) -> Check {
        Check::new(Verdict::Warn, what, says)
    }

    fn fail(what: &'static str, says: impl Into<String>) -> Check {
        Check::new(Verdict::Fail, what, says)
    }
}

pub(crate) fn run(args: &Args, home: &Home) -> anyhow::Result<ExitCode> {
    let layers = Layers::read(home.config.as_deref(), home.flags())?;
    let checks = examine(&layers, &home.data()?);
    let settings: Vec<_> = layers
        .rows()
        .into_iter()
        .map(|(key, value, source)| json!({"key": key, "value": value, "source": source}))
        // There is a token, but its value is nobody's business.
        .chain([json!({"key": "token", "value": "[hidden]", "source": "file token in the data directory"})])
        .collect();
    if args.json {
        show::json(&json!({"settings": settings, "checks": checks}));
    } else {
        let columns = [
            Column { title: "SETTING", cell: |row| field(row, "key") },
            Column { title: "VALUE", cell: |row| field(row, "value") },
            Column { title: "FROM", cell: |row| field(row, "source") },
        ];
        show::table(&columns, &settings, "");
        show::line("");
        for check in &checks {
            let word = match check.verdict {
                Verdict::Ok => "ok",
                Verdict::Warn => "warn",
                Verdict::Fail => "FAIL",
            };
            show::line(format!("{word:<5} {:<10} {}", check.what, show::harmless(&check.says)));
        }
    }
    let failed = checks.iter().any(|check| check.verdict == Verdict::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn examine(layers: &Layers, data: &Path) -> Vec<Check> {
    let settings = match Settings::from_layers(layers) {
        Ok(_) => Check::ok("settings", "every value makes sense"),
        Err(error) => Check::fail("settings", format!("{error:#}")),
    };
    let mut checks = vec![settings];
    checks.push(checks::directory(data));
    checks.push(checks::space(data));
    checks.push(checks::modes(data));
    checks.push(checks::schema(data));
    checks.extend(checks::engine(data));
    checks.push(checks::clock(data));
    checks
}
