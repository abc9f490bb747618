//! Tickets and reports: what travels through the broker. Both are hints.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::broker::{Declare, Routing};
use turnwise_drivers::store::Blob;

/// A job that may be claimed, in this version. Never the payload.
pub(crate) type Ticket = (JobId, u32);

/// Several tickets of one kind: never more than one worker has free slots.
#[derive(Serialize, Deserialize)]
pub(crate) struct Tickets {
    pub(crate) kind: Name,
    pub(crate) tickets: Vec<Ticket>,
}

/// What a worker tells the scheduler. Everything in it is as of now and counted whole, so that a lost report is
/// mended by the next.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) session: Option<SessionId>,
    /// Grows; an older report that comes late is dropped.
    pub(crate) number: u64,
    /// Slots by pool that no reported claim holds. Tickets that were not reported yet are not counted off: the
    /// scheduler knows of them.
    pub(crate) free: Vec<(Name, u32)>,
    /// Claimed.
    pub(crate) started: Vec<Ticket>,
    /// The claim was refused because there is nothing to claim.
    pub(crate) gone: Vec<Ticket>,
    /// Handed back: no free slot, or not served here.
    pub(crate) returned: Vec<Ticket>,
    /// Refused for now by a cap, a rate or a pause.
    pub(crate) blocked: Vec<(JobId, u32, Time)>,
    /// The worker has gone; its slots with it.
    pub(crate) leaving: bool,
}

/// The exchange of tickets, as operators of such systems know it.
pub(crate) fn task_exchange() -> Name {
    fixed("task.exchange")
}

/// The queue of a kind.
pub(crate) fn kind_queue(kind: &Name) -> Declare {
    Declare {
        exchange: task_exchange(),
        routing: Routing::Direct,
        queue: long(kind, "queue"),
        key: kind_key(kind),
        durable: false,
    }
}

/// The routing key of a kind.
pub(crate) fn kind_key(kind: &Name) -> String {
    format!("task.{kind}")
}

/// The queue of reports to the scheduler.
pub(crate) fn report_queue() -> Declare {
    Declare {
        exchange: task_exchange(),
        routing: Routing::Direct,
        queue: fixed("scheduler.reports"),
        key: REPORT_KEY.into(),
        durable: false,
    }
}

/// The routing key of reports.
pub(crate) const REPORT_KEY: &str = "scheduler.report";

/// `{kind}.queue`; a kind whose name leaves no room for that is cut, which no two declared kinds share by chance.
fn long(kind: &Name, suffix: &str) -> Name {
    Name::new(format!("{kind}.{suffix}")).unwrap_or_else(|_| kind.clone())
}

fn fixed(name: &str) -> Name {
    Name::new(name).expect("a fixed name is valid")
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Blob {
    // Plain data without maps of foreign types: it always encodes.
    postcard::to_stdvec(value).expect("plain data encodes").into()
}

pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    postcard::from_bytes(body).ok()
}
