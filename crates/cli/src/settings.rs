//! What is in force: defaults, overruled by a file, by the environment, by flags; each value knows where it
//! came from.

mod forge;
mod layers;
mod slots;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use layers::{Flags, Layers, Source};
pub(crate) use slots::Slots;
use turnwise::{FleetOptions, PostgresOptions, RabbitOptions, RedisOptions, Roles};

use crate::failure::usage;
use crate::traces::Destination;
use crate::{log, span};

/// Every setting, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where the data is kept.
    pub(crate) data: PathBuf,
    /// Where the server listens.
    pub(crate) listen: SocketAddr,
    /// Other names that requests may ask for.
    pub(crate) hosts: Vec<String>,
    /// How often the log says how things are; never if zero.
    pub(crate) stats_interval: Duration,
    /// Where traces go, if anywhere.
    pub(crate) traces: Option<Destination>,
    /// The settings as they may be shown, with where each came from.
    pub(crate) shown: Vec<(&'static str, String, String)>,
    /// How log lines look.
    pub(crate) log: log::Format,
    /// Jobs of each built-in kind at once.
    pub(crate) slots: Slots,
    /// Whether `shell` jobs may run.
    pub(crate) allow_shell: bool,
    /// Whether `http` jobs may run.
    pub(crate) allow_http: bool,
    /// What this process is called.
    pub(crate) node: String,
    /// How long a stop waits.
    pub(crate) grace: Duration,
    /// How long finished jobs are kept.
    pub(crate) keep_finished: Duration,
    /// How long events are kept.
    pub(crate) keep_events: Duration,
    /// The largest database; 0 for no limit.
    pub(crate) most_bytes: u64,
    /// What this process does.
    pub(crate) roles: Roles,
    /// The servers of a fleet; without them, everything is in the data directory.
    pub(crate) fleet: Option<FleetOptions>,
    /// How long this process lives without a heartbeat.
    pub(crate) session: Duration,
    /// How the forge works.
    pub(crate) forge: turnwise_forge::Settings,
}

impl Settings {
    /// Reads the layers and checks every value.
    pub(crate) fn load(config: Option<&Path>, flags: Flags) -> anyhow::Result<Settings> {
        Settings::from_layers(&Layers::read(config, flags)?)
    }

    /// Checks every value.
    pub(crate) fn from_layers(layers: &Layers) -> anyhow::Result<Settings> {
        let settings = Settings {
            forge: forge::read(layers)?,
            session: layers.parsed("session", session)?,
            roles: layers.parsed("roles", roles)?,
            fleet: fleet(layers)?,
            data: layers.parsed("data", path)?,
            listen: layers.parsed("listen", address)?,
            hosts: layers.parsed("hosts", |text| {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Ok(names.map(str::to_owned).collect())
            })?,
            stats_interval: layers.parsed("stats_interval", |text| match text {
                "0" | "0s" => Ok(Duration::ZERO),
                _ => span::parse(text),
            })?,
            traces: traces(layers)?,
            shown: layers.rows(),
            log: layers.parsed("log", str::parse)?,
            slots: layers.parsed("slots", Slots::parse)?,
            allow_shell: layers.parsed("allow_shell", switch)?,
            allow_http: layers.parsed("allow_http", switch)?,
            node: layers.parsed("node", |text| {
                turnwise::Name::new(text).map(String::from).map_err(|bad| bad.to_string())
            })?,
            grace: layers.parsed("grace", span::parse)?,
            keep_finished: layers.parsed("keep_finished", span::parse)?,
            keep_events: layers.parsed("keep_events", span::parse)?,
            most_bytes: layers.parsed("most_bytes", |text| {
                text.parse().map_err(|_| {
                    format!("`{text}` is not a number of bytes: use a whole number, or 0 for no limit")
                })
            })?,
        };
        let said_by_flag = matches!(layers.source("listen"), Source::Flag(_));
        if !settings.listen.ip().is_loopback() && !said_by_flag {
            return Err(usage(format!(
                "other machines can reach {}: if that is wanted, say it with --listen {0}",
                settings.listen
            )));
        }
        Ok(settings)
    }

    /// The engine's settings.
    pub(crate) fn engine(&self) -> turnwise::Config {
        let config = match &self.fleet {
            Some(servers) => turnwise::Config::fleet(servers.clone()).roles(self.roles),
            None => turnwise::Config::embedded(&self.data),
        };
        let config = config
            .node(&self.node)
            .session(self.session)
            .grace(self.grace)
            .keep_finished(self.keep_finished)
            .keep_events(self.keep_events);
        if self.most_bytes == 0 { config } else { config.most_bytes(self.most_bytes) }
    }
}

