//! The feed: reads the store's events for all who watch, while anybody does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;
use turnwise::{Cursor, Error, limits};

use super::reader::Reader;
use super::render::{Rendered, render};
use super::{Live, READERS};
use crate::api::overview::Totals;
use crate::clock;

/// How often the feed looks for itself, in case a hint was lost.
const LOOK: Duration = Duration::from_secs(1);
/// How often totals are said.
const PULSE: Duration = Duration::from_secs(1);

impl Live {
    /// Somebody begins to watch: from the cursor that is answered, everything is handed over. `None` if too many watch.
    pub(crate) async fn watch(self: &Arc<Self>, reader: &Arc<Reader>) -> Result<Option<Cursor>, Error> {
        if self.watching() >= READERS as u64 {
            return Ok(None);
        }
        if let Some(position) = self.join(reader) {
            return Ok(Some(position));
        }
        let latest = self.engine.latest().await?;
        let mut readers = self.lock();
        if let Some(position) = readers.position {
            return Ok(Some(position));
        }
        readers.position = Some(latest);
        drop(readers);
        tokio::spawn(run(self.clone(), latest));
        Ok(Some(latest))
    }

    /// Whether nobody watches. Then the feed is over.
    fn is_over(&self) -> bool {
        let mut readers = self.lock();
        let count = readers.count();
        self.number.store(count as u64, Ordering::Relaxed);
        if count == 0 {
            readers.position = None;
        }
        count == 0
    }
}

async fn run(live: Arc<Live>, mut position: Cursor) {
    let mut closing = live.closing.clone();
    let mut pulse_at = Instant::now();
    loop {
        if live.is_over() {
            return;
        }
        let told = live.engine.next_commit();
        tokio::pin!(told);
        let wait = match step(&live, &mut position).await {
            Ok(true) => Duration::ZERO,
            Ok(false) => LOOK,
            // The events that it wanted are not kept any more: it goes on where they begin, and readers see the gap.
            Err(Error::Gone(oldest)) => {
                position = Cursor::from_u64(oldest);
                Duration::ZERO
            }
            Err(error) => {
                tracing::warn!(%error, "events cannot be read; trying again");
                LOOK
            }
        };
        if pulse_at <= Instant::now() {
            pulse_at = Instant::now() + PULSE;
            pulse(&live).await;
        }
        if wait.is_zero() {
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            () = told => {}
            () = tokio::time::sleep_until((pulse_at.min(Instant::now() + wait)).into()) => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
    }
}

/// Reads a page and hands it out. Whether there was one.
async fn step(live: &Live, position: &mut Cursor) -> Result<bool, Error> {
    let (events, next) = live.engine.events(*position, limits::PAGE_ROWS).await?;
    if events.is_empty() {
        return Ok(false);
    }
    let rendered = render(&live.engine, &events).await?;
    live.count_turns(rendered.iter().filter(|event| event.started).filter_map(|event| event.owner.as_ref()));
    let shown: Vec<_> = rendered.into_iter().map(Rendered::into_shown).map(Arc::new).collect();
    live.hand_out(&shown, next);
    *position = next;
    Ok(true)
}

/// Says totals, and turns by owner since the process began.
async fn pulse(live: &Live) {
    let Ok(totals) = live.engine.totals().await else { return };
    let totals = totals.values().map(Totals::of).fold(Totals::default(), Totals::plus);
    let said = json!({"time": clock::now().as_micros(), "totals": totals, "owners": live.turns()});
    live.pulse.send_replace(format!("event: pulse\ndata: {said}\n\n").into());
}
