//! Settings of the forge.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use turnwise_forge::dns::Key;
use turnwise_forge::{Leader, NameServer, Order, Program, Settings, origin};

use super::Layers;
use crate::failure::usage;
use crate::span;

/// Most requests at once on one node: each is a process with children.
const SLOTS: u32 = 64;

/// Reads and checks them.
pub(super) fn read(layers: &Layers) -> anyhow::Result<Settings> {
    let data = layers.parsed("data", |text| Ok(PathBuf::from(text)))?;
    let folder = layers.parsed("forge_folder", |text| match text {
        "" => Ok(data.join("forge")),
        path => Ok(PathBuf::from(path)),
    })?;
    // Phases run as this very program, wherever it was started from.
    let program = Program { path: std::env::current_exe()?, arguments: vec!["forge".into(), "phase".into()] };
    Ok(Settings {
        order: order(layers)?,
        slots: layers.parsed("forge_slots", |text| {
            let slots = text.parse().ok().filter(|slots| (1..=SLOTS).contains(slots));
            slots.ok_or_else(|| format!("`{text}` is not a number of slots: use 1 to {SLOTS}"))
        })?,
        timeout: layers.parsed("forge_timeout", some_time)?,
        retry: layers.parsed("forge_retry", some_time)?,
        origin: layers.parsed("forge_zone", origin)?,
        address: layers.parsed("forge_address", |text| {
            text.parse().map_err(|_| format!("`{text}` is no address: write it as 192.0.2.7 or 2001:db8::7"))
        })?,
        server: server(layers)?,
        ..Settings::new(folder, program)
    })
}

fn order(layers: &Layers) -> anyhow::Result<Order> {
    let leader = Leader {
        key: layers.parsed("forge_leader_key", |text| {
            turnwise::Name::new(text).map(String::from).map_err(|bad| bad.to_string())
        })?,
        ttl: layers.parsed("forge_leader_ttl_ms", |text| millis(text, 1_000, 3_600_000))?,
        renew: layers.parsed("forge_leader_renew_ms", |text| millis(text, 100, 3_600_000))?,
    };
    // A holder trusts itself for less than the whole time, and must ask again before that is over.
    if leader.renew * 2 > leader.ttl {
        return Err(usage(format!(
            "forge_leader_renew_ms is {} and forge_leader_ttl_ms {}: renew at half of it or earlier",
            leader.renew.as_millis(),
            leader.ttl.as_millis()
        )));
    }
    layers.parsed("forge_order", |text| match text {
        "per_service" => Ok(Order::PerService),
        "global" => Ok(Order::Global(leader.clone())),
        _ => Err(format!("`{text}` is no order: use per_service or global")),
    })
}

/// A span that is not empty: nothing is done in no time.
fn some_time(text: &str) -> Result<Duration, String> {
    match span::parse(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all: use 1s or more")),
        span => Ok(span),
    }
}

fn millis(text: &str, least: u64, most: u64) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    let bad = || format!("`{text}` is no number of milliseconds: use {least} to {most}");
    number.map(Duration::from_millis).ok_or_else(bad)
}

fn server(layers: &Layers) -> anyhow::Result<Option<NameServer>> {
    let address: Option<SocketAddr> = layers.parsed("forge_dns_server", |text| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            format!("`{text}` is no address: write it with its port, as 192.0.2.53:53 or [2001:db8::53]:53")
        }),
    })?;
    let key = layers.parsed("forge_dns_key", |text| match text {
        "" => Ok(None),
        text => Key::parse(text).map(Some).map_err(|why| format!("it {why}")),
    })?;
    Ok(address.map(|address| NameServer { address, key }))
}

#[cfg(test)]
mod tests {
    use super::super::Flags;
    use super::*;

    fn of(said: &[(&'static str, &str)]) -> anyhow::Result<Settings> {
        let flags: Flags = said.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        read(&Layers::stack(None, &[], flags)?)
    }

    #[test]
    fn every_value_is_checked() {
        let bad = [
            ("forge_order", "fifo", "per_service or global"),
            ("forge_slots", "0", "use 1 to"),
            ("forge_timeout", "0s", "no time at all"),
            ("forge_timeout", "15", "a unit"),
            ("forge_zone", "../x", "is no zone"),
            ("forge_address", "here", "is no address"),
            ("forge_dns_server", "192.0.2.53", "with its port"),
            ("forge_leader_key", "", "at least one character"),
            ("forge_leader_ttl_ms", "0", "use 1000 to"),
            ("forge_leader_renew_ms", "20000", "at half of it or earlier"),
        ];
        for (key, value, hint) in bad {
            let error = format!("{:#}", of(&[(key, value)]).unwrap_err());
            assert!(error.contains(hint), "{key}: {error}");
        }
        let settings = of(&[("forge_order", "global"), ("data", "d")]).unwrap();
        assert_eq!((settings.order, settings.folder), (Order::Global(Leader::default()), "d/forge".into()));
    }

    #[test]
    fn a_bad_key_is_not_repeated() {
        let error = format!("{:#}", of(&[("forge_dns_key", "forge:SECRET-CANARY")]).unwrap_err());
        assert!(error.contains("NAME:SECRET") && !error.contains("CANARY"), "{error}");
    }
}