/// Where traces go, if anywhere.
fn traces(layers: &Layers) -> anyhow::Result<Option<Destination>> {
    let url = layers.parsed("traces", |text| match text {
        "" => Ok(None),
        _ if text.starts_with("http://") => Ok(Some(text.to_owned())),
        _ => Err(format!(
            "`{text}` is no address of a collector: write http://127.0.0.1:4318/v1/traces; one on another machine is \
             reached through one on this machine, which can encrypt"
        )),
    })?;
    let share = layers.parsed("trace_share", |text| match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is no share of all traces: use 0 to 1, such as 0.01")),
    })?;
    let node = layers.parsed("node", |text| Ok(text.to_owned()))?;
    Ok(url.map(|url| Destination { url, share, node }))
}

/// The servers of a fleet, if that is the profile.
fn fleet(layers: &Layers) -> anyhow::Result<Option<FleetOptions>> {
    let is_fleet = layers.parsed("profile", |text| match text {
        "embedded" => Ok(false),
        "fleet" => Ok(true),
        _ => Err(format!("`{text}` is no profile: use embedded or fleet")),
    })?;
    if !is_fleet {
        return Ok(None);
    }
    let needed = |what: &str, example: &str| {
        layers.parsed(what, |text| match text {
            "" => Err(format!("a fleet needs it: {example}")),
            _ => Ok(text.to_owned()),
        })
    };
    let ca_file = layers.parsed("ca_file", |text| Ok((!text.is_empty()).then(|| PathBuf::from(text))))?;
    let prefix = layers.parsed("prefix", |text| Ok((!text.is_empty()).then(|| text.to_owned())))?;
    let redis = layers.parsed("redis", |text| Ok((!text.is_empty()).then(|| text.to_owned())))?;
    Ok(Some(FleetOptions {
        postgres: PostgresOptions {
            schema: layers.parsed("schema", |text| match text {
                "" => Err("a schema has a name".into()),
                _ => Ok(text.to_owned()),
            })?,
            ca_file: ca_file.clone(),
            ..PostgresOptions::new(needed(
                "postgres",
                "TURNWISE_POSTGRES=postgres://user:password@host:5432/database",
            )?)
        },
        rabbitmq: RabbitOptions {
            url: needed("rabbitmq", "TURNWISE_RABBITMQ=amqp://user:password@host:5672/vhost")?,
            prefix: prefix.clone(),
            ca_file: ca_file.clone(),
        },
        redis: redis.map(|url| RedisOptions {
            url,
            prefix: prefix.unwrap_or_else(|| "turnwise".into()),
            ca_file,
        }),
    }))
}

/// Shorter, and a busy machine would be taken for dead; longer, and nobody would ever take over.
fn session(text: &str) -> Result<Duration, String> {
    let span = span::parse(text)?;
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(600));
    match (least..=most).contains(&span) {
        true => Ok(span),
        false => Err(format!("`{text}` cannot be: use 1s to 10m")),
    }
}

/// What this process does.
fn roles(text: &str) -> Result<Roles, String> {
    let mut roles = Roles::NONE;
    for role in text.split(',').map(str::trim) {
        match role {
            "api" => roles.api = true,
            "scheduler" => roles.scheduler = true,
            "worker" => roles.worker = true,
            _ => {
                return Err(format!(
                    "`{role}` is no role: use api, scheduler, worker, or several with commas"
                ));
            }
        }
    }
    Ok(roles)
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the path is empty: name a directory".into()) } else { Ok(text.into()) }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let parsed = numeric.as_deref().unwrap_or(text).parse();
    parsed.map_err(|_| format!("`{text}` is not an address: write it as 127.0.0.1:7700 or [::1]:7700"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flags: &[(&'static str, &str)]) -> anyhow::Result<Settings> {
        let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Settings::from_layers(&Layers::stack(None, &[], flags)?)
    }

    #[test]
    fn every_value_is_checked() {
        let bad = [
            ("data", "", "name a directory"),
            ("listen", "7700", "127.0.0.1:7700"),
            ("log", "xml", "text or json"),
            ("slots", "0", "use 1 to"),
            ("allow_http", "maybe", "neither true nor false"),
            ("node", "", "at least one character"),
            ("grace", "10", "a unit"),
            ("most_bytes", "1k", "0 for no limit"),
            ("traces", "127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("traces", "https://example.com", "no address of a collector"),
            ("trace_share", "2", "use 0 to 1"),
        ];
        for (key, value, hint) in bad {
            let error = format!("{:#}", of(&[(key, value)]).unwrap_err());
            assert!(
                error.contains(hint) && error.contains(&format!("--{}", key.replace('_', "-"))),
                "{error}"
            );
        }
        assert!(of(&[("listen", "localhost:0")]).unwrap().listen.ip().is_loopback());
    }

    #[test]
    fn other_machines_only_by_flag() {
        assert!(of(&[("listen", "0.0.0.0:7700")]).is_ok());
        let environment = [("TURNWISE_LISTEN", "0.0.0.0:7700".to_owned())];
        let layers = Layers::stack(None, &environment, Flags::new()).unwrap();
        let error = Settings::from_layers(&layers).unwrap_err().to_string();
        assert!(error.contains("--listen 0.0.0.0:7700"), "{error}");
    }
}
