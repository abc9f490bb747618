//! An event as it is shown: with the kind, the owner and the batch of its job.

use std::sync::Arc;

use hashbrown::HashMap;
use serde::Serialize;
use turnwise::{
    BatchId, Cause, Cursor, Engine, Error, Event, EventView, LaneId, LineId, LineKey, Name, Target,
};
use utoipa::ToSchema;

/// An event.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct EventOut {
    /// Where it is in the stream.
    pub(crate) cursor: u64,
    /// When it was committed.
    at: i64,
    /// `job`, `batch_opened`, `batch_sealed`, `batch_settled`, `batch_parked`, `batch_released`, `batch_cancelled`,
    /// `lane_halted`, `lane_paused`, `paused`, `kind_declared`, `owner_changed`, `session_opened`, `session_ended`,
    /// `lease_taken` or `audit`.
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// The state that the job is in now.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// Why: `submitted`, `claimed`, `completed`, `failed`, `snoozed`, `stopped`, `released`, `rescued`, `cancelled`,
    /// `ripened`, `promoted`, `held`, `expedited`, `replayed` or `stepped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u16>,
    /// When the job is due again.
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The name of a step, a lease or a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    /// Whether the session ended without a farewell.
    #[serde(skip_serializing_if = "Option::is_none")]
    died: Option<bool>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// What was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// An event that is ready to be sent, and whom it concerns.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) cursor: Cursor,
    pub(crate) batch: Option<BatchId>,
    pub(crate) owner: Option<Name>,
    pub(crate) kind: Option<Name>,
    /// As it goes over the line.
    pub(crate) text: String,
}

/// Events with whom they concern, and how they are shown.
pub(crate) struct Rendered {
    pub(crate) out: EventOut,
    pub(crate) batch: Option<BatchId>,
    pub(crate) owner: Option<Name>,
    pub(crate) kind: Option<Name>,
    /// A turn was taken.
    pub(crate) started: bool,
}

impl Rendered {
    /// As it goes over the line.
    pub(crate) fn into_shown(self) -> Shown {
        let Rendered { out, batch, owner, kind, .. } = self;
        // Plain data without maps: it always encodes.
        let data = serde_json::to_string(&out).unwrap_or_default();
        let text = format!("id: {}\nevent: {}\ndata: {data}\n\n", out.cursor, out.what);
        Shown { cursor: Cursor::from_u64(out.cursor), batch, owner, kind, text }
    }
}

/// Looks up what events only name by number.
pub(crate) async fn render(engine: &Engine, events: &[EventView]) -> Result<Vec<Rendered>, Error> {
    let mut lines: Vec<LineId> = events.iter().filter_map(|view| line_of(&view.event)).collect();
    lines.sort_unstable();
    lines.dedup();
    let lines: HashMap<LineId, Arc<LineKey>> = engine.lines(&lines).await?.into_iter().collect();
    let lanes: Vec<LaneId> = events.iter().filter_map(|view| lane_of(&view.event)).collect();
    let lanes = if lanes.is_empty() { Default::default() } else { engine.lane_names(&lanes).await? };
    let render = |view: &EventView| {
        let line = line_of(&view.event).and_then(|line| lines.get(&line)).map(Arc::as_ref);
        let lane = lane_of(&view.event).and_then(|lane| lanes.get(&lane));
        one(view, line, lane)
    };
    Ok(events.iter().map(render).collect())
}

fn line_of(event: &Event) -> Option<LineId> {
    match event {
        Event::Job { line, .. } => Some(*line),
        _ => None,
    }
}

fn lane_of(event: &Event) -> Option<LaneId> {
    match event {
        Event::LaneHalted(lane) | Event::LanePaused(lane, _) => Some(*lane),
        _ => None,
    }
}

fn one(view: &EventView, line: Option<&LineKey>, lane: Option<&Name>) -> Rendered {
    let mut out = EventOut { cursor: view.cursor.as_u64(), at: view.at.as_micros(), ..EventOut::default() };
    let (mut batch, mut owner, mut kind) = (
        line.and_then(|line| line.batch),
        line.map(|line| line.owner.clone()),
        line.map(|line| line.kind.clone()),
    );
    let mut started = false;
    let mut of_batch = |id: BatchId| batch = Some(id);
    out.what = match &view.event {
        Event::Job { job, state, cause, .. } => {
            (out.job, out.state) = (Some(job.to_string()), Some(state.word()));
            started = matches!(cause, Cause::Claimed { .. });
            why(&mut out, cause);
            "job"
        }
        Event::BatchOpened(id) => (of_batch(*id), "batch_opened").1,
        Event::BatchSealed(id) => (of_batch(*id), "batch_sealed").1,
        Event::BatchSettled(id) => (of_batch(*id), "batch_settled").1,
        Event::BatchParked(id) => (of_batch(*id), "batch_parked").1,
        Event::BatchReleased(id) => (of_batch(*id), "batch_released").1,
        Event::BatchCancelled(id) => (of_batch(*id), "batch_cancelled").1,
        Event::LaneHalted(_) => "lane_halted",
        Event::LanePaused(_, paused) => {
            out.paused = Some(*paused);
            "lane_paused"
        }
        Event::Paused(target, paused) => {
            out.paused = Some(*paused);
            match target {
                Target::Kind(name) => kind = Some(name.clone()),
                Target::Owner(name) => owner = Some(name.clone()),
                Target::Batch(id) => of_batch(*id),
                Target::Node(name) => out.name = Some(name.to_string()),
            }
            "paused"
        }
        Event::KindDeclared(name) => {
            kind = Some(name.clone());
            "kind_declared"
        }
        Event::OwnerChanged(name) => {
            owner = Some(name.clone());
            "owner_changed"
        }
        Event::SessionOpened(session) => {
            out.session = Some(session.to_string());
            "session_opened"
        }
        Event::SessionEnded { session, died } => {
            (out.session, out.died) = (Some(session.to_string()), Some(*died));
            "session_ended"
        }
        Event::LeaseTaken { name, term } => {
            (out.name, out.term) = (Some(name.to_string()), Some(*term));
            "lease_taken"
        }
        Event::Audit { by, what } => {
            (out.by, out.text) = (Some(by.to_string()), Some(what.clone()));
            "audit"
        }
    };
    out.lane = lane.map(ToString::to_string);
    out.kind = kind.as_ref().map(ToString::to_string);
    out.owner = owner.as_ref().map(ToString::to_string);
    out.batch = batch.map(|batch| batch.to_string());
    Rendered { out, batch, owner, kind, started }
}

fn why(out: &mut EventOut, cause: &Cause) {
    out.cause = Some(match cause {
        Cause::Submitted => "submitted",
        Cause::Claimed { session, attempt, .. } => {
            (out.session, out.attempt) = (Some(session.to_string()), Some(*attempt));
            "claimed"
        }
        Cause::Completed => "completed",
        Cause::Failed { attempt, due } => {
            (out.attempt, out.due) = (Some(*attempt), due.map(turnwise::Time::as_micros));
            "failed"
        }
        Cause::Snoozed { due } => {
            out.due = Some(due.as_micros());
            "snoozed"
        }
        Cause::Stopped => "stopped",
        Cause::Released => "released",
        Cause::Rescued { session } => {
            out.session = Some(session.to_string());
            "rescued"
        }
        Cause::Cancelled => "cancelled",
        Cause::Ripened => "ripened",
        Cause::Promoted => "promoted",
        Cause::Held => "held",
        Cause::Expedited => "expedited",
        Cause::Replayed => "replayed",
        Cause::Stepped { name } => {
            out.name = Some(name.to_string());
            "stepped"
        }
    });
}
