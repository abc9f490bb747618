//! Lanes: who is the head, and who is next.

use turnwise_core::event::{Cause, Event};
use turnwise_core::ids::LaneId;
use turnwise_core::job::{Header, Place, State};
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::machine::Command;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working, effects};
use crate::store::{Receipt, StoreError};

/// The lane with this name, made if it is not there.
pub(super) fn open<B: Backend>(w: &mut Working<B>, name: &Name, on_dead: OnDead) -> Result<Lane, Trouble> {
    let id = Lane::id_of(name);
    match w.get::<spaces::Lanes>(&id)? {
        Some(lane) if lane.name == *name => Ok(lane),
        Some(lane) => Err(Refusal::Invalid(format!(
            "lane name `{name}` has the same digest as `{}`: choose another name",
            lane.name
        ))
        .into()),
        None => Ok(Lane::new(name.clone(), on_dead)),
    }
}

/// A job joins the tail of a lane. Whether it must wait.
pub(super) fn join<B: Backend>(
    w: &mut Working<B>,
    mut lane: Lane,
    job: turnwise_core::ids::JobId,
) -> (Place, bool) {
    let (place, heads) = lane.join(job);
    w.put::<spaces::Lanes>(lane.id, lane);
    (place, !heads)
}

/// A job ended: its lane moves on, or halts.
pub(super) fn leave<B: Backend>(w: &mut Working<B>, header: &Header, now: Time) -> Result<(), Trouble> {
    let Some(place) = header.place.filter(|place| place.position > 0) else { return Ok(()) };
    let mut lane = load(w, place.lane)?;
    let was_halted = lane.halted;
    let next = lane.leave(header.id, header.state);
    if lane.halted && !was_halted {
        w.events.push(Event::LaneHalted(lane.id));
    }
    w.put::<spaces::Lanes>(lane.id, lane);
    if next { advance(w, place.lane, now) } else { Ok(()) }
}

/// The first waiting job becomes the head, if the lane has none and does not stand still.
pub(super) fn advance<B: Backend>(w: &mut Working<B>, id: LaneId, now: Time) -> Result<(), Trouble> {
    let mut lane = load(w, id)?;
    if !lane.is_free() || lane.waiting == 0 {
        return Ok(());
    }
    let next = w.backend.first_waiting(&mut w.tables, id)?;
    let job = next.ok_or_else(|| StoreError::Broken(format!("lane {id} lost its waiting jobs")))?;
    lane.promote(job);
    w.put::<spaces::Lanes>(id, lane);
    let header = w.job(job)?;
    effects::apply(w, &header, Command::Promote, Cause::Promoted, now)?;
    Ok(())
}

/// Somebody pauses or resumes a lane. Resuming also ends a halt.
pub(super) fn pause<B: Backend>(
    w: &mut Working<B>,
    name: &Name,
    paused: bool,
    now: Time,
) -> Result<Receipt, Trouble> {
    let id = Lane::id_of(name);
    let found = w.get::<spaces::Lanes>(&id)?.filter(|lane| lane.name == *name);
    let mut lane = found.ok_or_else(|| Refusal::UnknownLane(name.clone()))?;
    if lane.paused == paused && (paused || !lane.halted) {
        return Ok(Receipt::Accepted);
    }
    lane.paused = paused;
    lane.halted &= paused;
    let head = lane.head;
    w.events.push(Event::LanePaused(id, paused));
    w.put::<spaces::Lanes>(id, lane);
    if !paused {
        advance(w, id, now)?;
    } else if let Some(head) = head {
        let header = w.job(head)?;
        // A running head runs on; the lane stands still behind it, and holds it if it comes back.
        if header.state != State::Running {
            hold_if_standing(w, &header, now)?;
        }
    }
    Ok(Receipt::Accepted)
}

/// Puts an idle head back among the waiting if its lane stands still. Whether it did.
pub(super) fn hold_if_standing<B: Backend>(
    w: &mut Working<B>,
    header: &Header,
    now: Time,
) -> Result<bool, Trouble> {
    let Some(place) = header.place.filter(|place| place.position > 0) else { return Ok(false) };
    let mut lane = load(w, place.lane)?;
    if !lane.stands() || lane.head != Some(header.id) {
        return Ok(false);
    }
    lane.head = None;
    lane.waiting += 1;
    w.put::<spaces::Lanes>(lane.id, lane);
    effects::apply(w, header, Command::Hold, Cause::Held, now)?;
    Ok(true)
}

fn load<B: Backend>(w: &mut Working<B>, id: LaneId) -> Result<Lane, Trouble> {
    let lane = w.get::<spaces::Lanes>(&id)?;
    Ok(lane.ok_or_else(|| StoreError::Broken(format!("lane {id} is missing")))?)
}
