//! The layers that settings come from, as text. One list of settings drives the file, the environment, the
//! flags and what `doctor` prints, so that they cannot drift apart.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::failure::usage;

/// A setting: its key in the file, its variable in the environment, its default. Its flag is its key with
/// dashes.
struct Known {
    key: &'static str,
    variable: &'static str,
    default: &'static str,
}

const fn known(key: &'static str, variable: &'static str, default: &'static str) -> Known {
    Known { key, variable, default }
}

const KNOWN: [Known; 36] = [
    known("data", "TURNWISE_DATA", "./turnwise-data"),
    known("listen", "TURNWISE_LISTEN", "127.0.0.1:7700"),
    known("hosts", "TURNWISE_HOSTS", ""),
    known("log", "TURNWISE_LOG", "text"),
    known("stats_interval", "TURNWISE_STATS_INTERVAL", "10s"),
    known("traces", "TURNWISE_TRACES", ""),
    known("trace_share", "TURNWISE_TRACE_SHARE", "1"),
    known("slots", "TURNWISE_SLOTS", "8"),
    known("allow_shell", "TURNWISE_ALLOW_SHELL", "false"),
    known("allow_http", "TURNWISE_ALLOW_HTTP", "false"),
    known("node", "TURNWISE_NODE", "node"),
    known("grace", "TURNWISE_GRACE", "10s"),
    known("keep_finished", "TURNWISE_KEEP_FINISHED", "7d"),
    known("keep_events", "TURNWISE_KEEP_EVENTS", "7d"),
    known("most_bytes", "TURNWISE_MOST_BYTES", "0"),
    known("profile", "TURNWISE_PROFILE", "embedded"),
    known("roles", "TURNWISE_ROLES", "api,scheduler,worker"),
    known("postgres", "TURNWISE_POSTGRES", ""),
    known("rabbitmq", "TURNWISE_RABBITMQ", ""),
    known("redis", "TURNWISE_REDIS", ""),
    known("schema", "TURNWISE_SCHEMA", "turnwise"),
    known("prefix", "TURNWISE_PREFIX", ""),
    known("ca_file", "TURNWISE_CA_FILE", ""),
    known("session", "TURNWISE_SESSION", "10s"),
    known("forge_folder", "TURNWISE_FORGE_FOLDER", ""),
    known("forge_order", "TURNWISE_FORGE_ORDER", "per_service"),
    known("forge_slots", "TURNWISE_FORGE_SLOTS", "4"),
    known("forge_timeout", "TURNWISE_FORGE_TIMEOUT", "15m"),
    known("forge_retry", "TURNWISE_FORGE_RETRY", "5s"),
    known("forge_zone", "TURNWISE_FORGE_ZONE", "example.test"),
    known("forge_address", "TURNWISE_FORGE_ADDRESS", "127.0.0.1"),
    known("forge_dns_server", "TURNWISE_FORGE_DNS_SERVER", ""),
    known("forge_dns_key", "TURNWISE_FORGE_DNS_KEY", ""),
    // The names that operators of the system before this one know.
    known("forge_leader_key", "COMPUTE_QUEUE_LEADER_KEY", "locks:compute:generate:leader:v1"),
    known("forge_leader_ttl_ms", "COMPUTE_QUEUE_LEADER_TTL_MS", "30000"),
    known("forge_leader_renew_ms", "COMPUTE_QUEUE_LEADER_RENEW_MS", "15000"),
];

/// Settings that may hold a password: they are shown without it, and have no flag, because everybody can read the flags
/// of a process.
const SECRET: [&str; 4] = ["postgres", "rabbitmq", "redis", "forge_dns_key"];

/// A file that can be named in the environment too.
const CONFIG_VARIABLE: &str = "TURNWISE_CONFIG";

/// What flags said, by key.
pub(crate) type Flags = BTreeMap<&'static str, String>;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody said anything.
    Default,
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(path) => write!(f, "file {}", path.display()),
            Source::Variable(name) => write!(f, "variable {name}"),
            Source::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Every setting as text, with the layer that it came from.
#[derive(Debug)]
pub(crate) struct Layers(BTreeMap<&'static str, (String, Source)>);

impl Layers {
    /// Reads the file, if one is named, and the environment.
    pub(crate) fn read(config: Option<&Path>, flags: Flags) -> anyhow::Result<Layers> {
        let named = variable(CONFIG_VARIABLE)?.map(PathBuf::from);
        let file = config.map(Path::to_owned).or(named);
        let text = match file {
            Some(path) => {
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    usage(format!("cannot read the configuration {}: {error}", path.display()))
                })?;
                Some((path, text))
            }
            None => None,
        };
        let mut environment = Vec::new();
        for setting in &KNOWN {
            if let Some(value) = variable(setting.variable)? {
                environment.push((setting.variable, value));
            }
        }
        Layers::stack(text, &environment, flags)
    }

    /// Lays them one over the other.
    pub(crate) fn stack(
        file: Option<(PathBuf, String)>,
        environment: &[(&'static str, String)],
        mut flags: Flags,
    ) -> anyhow::Result<Layers> {
        let mut values: BTreeMap<_, _> = KNOWN
            .iter()
            .map(|setting| (setting.key, (setting.default.to_owned(), Source::Default)))
            .collect();
        if let Some((path, text)) = file {
            let said = read_file(&text).with_context(|| format!("in {}", path.display()))?;
            for (key, value) in said {
                values.insert(key, (value, Source::File(path.clone())));
            }
        }
        for setting in &KNOWN {
            if let Some((name, value)) = environment.iter().find(|(name, _)| *name == setting.variable) {
                values.insert(setting.key, (value.clone(), Source::Variable(name)));
            }
            if let Some(value) = flags.remove(setting.key) {
                let flag = format!("--{}", setting.key.replace('_', "-"));
                values.insert(setting.key, (value, Source::Flag(flag)));
            }
        }
        Ok(Layers(values))
    }

    /// Where a setting came from.
    pub(crate) fn source(&self, key: &str) -> Source {
        self.0.get(key).map_or(Source::Default, |(_, source)| source.clone())
    }

    /// A setting, read by `parse`. What is wrong with it is said together with where it came from.
    pub(crate) fn parsed<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        let (text, source) = self.0.get(key).with_context(|| format!("no setting is called {key}"))?;
        parse(text).map_err(|why| usage(format!("{key} ({source}): {why}")))
    }

    /// Key, value and source of every setting, for people.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String, String)> {
        KNOWN
            .iter()
            .filter_map(|setting| {
                let (value, source) = self.0.get(setting.key)?;
                let shown = match SECRET.contains(&setting.key) {
                    true => without_account(value),
                    false => value.clone(),
                };
                Some((setting.key, shown, source.to_string()))
            })
            .collect()
    }
}

