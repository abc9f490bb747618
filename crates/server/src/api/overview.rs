//! Everything at a glance: totals by kind, and what an operator should look at.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use turnwise::{State as JobState, Tally, Target, Time};
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::clock;
use crate::problem::Problems;
use crate::state::Shared;

/// A kind whose oldest ready job has waited for so long is worth a look, in microseconds.
const STALE: i64 = 10 * 60 * 1_000_000;

/// Jobs by state. They are counters that changed with the jobs, never counted up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Totals {
    pub(crate) waiting: u64,
    pub(crate) scheduled: u64,
    pub(crate) ready: u64,
    pub(crate) running: u64,
    pub(crate) retrying: u64,
    pub(crate) done: u64,
    pub(crate) dead: u64,
    pub(crate) cancelled: u64,
}

impl Totals {
    pub(crate) fn of(tally: &Tally) -> Self {
        Totals {
            waiting: tally.of(JobState::Waiting),
            scheduled: tally.of(JobState::Scheduled),
            ready: tally.of(JobState::Ready),
            running: tally.of(JobState::Running),
            retrying: tally.of(JobState::Retrying),
            done: tally.of(JobState::Done),
            dead: tally.of(JobState::Dead),
            cancelled: tally.of(JobState::Cancelled),
        }
    }

    pub(crate) fn plus(self, other: Totals) -> Totals {
        Totals {
            waiting: self.waiting + other.waiting,
            scheduled: self.scheduled + other.scheduled,
            ready: self.ready + other.ready,
            running: self.running + other.running,
            retrying: self.retrying + other.retrying,
            done: self.done + other.done,
            dead: self.dead + other.dead,
            cancelled: self.cancelled + other.cancelled,
        }
    }
}

/// A kind at a glance.
#[derive(Serialize, ToSchema)]
pub(crate) struct KindGlance {
    name: String,
    totals: Totals,
    /// When its oldest ready job was submitted, among those that were looked at.
    oldest_ready: Option<i64>,
    /// Whether nothing of it starts.
    paused: bool,
    /// It has ready work and no worker.
    alarm: bool,
}

/// Something to look at.
#[derive(Serialize, ToSchema)]
pub(crate) struct Alarm {
    /// `no_worker`, `stale_jobs`, `dead_letters` or `paused_kind`.
    code: &'static str,
    /// `warning` or `critical`.
    severity: &'static str,
    /// What is the matter, and what to do.
    text: String,
    /// The kind that it is about.
    kind: Option<String>,
}

/// Everything at a glance.
#[derive(Serialize, ToSchema)]
pub(crate) struct Overview {
    /// The time of this process.
    time: i64,
    version: &'static str,
    node: String,
    /// `embedded` or `fleet`.
    profile: &'static str,
    totals: Totals,
    kinds: Vec<KindGlance>,
    alarms: Vec<Alarm>,
}

/// See everything at a glance.
#[utoipa::path(get, path = "/api/v1/overview", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Overview), Problems))]
pub(crate) async fn overview(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Overview> {
    caller.must_be_free()?;
    let engine = &server.engine;
    let (totals, oldest) = (engine.totals().await?, engine.oldest_ready().await?);
    let (alarms, pauses) = (engine.alarms(), engine.pauses().await?);
    let now = clock::now();
    let kinds = engine.kinds().await?;
    let kinds: Vec<KindGlance> = kinds
        .iter()
        .map(|kind| KindGlance {
            name: kind.name.to_string(),
            totals: totals.get(&kind.name).map(Totals::of).unwrap_or_default(),
            oldest_ready: oldest.get(&kind.name).map(|time| time.as_micros()),
            paused: pauses.contains(&Target::Kind(kind.name.clone())),
            alarm: alarms.contains(&kind.name),
        })
        .collect();
    let sum = totals.values().map(Totals::of).fold(Totals::default(), Totals::plus);
    Ok(Json(Overview {
        time: now.as_micros(),
        version: env!("CARGO_PKG_VERSION"),
        node: engine.node().to_owned(),
        profile: server.profile,
        totals: sum,
        alarms: kinds.iter().flat_map(|kind| alarms_of(kind, now)).collect(),
        kinds,
    }))
}

fn alarms_of(kind: &KindGlance, now: Time) -> Vec<Alarm> {
    let KindGlance { name, totals, .. } = kind;
    let alarm = |code, severity, text| Alarm { code, severity, text, kind: Some(name.clone()) };
    let waited = kind.oldest_ready.map_or(0, |since| now.as_micros().saturating_sub(since));
    let mut alarms = Vec::new();
    if kind.alarm {
        let text = format!("kind `{name}` has {} ready jobs and no worker: start one", totals.ready);
        alarms.push(alarm("no_worker", "critical", text));
    } else if kind.paused && totals.ready > 0 {
        let text = format!("kind `{name}` is paused, and {} jobs are ready: resume it", totals.ready);
        alarms.push(alarm("paused_kind", "warning", text));
    } else if waited > STALE {
        let text = format!(
            "a job of kind `{name}` has been ready for {} min: add slots or workers, or look who is paused",
            waited / 60_000_000
        );
        alarms.push(alarm("stale_jobs", "warning", text));
    }
    if totals.dead > 0 {
        let text = format!(
            "kind `{name}` has {} dead letters: read their errors, then replay or cancel",
            totals.dead
        );
        alarms.push(alarm("dead_letters", "warning", text));
    }
    alarms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_look_at() {
        let calm = KindGlance {
            name: "a".into(),
            totals: Totals { ready: 1, ..Totals::default() },
            oldest_ready: Some(0),
            paused: false,
            alarm: false,
        };
        let codes = |kind: &KindGlance, now: i64| -> Vec<&str> {
            alarms_of(kind, Time::from_micros(now)).iter().map(|alarm| alarm.code).collect()
        };
        assert!(codes(&calm, STALE).is_empty());
        assert_eq!(codes(&calm, STALE + 1), ["stale_jobs"]);
        let paused = KindGlance { paused: true, ..calm };
        assert_eq!(codes(&paused, STALE + 1), ["paused_kind"]);
        let totals = Totals { dead: 2, ready: 1, ..Totals::default() };
        let lonely = KindGlance { alarm: true, totals, ..paused };
        assert_eq!(codes(&lonely, 0), ["no_worker", "dead_letters"]);
    }
}
