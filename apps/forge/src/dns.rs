//! The names of services: a record for each in a zone file, and on a name server if there is one.
//!
//! Beside each name stands a mark: which request made it, which commit of the service that was, and under which claim.
//! Mark and name change together or not at all, and only from the mark that was seen: that is what keeps a change from
//! being made twice, and an older one from following a newer.

mod mark;
pub(crate) mod server;
mod tsig;
mod wire;
pub(crate) mod zone;

pub use mark::Mark;
pub use tsig::Key;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What is to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The service: the label below the origin.
    pub(crate) service: String,
    /// What its name leads to.
    pub(crate) address: IpAddr,
    /// Which change this is.
    pub(crate) mark: Mark,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Published {
    /// It was written now.
    Changed,
    /// It was there already.
    Already,
    /// A later change of the same service is there: nothing is taken back.
    Superseded,
}

impl Record {
    /// `A` or `AAAA`.
    fn kind(&self) -> &'static str {
        if self.address.is_ipv4() { "A" } else { "AAAA" }
    }
}
