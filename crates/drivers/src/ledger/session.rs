//! Sessions: liveness of worker processes, judged by the store's clock.

use turnwise_core::event::Event;
use turnwise_core::ids::{NODE_NUMBERS, SessionId};
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::{Receipt, Roles, Session, SessionUnit};

pub(super) fn session<B: Backend>(
    w: &mut Working<B>,
    unit: &SessionUnit,
    now: Time,
) -> Result<Receipt, Trouble> {
    match unit {
        SessionUnit::Open { id, node, pools, kinds, roles, span } => {
            if w.get::<spaces::Sessions>(id)?.is_some() {
                return Err(Refusal::Invalid(format!("session {id} exists: make a new id")).into());
            }
            let number = take_number(w, *id, *roles)?;
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
                w.put::<spaces::Sessions>(*id, Session { until: Time::ZERO, ..session });
                w.events.push(Event::SessionEnded { session: *id, died: false });
            }
            Ok(Receipt::Accepted)
        }
    }
}

/// The next number that no known session has, and with it what the node does.
fn take_number<B: Backend>(w: &mut Working<B>, id: SessionId, roles: Roles) -> Result<u16, Trouble> {
    let mut numbers = w.get::<spaces::Numbers>(&())?.unwrap_or_default();
    let mut next = (1..=NODE_NUMBERS).map(|step| (numbers.last + step) % NODE_NUMBERS);
    let Some(number) = next.find(|number| !numbers.taken.contains_key(number)) else {
        return Err(Refusal::TooLarge {
            what: "the list of sessions",
            size: numbers.taken.len() + 1,
            most: usize::from(NODE_NUMBERS),
        }
        .into());
    };
    numbers.last = number;
    numbers.taken.insert(number, id);
    numbers.roles.insert(number, roles);
    w.put::<spaces::Numbers>((), numbers);
    Ok(number)
}

/// Forgets a session that has ended and runs nothing; whoever asks may be wrong about both.
pub(super) fn bury<B: Backend>(w: &mut Working<B>, id: SessionId, now: Time) -> Result<Receipt, Trouble> {
    let Some(session) = w.get::<spaces::Sessions>(&id)? else { return Ok(Receipt::Accepted) };
    if session.until > now {
        return Err(Refusal::Invalid(format!("session {id} is alive")).into());
    }
    if w.backend.runs_any(&mut w.tables, id)? {
        return Err(Refusal::Invalid(format!("session {id} still runs jobs: rescue them first")).into());
    }
    let mut numbers = w.get::<spaces::Numbers>(&())?.unwrap_or_default();
    numbers.taken.remove(&session.number);
    numbers.roles.remove(&session.number);
    w.put::<spaces::Numbers>((), numbers);
    w.remove::<spaces::Sessions>(&id)?;
    // The end of one that was closed was told when it was closed.
    if session.until != Time::ZERO {
        w.events.push(Event::SessionEnded { session: id, died: true });
    }
    Ok(Receipt::Accepted)
}

/// Refuses a session that has ended, or never was.
pub(super) fn check<B: Backend>(w: &mut Working<B>, id: SessionId, now: Time) -> Result<Session, Trouble> {
    let alive = w.get::<spaces::Sessions>(&id)?.filter(|session| session.until > now);
    Ok(alive.ok_or(Refusal::SessionEnded)?)
}
