//! Ports that nobody uses.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// Below those that systems hand out to whoever connects somewhere: a server that is restarted finds its port
/// free again.
const FROM: u64 = 12_000;
const COUNT: u64 = 20_000;

/// A port that was free a moment ago. Whoever starts a server on it must be ready to try another.
pub(crate) fn free() -> Result<u16> {
    let start = number();
    (0..COUNT)
        .filter_map(|step| u16::try_from(FROM + start.wrapping_add(step) % COUNT).ok())
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no port is free on 127.0.0.1: stop servers that nobody needs")
}

/// Any number.
pub(crate) fn number() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_used() {
        let port = free().unwrap();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    }
}
