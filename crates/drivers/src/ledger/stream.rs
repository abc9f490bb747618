//! What a commit tells the world: its events in blocks, and the lines that may have ready work. Written once, so that
//! every store numbers and pages its events in the same way.

use std::sync::Arc;

use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::LineId;
use turnwise_core::limits;
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use super::{Backend, Working};
use crate::store::{Receipt, StoreError, TailPage};

/// Somebody did something: it is told, and nothing else changes.
pub(super) fn audit<B: Backend>(w: &mut Working<B>, by: &Name, what: &str) -> Receipt {
    let what = cut(what, limits::AUDIT_BYTES).to_owned();
    w.events.push(Event::Audit { by: by.clone(), what });
    Receipt::Accepted
}

/// As much of a text as fits, in whole characters.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The blocks that the events of a commit make: one, unless they are more than a block can hold.
pub(crate) fn blocks(last: Cursor, events: &[Event]) -> impl Iterator<Item = (u64, &[Event])> {
    (last.block() + 1..).zip(events.chunks(limits::EVENTS_PER_BLOCK))
}

/// The cursor of the last event of a block.
pub(crate) fn last_of(block: u64, events: &[Event]) -> Cursor {
    Cursor::new(block, events.len().saturating_sub(1) as u16)
}

/// Whoever has not read this far may have missed events: all of this block and the ones before are gone. It
/// is enough to know the oldest block that is kept, because the last one always is.
pub(crate) fn trimmed(oldest: Option<u64>) -> Cursor {
    match oldest.unwrap_or(0) {
        0 | 1 => Cursor::START,
        kept => Cursor::new(kept - 1, u16::MAX),
    }
}

type HintedLines = Vec<(LineId, Arc<LineKey>)>;

/// The distinct lines that may have ready work, with their keys.
pub(crate) fn hinted<B: Backend>(working: &mut Working<B>) -> Result<HintedLines, StoreError> {
    let mut ids = std::mem::take(&mut working.ready);
    ids.sort_unstable();
    ids.dedup();
    let mut lines = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(line) = working.tables.lines.get(&mut working.backend, &id)? {
            lines.push((id, line.clone()));
        }
    }
    Ok(lines)
}

/// The page of events after a cursor, from blocks that begin at the cursor's own.
pub(crate) fn page(
    blocks: impl Iterator<Item = (u64, Time, Vec<Event>)>,
    after: Cursor,
    limit: usize,
) -> TailPage {
    let mut page = TailPage { events: Vec::new(), next: after };
    for (block, at, events) in blocks {
        for (place, event) in events.into_iter().enumerate() {
            let cursor = Cursor::new(block, place as u16);
            if cursor <= after && after != Cursor::START {
                continue;
            }
            if page.events.len() == limit {
                return page;
            }
            page.events.push((cursor, at, event));
            page.next = cursor;
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use turnwise_core::ids::{BatchId, SessionId};

    use super::*;

    #[test]
    fn stored_events_keep_their_meaning() {
        let name = |text| Name::new(text).unwrap();
        let first = |event: &Event| postcard::to_stdvec(event).unwrap()[0];
        assert_eq!(first(&Event::BatchOpened(BatchId::from_u64(1))), 1);
        assert_eq!(first(&Event::KindDeclared(name("k"))), 10);
        assert_eq!(first(&Event::SessionEnded { session: SessionId::from_u64(1), died: true }), 13);
        assert_eq!(first(&Event::LeaseTaken { name: name("l"), term: 1 }), 14);
        assert_eq!(first(&Event::Audit { by: name("b"), what: String::new() }), 15);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!([cut("añb", 9), cut("añb", 3), cut("añb", 2), cut("", 0)], ["añb", "añ", "a", ""]);
    }
}