/// An address without who logs in, and how. Where it is not clear what is what, nothing is shown.
fn without_account(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return if address.is_empty() { String::new() } else { "[hidden]".into() };
    };
    let (account, place) = match rest.rsplit_once('@') {
        // A password with a question mark, or an option with an at sign: nobody can tell.
        Some((account, _)) if account.contains('?') => return format!("{scheme}://[hidden]"),
        Some((_, place)) => ("[hidden]@", place),
        None => ("", rest),
    };
    // Options may hold a password too.
    match place.split_once('?') {
        Some((place, options)) if !options.starts_with("sslmode=") || options.contains('&') => {
            format!("{scheme}://{account}{place}?[hidden]")
        }
        _ => format!("{scheme}://{account}{place}"),
    }
}

/// An environment variable; an empty one counts as not set.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(usage(format!("the variable {name} is no text"))),
    }
}

fn read_file(text: &str) -> anyhow::Result<Vec<(&'static str, String)>> {
    let table: toml::Table = text.parse().map_err(|error| usage(format!("{error}")))?;
    let mut values = Vec::new();
    for (key, value) in table {
        let Some(setting) = KNOWN.iter().find(|setting| setting.key == key) else {
            let keys: Vec<&str> = KNOWN.iter().map(|setting| setting.key).collect();
            return Err(usage(format!("no setting is called `{key}`: use one of {}", keys.join(", "))));
        };
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(switch) => switch.to_string(),
            _ => return Err(usage(format!("`{key}` must be a text, a whole number, true or false"))),
        };
        values.push((setting.key, value));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commented_file_is_equal_to_the_defaults() {
        let mut said = read_file(include_str!("../../default-config.toml")).unwrap();
        let mut defaults: Vec<_> =
            KNOWN.iter().map(|setting| (setting.key, setting.default.to_owned())).collect();
        said.sort();
        defaults.sort();
        assert_eq!(said, defaults);
        for setting in &KNOWN {
            assert!(
                include_str!("../../default-config.toml").contains(setting.variable),
                "{}",
                setting.variable
            );
        }
    }

    #[test]
    fn a_later_layer_wins_and_says_so() {
        let file = Some((PathBuf::from("a.toml"), "slots = 2\nlog = \"json\"\ndata = \"x\"".to_owned()));
        let environment = [("TURNWISE_SLOTS", "3".to_owned()), ("TURNWISE_LOG", "text".to_owned())];
        let flags = Flags::from([("slots", "4".to_owned())]);
        let layers = Layers::stack(file, &environment, flags).unwrap();
        let get = |key: &str| layers.rows().into_iter().find(|row| row.0 == key).unwrap();
        assert_eq!(get("slots"), ("slots", "4".to_owned(), "flag --slots".to_owned()));
        assert_eq!(get("log"), ("log", "text".to_owned(), "variable TURNWISE_LOG".to_owned()));
        assert_eq!(get("data"), ("data", "x".to_owned(), "file a.toml".to_owned()));
        assert_eq!(get("grace"), ("grace", "10s".to_owned(), "default".to_owned()));
    }

    #[test]
    fn unknown_keys_and_odd_values_are_named() {
        let error = |text: &str| {
            let file = Some((PathBuf::from("a.toml"), text.to_owned()));
            format!("{:#}", Layers::stack(file, &[], Flags::new()).unwrap_err())
        };
        assert!(error("slot = 2").contains("no setting is called `slot`"));
        assert!(error("slots = [2]").contains("`slots` must be"));
        assert!(error("slots = ").contains("in a.toml"));
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_account("postgres://ada:secret@db:5432/x"), "postgres://[hidden]@db:5432/x");
        assert_eq!(without_account("amqp://ada:se@cret@mq/"), "amqp://[hidden]@mq/");
        assert_eq!(without_account("redis://cache:6379/"), "redis://cache:6379/");
        assert_eq!(without_account("host=db password=secret"), "[hidden]");
        assert_eq!(without_account("postgres://db/x?user=ada&password=secret"), "postgres://db/x?[hidden]");
        assert_eq!(without_account("postgres://db/x?sslmode=require&password=s"), "postgres://db/x?[hidden]");
        assert_eq!(without_account("postgres://db/x?password=sec@ret"), "postgres://[hidden]");
        assert_eq!(without_account("postgres://ada:s?e@db/x"), "postgres://[hidden]");
        assert_eq!(
            without_account("postgres://a:b@db/x?sslmode=require"),
            "postgres://[hidden]@db/x?sslmode=require"
        );
        assert_eq!(without_account(""), "");
    }
}
