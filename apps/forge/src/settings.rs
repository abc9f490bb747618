//! How the forge works: one structure, which the program fills from its settings.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::dns::server::NameServer;

/// How requests follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// One lane for each service: in order inside a service, side by side across services.
    PerService,
    /// One lane for all: one at a time in the whole system, run by whoever holds the lease.
    Global(Leader),
}

/// The lease of the one process that works in global order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The lease.
    pub key: String,
    /// How long it lasts without being renewed.
    pub ttl: Duration,
    /// How often it is renewed.
    pub renew: Duration,
}

impl Default for Leader {
    fn default() -> Self {
        Leader {
            key: "locks:compute:generate:leader:v1".into(),
            ttl: Duration::from_secs(30),
            renew: Duration::from_secs(15),
        }
    }
}

/// The program that a phase runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What it is told before anything else.
    pub arguments: Vec<String>,
}

/// Everything that the forge needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where repositories, zones and logs are. All workers of a fleet need the same one.
    pub folder: PathBuf,
    /// How requests follow each other.
    pub order: Order,
    /// How many run at once here, in an order for each service.
    pub slots: u32,
    /// The longest that an attempt may take, all phases together.
    pub timeout: Duration,
    /// The first wait before a retry; each is twice the one before.
    pub retry: Duration,
    /// The origin of the zone, with a dot at its end.
    pub origin: String,
    /// What the name of a service leads to that says nothing else.
    pub address: IpAddr,
    /// A name server that is updated too.
    pub server: Option<NameServer>,
    /// What a phase runs as.
    pub program: Program,
}

impl Settings {
    /// The usual ones, for a folder and a program.
    pub fn new(folder: impl Into<PathBuf>, program: Program) -> Self {
        Settings {
            folder: folder.into(),
            order: Order::PerService,
            slots: 4,
            timeout: Duration::from_secs(15 * 60),
            retry: Duration::from_secs(5),
            origin: "example.test.".into(),
            address: IpAddr::from([127, 0, 0, 1]),
            server: None,
            program,
        }
    }

    /// The lane of a service.
    pub(crate) fn lane(&self, service: &str) -> String {
        match self.order {
            Order::PerService => format!("forge/{service}"),
            Order::Global(_) => "forge".into(),
        }
    }

    /// How many run at once here.
    pub(crate) fn concurrency(&self) -> u32 {
        match self.order {
            Order::PerService => self.slots,
            Order::Global(_) => 1,
        }
    }
}

/// Checks an origin and gives it its dot.
pub fn origin(text: &str) -> Result<String, String> {
    let labels: Vec<&str> = text.trim_end_matches('.').split('.').collect();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = |label: &&str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Room for the service and the label of the mark before it.
    match labels.iter().all(fits) && text.len() <= 150 {
        true => Ok(format!("{}.", labels.join("."))),
        false => Err(format!("`{text}` is no zone: write it as example.test, in lower case")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_name() {
        assert_eq!(origin("example.test").unwrap(), "example.test.");
        assert_eq!(origin("example.test.").unwrap(), "example.test.");
        for bad in ["", ".", "../x", "a..b", "Example.test", "a b", "-a.test", "x;y", &"a".repeat(64)] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
