//! Kinds: their rules, their counts, and their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use turnwise::{Kind, LimitsChange, Name, Rate, Refusal, Target};
use utoipa::ToSchema;

use super::Answer;
use super::overview::Totals;
use super::pausing::{Paused, Verb};
use crate::access::Caller;
use crate::input::Said;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A kind, its rules and its counts.
#[derive(Serialize, ToSchema)]
pub(crate) struct KindOut {
    name: String,
    /// The slots that it shares with other kinds.
    pool: String,
    /// What happens after a failure.
    #[schema(value_type = Object)]
    retry: Value,
    /// How long its handler may take, in milliseconds.
    deadline: Option<u64>,
    /// How many run at once in all processes together.
    cap: Option<u32>,
    /// How many run at once for one limit key.
    key_cap: Option<u32>,
    /// How many start in a time in all processes together.
    rate: Option<RateSaid>,
    /// How many start in a time for one limit key.
    key_rate: Option<RateSaid>,
    /// The lease that its jobs run under.
    lease: Option<String>,
    /// How often a job may be taken from a dead worker.
    rescues: u16,
    /// Whether nothing of it starts.
    paused: bool,
    /// It has ready work and no worker.
    alarm: bool,
    totals: Totals,
}

/// So many starts in a time.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateSaid {
    /// How many.
    #[schema(minimum = 1)]
    count: u32,
    /// In how many milliseconds.
    #[schema(minimum = 1, maximum = 3_600_000)]
    per_ms: u64,
    /// How many of them may come at once; all of them unless said.
    #[schema(minimum = 1)]
    burst: Option<u32>,
}

impl RateSaid {
    fn of(rate: &Rate) -> Self {
        RateSaid { count: rate.count, per_ms: millis(rate.per), burst: Some(rate.burst) }
    }

    fn meant(self) -> Rate {
        let rate = Rate::new(self.count, Duration::from_millis(self.per_ms));
        self.burst.map_or(rate, |burst| rate.burst(burst))
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Every kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct Kinds {
    kinds: Vec<KindOut>,
    /// Kinds that this process would know if it were started otherwise.
    off: Vec<Off>,
}

/// A kind that is off.
#[derive(Serialize, ToSchema)]
pub(crate) struct Off {
    name: &'static str,
    /// What turns it on.
    flag: &'static str,
}

/// List the kinds that the engine knows.
#[utoipa::path(get, path = "/api/v1/kinds", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Kinds), Problems))]
pub(crate) async fn list(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Kinds> {
    let engine = &server.engine;
    // Counts of all owners together are not for those who may see one.
    let totals = if caller.owners.is_none() { engine.totals().await? } else { BTreeMap::new() };
    let (alarms, pauses) = (engine.alarms(), engine.pauses().await?);
    let kinds = engine.kinds().await?;
    let kinds = kinds.iter().map(|kind| {
        let alarm = alarms.contains(&kind.name);
        shown(kind, &pauses, alarm, totals.get(&kind.name).map(Totals::of).unwrap_or_default())
    });
    let off = server.admission.off.iter().map(|&(name, flag)| Off { name, flag });
    Ok(Json(Kinds { kinds: kinds.collect(), off: off.collect() }))
}

fn shown(kind: &Kind, pauses: &BTreeSet<Target>, alarm: bool, totals: Totals) -> KindOut {
    KindOut {
        name: kind.name.to_string(),
        pool: kind.pool.to_string(),
        retry: serde_json::to_value(&kind.retry).unwrap_or_default(),
        deadline: kind.deadline.map(millis),
        cap: kind.cap,
        key_cap: kind.key_cap,
        rate: kind.rate.as_ref().map(RateSaid::of),
        key_rate: kind.key_rate.as_ref().map(RateSaid::of),
        lease: kind.lease.as_ref().map(ToString::to_string),
        rescues: kind.rescues,
        paused: pauses.contains(&Target::Kind(kind.name.clone())),
        alarm,
        totals,
    }
}

/// Pause or resume a kind.
#[utoipa::path(post, path = "/api/v1/kinds/{kind}/{verb}", tag = "operating",
    params(("kind" = String, Path), ("verb" = Verb, Path)), security(("token" = ["admin"])),
    responses((status = 200, body = Paused), Problems))]
pub(crate) async fn act(
    State(server): State<Arc<Shared>>,
    Path((kind, verb)): Path<(String, String)>,
) -> Answer<Paused> {
    let (kind, verb) = (Name::new(kind).map_err(turnwise::Error::from)?, Verb::read(&verb)?);
    match verb {
        Verb::Pause => server.engine.pause(Target::Kind(kind)).await?,
        Verb::Resume => server.engine.resume(Target::Kind(kind)).await?,
    }
    Ok(Json(Paused { paused: verb == Verb::Pause }))
}

/// Limits to change. What is left out stays; `null` takes a limit away.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KindChange {
    /// How many run at once in all processes together.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    cap: Option<Option<u32>>,
    /// How many run at once for one limit key.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    key_cap: Option<Option<u32>>,
    /// How many start in a time in all processes together.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<RateSaid>)]
    rate: Option<Option<RateSaid>>,
    /// How many start in a time for one limit key.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<RateSaid>)]
    key_rate: Option<Option<RateSaid>>,
}

/// Tells `null` from nothing.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(said: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(said).map(Some)
}

/// Change the limits of a kind. They hold until a program declares the kind again, which it does when it starts.
#[utoipa::path(patch, path = "/api/v1/kinds/{kind}", tag = "operating", params(("kind" = String, Path)),
    request_body = KindChange, security(("token" = ["admin"])), responses((status = 200, body = KindOut), Problems))]
pub(crate) async fn change(
    State(server): State<Arc<Shared>>,
    Path(name): Path<String>,
    Said(change): Said<KindChange>,
) -> Answer<KindOut> {
    let KindChange { cap, key_cap, rate, key_rate } = change;
    let meant = |rate: Option<Option<RateSaid>>| rate.map(|rate| rate.map(RateSaid::meant));
    let change = LimitsChange { cap, key_cap, rate: meant(rate), key_rate: meant(key_rate) };
    if change == LimitsChange::default() {
        return Err(Problem::bad("invalid", "say what to change: cap, key_cap, rate or key_rate"));
    }
    let engine = &server.engine;
    engine.set_limits(&name, change).await?;
    let name = Name::new(name).map_err(turnwise::Error::from)?;
    let kinds = engine.kinds().await?;
    let kind = kinds.iter().find(|kind| kind.name == name).ok_or(Refusal::UnknownKind(name.clone()))?;
    let totals = engine.totals().await?.get(&name).map(Totals::of).unwrap_or_default();
    Ok(Json(shown(kind, &engine.pauses().await?, engine.alarms().contains(&name), totals)))
}
