//! Following the other nodes: what they committed becomes hints here. A notification says that there is something; a
//! look from time to time finds what no notification told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, broadcast};
use turnwise_core::event::{Cursor, Event};
use turnwise_core::job::State;

use super::link::Link;
use super::reads::LineCache;
use super::{LAST_EVENT, codec, last_cursor};
use crate::ledger::last_of;
use crate::store::{Committed, StoreError};

/// How often to look without being told.
const LOOK: Duration = Duration::from_secs(2);
/// How long to wait after the database could not be asked.
const AGAIN: Duration = Duration::from_millis(500);
/// Blocks read at once.
const BLOCKS: i64 = 64;

pub(super) struct Follower {
    pub(super) link: Link,
    pub(super) told: Arc<Notify>,
    pub(super) hints: broadcast::Sender<Arc<Committed>>,
    pub(super) origin: i64,
    pub(super) stop: Arc<AtomicBool>,
}

impl Follower {
    /// Follows until it is told to stop.
    pub(super) fn run(mut self) {
        let mut lines = LineCache::default();
        let mut last = None;
        while !self.stop.load(Ordering::Acquire) {
            let wait = match self.look(&mut lines, &mut last) {
                Ok(true) => continue,
                Ok(false) => LOOK,
                Err(error) => {
                    tracing::debug!(%error, "the other nodes cannot be followed; trying again");
                    AGAIN
                }
            };
            let told = self.told.clone();
            self.link.wait(async move {
                // Told or not, it looks.
                let _ = tokio::time::timeout(wait, told.notified()).await;
            });
        }
    }

    /// Passes on what is new. Whether there may be more.
    fn look(&mut self, lines: &mut LineCache, last: &mut Option<u64>) -> Result<bool, StoreError> {
        let from = match *last {
            Some(block) => block,
            // What happened before this life is found by whoever begins to plan.
            None => *last.insert(last_cursor(&self.link.rows(LAST_EVENT, &[])?)?.block()),
        };
        // A last row without a block says that something was handed in.
        let sql = "(SELECT block, at, CASE WHEN origin <> $2 THEN body END FROM event \
                   WHERE block > $1 ORDER BY block LIMIT $3) UNION ALL \
                   (SELECT NULL, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL FROM handed_in \
                   WHERE again <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint LIMIT 1)";
        let rows = self.link.rows(sql, &[&from.cast_signed(), &self.origin, &BLOCKS])?;
        for row in &rows {
            let Some(block) = codec::get::<Option<i64>>(row, 0)?.map(i64::cast_unsigned) else {
                let (at, cursor) = (codec::time(row, 1)?, Cursor::new(last.unwrap_or(from), u16::MAX));
                let hint = Committed { cursor, at, events: Vec::new(), ready: Vec::new(), handed_in: true };
                // Nobody listening is fine: it is said again with the next look.
                let _ = self.hints.send(Arc::new(hint));
                continue;
            };
            *last = Some(block);
            let Some(body) = codec::get::<Option<&[u8]>>(row, 2)? else { continue };
            // What a newer version has to tell may be foreign to this one. It is only a hint.
            let Ok(events) = postcard::from_bytes::<Vec<Event>>(body) else { continue };
            let at = codec::time(row, 1)?;
            let hint = self.hint(lines, last_of(block, &events), at, events)?;
            // Nobody listening is fine: hints are only hints.
            let _ = self.hints.send(Arc::new(hint));
        }
        Ok(rows.len() >= BLOCKS as usize)
    }

    fn hint(
        &mut self,
        lines: &mut LineCache,
        cursor: Cursor,
        at: turnwise_core::time::Time,
        events: Vec<Event>,
    ) -> Result<Committed, StoreError> {
        let mut ids: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Job { line, state: State::Ready, .. } => Some(*line),
                _ => None,
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut ready = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(line) = lines.get(&mut self.link, id)? {
                ready.push((id, line));
            }
        }
        Ok(Committed { cursor, at, events, ready, handed_in: false })
    }
}
