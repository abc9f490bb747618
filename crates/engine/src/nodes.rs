//! Who is there: the processes that share the store, and who holds which right.

use std::collections::BTreeMap;

use serde::Serialize;
use turnwise_core::ids::SessionId;
use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Found, Read, Session};

use crate::Error;
use crate::engine::{Engine, odd_answer};
use crate::loops::scheduler::{holder_name, lease_name};

/// Nodes and leases at one time.
#[derive(Clone, Debug, Serialize)]
pub struct NodesView {
    /// The time on the store's clock, which every other time here is judged by.
    pub time: Time,
    /// The nodes, by name and number.
    pub nodes: Vec<NodeView>,
    /// The leases, by name.
    pub leases: Vec<LeaseView>,
}

/// A process and what it does.
#[derive(Clone, Debug, Serialize)]
pub struct NodeView {
    /// Its name.
    pub node: Name,
    /// The number in the ids that it makes.
    pub number: u16,
    /// Its session: a process that was taken for dead begins another.
    pub session: SessionId,
    /// What it does: `api`, `scheduler`, `worker`.
    pub roles: Vec<&'static str>,
    /// Whether it is the scheduler that plans.
    pub leads: bool,
    /// Slots by pool.
    pub slots: BTreeMap<Name, u32>,
    /// How many jobs it runs.
    pub running: usize,
    /// When its session was opened.
    pub since: Time,
    /// Until when its session lasts without another heartbeat.
    pub until: Time,
    /// Whether its session lasts. If not, its jobs are being rescued.
    pub alive: bool,
    /// Whether it is drained: what it runs ends, and nothing more begins.
    pub drained: bool,
}

/// A lease and who has it.
#[derive(Clone, Debug, Serialize)]
pub struct LeaseView {
    /// The lease.
    #[serde(flatten)]
    pub lease: Lease,
    /// Whether its term lasts. If not, whoever asks for it gets it.
    pub held: bool,
}

impl Engine {
    /// The nodes that share the store with this one, itself among them, and the leases.
    pub async fn nodes(&self) -> Result<NodesView, Error> {
        let inner = &self.inner;
        // The time first: somebody who ends meanwhile is still shown, instead of nobody because this process was
        // held up in between.
        let time = inner.store_time().await?;
        let Found::Sessions(mut sessions) = inner.read(Read::Sessions).await? else {
            return Err(odd_answer());
        };
        let Found::Roles(roles) = inner.read(Read::Roles).await? else { return Err(odd_answer()) };
        let Found::Leases(mut leases) = inner.read(Read::Leases).await? else { return Err(odd_answer()) };
        let Found::Pauses(pauses) = inner.read(Read::Pauses).await? else { return Err(odd_answer()) };
        leases.sort_by(|one, other| one.name.cmp(&other.name));
        // Who said farewell is gone, even if nobody has buried it yet.
        sessions.retain(|session| session.until != Time::ZERO);
        sessions.sort_by(|one, other| (&one.node, one.number).cmp(&(&other.node, other.number)));
        let leader = leases.iter().find(|lease| lease.name == lease_name() && lease.until > time);
        let leader = leader.map(|lease| lease.holder.clone());
        let mut nodes = Vec::new();
        for session in sessions {
            let Session { id, node, number, pools, opened, until, .. } = session;
            // No more than it has slots, and its own heartbeat reads them too.
            let Found::Jobs(running) = inner.read(Read::Running(id)).await? else {
                return Err(odd_answer());
            };
            nodes.push(NodeView {
                drained: pauses.drains(&node),
                leads: leader.as_ref() == Some(&holder_name(&node, id)),
                node,
                number,
                session: id,
                roles: roles.get(&number).map(|roles| roles.names()).unwrap_or_default(),
                slots: pools,
                running: running.len(),
                since: opened,
                until,
                alive: until > time,
            });
        }
        let leases = leases.into_iter().map(|lease| LeaseView { held: lease.until > time, lease });
        Ok(NodesView { time, nodes, leases: leases.collect() })
    }
}
