//! Whether the servers of a fleet are as nodes need them.

use turnwise_drivers::examine::Finding;
use turnwise_drivers::open::{self, FleetOptions};

use crate::flow::ticket::{kind_queue, report_queue};

/// Looks for what is wrong with the servers of a fleet, without changing anything. Every server is looked at, and one that
/// does not answer is given up after a few seconds.
pub async fn examine(servers: &FleetOptions) -> Vec<Finding> {
    open::examine(servers, |kinds| kinds.iter().map(kind_queue).chain([report_queue()]).collect()).await
}
