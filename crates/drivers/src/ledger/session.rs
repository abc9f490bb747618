//! Sessions: liveness of worker processes, judged by the store's clock.

use turnwise_core::event::Event;
use turnwise_core::ids::{NODE_NUMBERS, SessionId};
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::{Receipt, Session, SessionUnit};

pub(super) fn session<B: Backend>(
    w: &mut Working<B>,
    unit: &SessionUnit,
    now: Time,
) -> Result<Receipt, Trouble> {
    match unit {
        SessionUnit::Open { id, node, pools, kinds, span } => {
            if w.get::<spaces::Sessions>(id)?.is_some() {
                return Err(Refusal::Invalid(format!("session {id} exists: make a new id")).into());
            }
            let number = (w.get::<spaces::Numbers>(&())?.unwrap_or(0) + 1) % NODE_NUMBERS;
            w.put::<spaces::Numbers>((), number);
            let (node, pools, kinds) = (node.clone(), pools.clone(), kinds.clone());
            let session = Session { id: *id, node, number, pools, kinds, opened: now, until: now + *span };
            w.put::<spaces::Sessions>(*id, session);
            w.events.push(Event::SessionOpened(*id));
            Ok(Receipt::Numbered(number))
        }
        SessionUnit::Beat { id, span } => {
            let session = check(w, *id, now)?;
            w.put::<spaces::Sessions>(*id, Session { until: now + *span, ..session });
            Ok(Receipt::Accepted)
        }
        SessionUnit::Close { id } => {
            if let Some(session) = w.get::<spaces::Sessions>(id)?.filter(|session| session.until > now) {
                w.put::<spaces::Sessions>(*id, Session { until: now, ..session });
                w.events.push(Event::SessionEnded { session: *id, died: false });
            }
            Ok(Receipt::Accepted)
        }
    }
}

/// Refuses a session that has ended, or never was.
pub(super) fn check<B: Backend>(w: &mut Working<B>, id: SessionId, now: Time) -> Result<Session, Trouble> {
    let alive = w.get::<spaces::Sessions>(&id)?.filter(|session| session.until > now);
    Ok(alive.ok_or(Refusal::SessionEnded)?)
}
