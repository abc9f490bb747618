//! Who is there: processes, what they do, and which rights they hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turnwise::{LeaseView, Name, NodeView};
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A process and what it does.
#[derive(Serialize, ToSchema)]
pub(crate) struct NodeOut {
    node: String,
    /// The number in the ids that it makes.
    number: u16,
    session: String,
    /// `api`, `scheduler`, `worker`.
    roles: Vec<&'static str>,
    /// Whether it is the scheduler that plans.
    leads: bool,
    /// Slots by pool.
    slots: BTreeMap<String, u32>,
    /// How many jobs it runs.
    running: usize,
    /// When its session was opened.
    since: i64,
    /// Until when its session lasts without another heartbeat.
    until: i64,
    /// Whether its session lasts. If not, its jobs are being rescued.
    alive: bool,
    /// Whether it is drained: what it runs ends, and nothing more begins.
    drained: bool,
}

/// A lease and who has it.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeaseOut {
    name: String,
    holder: String,
    /// What grows each time it is taken: what an older term writes is refused.
    term: u64,
    until: i64,
    /// Whether its term lasts. If not, whoever asks for it gets it.
    held: bool,
}

/// Nodes and leases at one time.
#[derive(Serialize, ToSchema)]
pub(crate) struct Nodes {
    /// The time on the store's clock, which every other time here is judged by.
    time: i64,
    nodes: Vec<NodeOut>,
    leases: Vec<LeaseOut>,
}

/// List nodes and leases.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Nodes), Problems))]
pub(crate) async fn nodes(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Nodes> {
    caller.must_be_free()?;
    let seen = server.engine.nodes().await?;
    Ok(Json(Nodes {
        time: seen.time.as_micros(),
        nodes: seen.nodes.into_iter().map(node).collect(),
        leases: seen.leases.into_iter().map(lease).collect(),
    }))
}

/// What a node can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verb {
    /// Nothing more begins there. What runs, runs on.
    Drain,
    /// Ends that.
    Resume,
}

/// Whether a node is drained now, and what it still does.
#[derive(Serialize, ToSchema)]
pub(crate) struct Drained {
    drained: bool,
    /// How many jobs it runs still.
    running: usize,
}

/// Drain a node, or let it go on.
///
/// A node that is drained begins nothing more: when nothing runs there any more, it can be stopped without anybody
/// noticing. It hears of the end of it with its next heartbeat.
#[utoipa::path(post, path = "/api/v1/nodes/{node}/{verb}", tag = "operating",
    params(("node" = String, Path), ("verb" = Verb, Path)), security(("token" = ["admin"])),
    responses((status = 200, body = Drained), Problems))]
pub(crate) async fn act(
    State(server): State<Arc<Shared>>,
    Path((node, verb)): Path<(String, String)>,
) -> Answer<Drained> {
    let engine = &server.engine;
    let name = Name::new(node).map_err(turnwise::Error::from)?;
    let here: Vec<NodeView> =
        engine.nodes().await?.nodes.into_iter().filter(|one| one.node == name).collect();
    let drain = match verb.as_str() {
        "drain" => true,
        "resume" => false,
        _ => return Err(Problem::bad("bad_verb", "a node can be told to drain or resume")),
    };
    match drain {
        true if here.is_empty() => {
            let detail = format!("there is no node `{name}`: `turnwise nodes` lists them");
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_node", detail));
        }
        true => engine.drain_node(&name).await?,
        // Also of one that has gone: its name may come back.
        false => engine.resume_node(&name).await?,
    }
    Ok(Json(Drained { drained: drain, running: here.iter().map(|node| node.running).sum() }))
}

/// Every lease.
#[derive(Serialize, ToSchema)]
pub(crate) struct Leases {
    /// The time on the store's clock.
    time: i64,
    leases: Vec<LeaseOut>,
}

/// List leases.
#[utoipa::path(get, path = "/api/v1/leases", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Leases), Problems))]
pub(crate) async fn leases(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Leases> {
    caller.must_be_free()?;
    let seen = server.engine.nodes().await?;
    let leases = seen.leases.into_iter().map(lease).collect();
    Ok(Json(Leases { time: seen.time.as_micros(), leases }))
}

fn node(view: NodeView) -> NodeOut {
    NodeOut {
        node: view.node.into(),
        number: view.number,
        session: view.session.to_string(),
        roles: view.roles,
        leads: view.leads,
        slots: view.slots.into_iter().map(|(pool, slots)| (pool.into(), slots)).collect(),
        running: view.running,
        since: view.since.as_micros(),
        until: view.until.as_micros(),
        alive: view.alive,
        drained: view.drained,
    }
}

fn lease(view: LeaseView) -> LeaseOut {
    LeaseOut {
        name: view.lease.name.into(),
        holder: view.lease.holder.into(),
        term: view.lease.term,
        until: view.lease.until.as_micros(),
        held: view.held,
    }
}
