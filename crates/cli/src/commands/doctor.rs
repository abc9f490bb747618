//! `doctor`: looks for what is wrong, says what to do about it, and prints the settings in force.

mod checks;

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;
use turnwise::{FleetOptions, Health};

use crate::Home;
use crate::settings::{Layers, Settings};
use crate::show::{self, Column, field};

/// Look for what is wrong. Exit code 1 if something is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// For which profile: embedded or fleet [default: embedded, or TURNWISE_PROFILE].
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    verdict: Health,
    what: String,
    says: String,
}

impl Check {
    fn new(verdict: Health, what: &str, says: impl Into<String>) -> Check {
        Check { verdict, what: what.to_owned(), says: says.into() }
    }

    fn ok(what: &str, says: impl Into<String>) -> Check {
        Check::new(Health::Ok, what, says)
    }

    fn warn(what: &str, says: impl Into<String>) -> Check {
        Check::new(Health::Warn, what, says)
    }

    fn fail(what: &str, says: impl Into<String>) -> Check {
        Check::new(Health::Fail, what, says)
    }
}

pub(crate) fn run(args: &Args, home: &Home) -> anyhow::Result<ExitCode> {
    let mut flags = home.flags();
    flags.extend(args.profile.iter().map(|profile| ("profile", profile.clone())));
    let layers = Layers::read(home.config.as_deref(), flags)?;
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
                Health::Ok => "ok",
                Health::Warn => "warn",
                Health::Fail => "FAIL",
            };
            show::line(format!("{word:<5} {:<20} {}", check.what, show::harmless(&check.says)));
        }
    }
    let failed = checks.iter().any(|check| check.verdict == Health::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn examine(layers: &Layers, data: &Path) -> Vec<Check> {
    let settings = Settings::from_layers(layers);
    let mut checks = vec![match &settings {
        Ok(_) => Check::ok("settings", "every value makes sense"),
        Err(error) => Check::fail("settings", format!("{error:#}")),
    }];
    checks.push(checks::directory(data));
    checks.push(checks::space(data));
    checks.push(checks::modes(data));
    match settings.ok().and_then(|settings| settings.fleet) {
        Some(servers) => checks.extend(examine_servers(&servers)),
        None => checks.push(checks::schema(data)),
    }
    checks.extend(checks::engine(data));
    checks.push(checks::clock(data));
    checks
}

/// Looks at the servers of a fleet, all of them at once.
fn examine_servers(servers: &FleetOptions) -> Vec<Check> {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Check::fail("servers", format!("they cannot be looked at: {error}"))],
    };
    let found = runtime.block_on(turnwise::examine(servers));
    // A server that never answers does not keep us.
    runtime.shutdown_background();
    let check = |finding: turnwise::Finding| {
        Check::new(finding.health, &format!("{} {}", finding.server, finding.what), finding.says)
    };
    found.into_iter().map(check).collect()
}
