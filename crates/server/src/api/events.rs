//! What happened: page by page, or live.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::{self, error::SendTimeoutError};
use tokio::sync::watch;
use turnwise::{Cursor, limits};
use utoipa::{IntoParams, ToSchema};

use super::rows;
use crate::access::Caller;
use crate::input::{Asked, name, read_some};
use crate::live::Wanted;
use crate::live::reader::{Item, Reader};
use crate::live::render::{EventOut, Rendered, render};
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// What has come within this time goes over the line together,
const GATHERED: Duration = Duration::from_millis(100);
/// and so much longer for each who watches, up to a limit: each line that is sent costs the machine about the same, whether it
/// carries one event or many. With 5,000 watchers of one batch each the drain ran at 0.55 of its rate without this.
const LONGER: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_secs(2);
/// Something is said at least so often, so that a dead connection is noticed.
const ALIVE: Duration = Duration::from_secs(15);
/// Whoever takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which events, and how long to wait for the first.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// Only after this cursor. A page begins with the first event that is kept, a stream now.
    after: Option<u64>,
    /// At most so many in a page.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Hold the page back until it has an event, at most so many milliseconds and at most 30 s.
    wait_ms: Option<u64>,
    /// Only of this owner.
    owner: Option<String>,
    /// Only of this batch.
    batch: Option<String>,
    /// Only of this kind.
    kind: Option<String>,
}

/// Events in the order of their commits. With a filter, a page may be empty although more follow.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventsPage {
    events: Vec<EventOut>,
    /// Where to go on.
    next: u64,
}

/// Read events, or watch them live with `Accept: text/event-stream`. A stream sends at most 200 events a second to one
/// reader; `thinned` says what was left out, with the cursors to fetch it by.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", params(After,
        ("last-event-id" = Option<u64>, Header, description = "The cursor to resume a stream after.")),
    security(("token" = ["read"])),
    responses((status = 200, content((EventsPage = "application/json"), (String = "text/event-stream"))), Problems))]
pub(crate) async fn events(
    State(server): State<Arc<Shared>>,
    caller: Caller,
    headers: HeaderMap,
    Asked(asked): Asked<After>,
) -> Result<Response, Problem> {
    let wanted = Wanted {
        owner: caller.owner(name(asked.owner)?)?,
        kind: name(asked.kind)?,
        batch: read_some("bad_id", asked.batch.as_deref())?,
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::ACCEPT).is_some_and(|accepted| accepted.contains("text/event-stream")) {
        let resumed = read_some("bad_cursor", text(header::HeaderName::from_static("last-event-id")))?;
        return live(server, wanted, resumed.or(asked.after).map(Cursor::from_u64)).await;
    }
    let after = Cursor::from_u64(asked.after.unwrap_or(0));
    let page = page(&server, &wanted, after, rows(asked.limit), asked.wait_ms).await?;
    Ok(Json(page).into_response())
}

async fn page(
    server: &Shared,
    wanted: &Wanted,
    after: Cursor,
    limit: usize,
    wait_ms: Option<u64>,
) -> Result<EventsPage, Problem> {
    let patience = server.patience(wait_ms);
    tokio::pin!(patience);
    let mut after = after;
    loop {
        let told = server.engine.next_commit();
        tokio::pin!(told);
        // Listen before looking, so that nothing that happens in between is missed.
        let heard = poll_fn(|context| Poll::Ready(told.as_mut().poll(context).is_ready())).await;
        let (events, next) = server.engine.events(after, limit).await?;
        let end = events.is_empty();
        let found = render(&server.engine, &events).await?;
        let events: Vec<EventOut> =
            found.into_iter().filter(|event| wants(wanted, event)).map(|event| event.out).collect();
        let page = EventsPage { next: next.as_u64(), events };
        if !page.events.is_empty() || (!end && wait_ms.is_none()) {
            return Ok(page);
        }
        after = next;
        if end && !heard {
            tokio::select! {
                () = told => {}
                () = &mut patience => return Ok(page),
            }
        }
    }
}

fn wants(wanted: &Wanted, event: &Rendered) -> bool {
    wanted.owner.as_ref().is_none_or(|owner| event.owner.as_ref() == Some(owner))
        && wanted.kind.as_ref().is_none_or(|kind| event.kind.as_ref() == Some(kind))
        && wanted.batch.is_none_or(|batch| event.batch == Some(batch))
}

