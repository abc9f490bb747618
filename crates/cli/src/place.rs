//! Where the server of a data directory is: written when it opens, removed when it closes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::refused;
use crate::private;

/// Where a server is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Where this machine reaches it.
    pub(crate) address: SocketAddr,
    /// Whose it is.
    pub(crate) pid: u32,
    /// The version of the program.
    pub(crate) version: String,
}

impl Place {
    /// A server that listens there. One that listens everywhere is reached on the loopback address.
    pub(crate) fn of(listening: SocketAddr) -> Place {
        let ip = match listening.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let address = SocketAddr::new(ip, listening.port());
        Place { address, pid: std::process::id(), version: env!("CARGO_PKG_VERSION").into() }
    }

    fn path(data: &Path) -> PathBuf {
        data.join("server.json")
    }

    pub(crate) fn write(&self, data: &Path) -> anyhow::Result<()> {
        private::write(&Place::path(data), &serde_json::to_string(self)?)
    }

    /// Nothing if no server was opened there, or it was closed properly.
    pub(crate) fn read(data: &Path) -> anyhow::Result<Option<Place>> {
        let path = Place::path(data);
        let Some(text) = private::read(&path)? else { return Ok(None) };
        let place = serde_json::from_str(&text);
        place
            .map(Some)
            .map_err(|_| refused(format!("{} cannot be read: start the engine again", path.display())))
    }

    /// The server is closed. If the file cannot be removed, readers find nobody at the address.
    pub(crate) fn remove(data: &Path) {
        let _ = std::fs::remove_file(Place::path(data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_read_removed() {
        let home = tempfile::tempdir().unwrap();
        assert!(Place::read(home.path()).unwrap().is_none());
        Place::of("0.0.0.0:7700".parse().unwrap()).write(home.path()).unwrap();
        let place = Place::read(home.path()).unwrap().unwrap();
        assert_eq!(place.address.to_string(), "127.0.0.1:7700");
        Place::remove(home.path());
        assert!(Place::read(home.path()).unwrap().is_none());
    }
}