/// A live stream.
async fn live(server: Arc<Shared>, wanted: Wanted, after: Option<Cursor>) -> Result<Response, Problem> {
    let reader = Reader::new(wanted);
    let Some(position) = server.live.watch(&reader).await? else {
        let detail = "too many watch already: close some, or read pages";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_watchers", detail).after(10));
    };
    if let Some(after) = after {
        // Whoever comes too late is told now, as a problem, and not in the middle of a stream.
        server.engine.events(after, 1).await?;
    }
    let (lines, sent) = mpsc::channel::<Bytes>(1);
    let watcher = Watcher { server, reader, lines, last: after.unwrap_or(position), until: position };
    tokio::spawn(watcher.run());
    let body = stream::unfold(sent, |mut sent| async {
        let bytes = sent.recv().await?;
        Some((Ok::<_, Infallible>(bytes), sent))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Sends events to one who watches.
struct Watcher {
    server: Arc<Shared>,
    reader: Arc<Reader>,
    lines: mpsc::Sender<Bytes>,
    /// The cursor of the last event that was sent.
    last: Cursor,
    /// Up to here events are read from the store; from here on they are handed over.
    until: Cursor,
}

impl Watcher {
    async fn run(mut self) {
        // The first words open the stream, and tell a browser how soon to come back.
        if !self.send("retry: 1000\n\n".into()).await || !self.catch_up().await {
            return;
        }
        let mut closing = self.server.closing.clone();
        let mut pulse = self.server.live.pulses(&self.reader.wanted);
        loop {
            let mut text = String::new();
            tokio::select! {
                () = self.reader.told.notified() => {}
                said = next_pulse(&mut pulse) => text.push_str(&said),
                () = tokio::time::sleep(ALIVE) => text.push_str(":\n\n"),
                () = self.lines.closed() => return,
                _ = closing.wait_for(|closing| *closing) => return,
            }
            let (items, dropped) = self.reader.take();
            items.iter().for_each(|item| self.write(item, &mut text));
            if dropped {
                text.push_str(&farewell("you took too little for too long: resume by Last-Event-ID"));
            }
            if !text.is_empty() && !self.send(text).await || dropped {
                return;
            }
            let watching = u32::try_from(self.server.live.watching()).unwrap_or(u32::MAX);
            tokio::time::sleep((GATHERED + LONGER * watching.min(20_000)).min(LONGEST)).await;
        }
    }

    /// Sends what happened between where the reader was and where the feed is.
    async fn catch_up(&mut self) -> bool {
        while self.last < self.until {
            let engine = &self.server.engine;
            let read = async {
                let (events, next) = engine.events(self.last, limits::PAGE_ROWS).await?;
                Ok::<_, turnwise::Error>((render(engine, &events).await?, next))
            };
            let (events, next) = match read.await {
                Ok(read) => read,
                Err(error) => {
                    self.send(farewell(&error.to_string())).await;
                    return false;
                }
            };
            if events.is_empty() {
                return true;
            }
            let wanted = events.into_iter().filter(|event| wants(&self.reader.wanted, event));
            let text: String = wanted.map(|event| event.into_shown().text).collect();
            if !text.is_empty() && !self.send(text).await {
                return false;
            }
            self.last = next;
        }
        true
    }

    /// Writes down what is to be sent, unless it was sent already.
    fn write(&mut self, item: &Item, text: &mut String) {
        match item {
            Item::Event(event) if event.cursor > self.last => {
                text.push_str(&event.text);
                self.last = event.cursor;
            }
            Item::Thinned { from, to, count } if *to > self.last => {
                let (from, to) = (from.as_u64(), to.as_u64());
                let data = format!("{{\"from\":{from},\"to\":{to},\"left_out\":{count}}}");
                text.push_str(&format!("id: {to}\nevent: thinned\ndata: {data}\n\n"));
                self.last = Cursor::from_u64(to);
            }
            _ => {}
        }
    }

    /// Whether it was taken in time.
    async fn send(&self, text: String) -> bool {
        match self.lines.send_timeout(text.into(), PATIENCE).await {
            Ok(()) => true,
            Err(SendTimeoutError::Timeout(_)) => {
                tracing::debug!("a watcher took nothing for too long and was let go");
                false
            }
            Err(SendTimeoutError::Closed(_)) => false,
        }
    }
}

/// The last words of a stream.
fn farewell(reason: &str) -> String {
    format!("event: dropped\ndata: {}\n\n", json!({"reason": reason}))
}

/// Totals, for those who watch everything.
async fn next_pulse(pulse: &mut Option<watch::Receiver<Arc<str>>>) -> Arc<str> {
    if let Some(said) = pulse
        && said.changed().await.is_ok()
    {
        return said.borrow_and_update().clone();
    }
    std::future::pending().await
}
