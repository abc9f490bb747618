//! When a player is online, in seconds of the event: the sessions of a week, laid over the calendar.

use jiff::civil::{Date, DateTime, Time};
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use crate::scenario::{Player, Session, find_zone};

/// The end of hours that outlast the event: nothing needs to end before it.
pub(crate) const ALWAYS: u64 = u64::MAX >> 8;

/// From a second of the event up to another one, in order and apart from each other.
pub(crate) type Hours = Vec<(u32, u64)>;

/// The hours of a player during an event.
pub(super) fn of_player(player: &Player, zone: &str, start: Timestamp, duration: u32) -> Hours {
    if player.sessions.is_empty() {
        return vec![(0, ALWAYS)];
    }
    let Some(zone) = find_zone(player.time_zone.as_deref().unwrap_or(zone)) else { return Vec::new() };
    let mut hours: Vec<(i64, i64)> = Vec::new();
    for session in &player.sessions {
        hours.extend(weekly(session, &zone, start, duration));
    }
    hours.sort_unstable();
    merged(&hours, duration)
}

/// Every occurrence of a session that may touch the event. A session lasts a week at most.
fn weekly(session: &Session, zone: &TimeZone, start: Timestamp, duration: u32) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    let day = zone.to_datetime(start).date();
    let Ok(mut date) = day.checked_sub(8.days()) else { return found };
    let days = 8 + i64::from(duration) / 86_400 + 2;
    for _ in 0..=days {
        if date.weekday().to_monday_zero_offset() == session.day.0 as i8
            && let Some(from) = moment(date, session, zone)
        {
            let from = from.as_second() - start.as_second();
            found.push((from, from + i64::from(session.minutes) * 60));
        }
        let Ok(next) = date.tomorrow() else { break };
        date = next;
    }
    found
}

/// A local time that the clocks skip is taken as late as they skip; of two, it is the first.
fn moment(date: Date, session: &Session, zone: &TimeZone) -> Option<Timestamp> {
    let (hour, minute) = (session.start.0 / 60, session.start.0 % 60);
    let time = Time::new(hour as i8, minute as i8, 0, 0).ok()?;
    let zoned = zone.to_ambiguous_zoned(DateTime::from_parts(date, time)).compatible().ok()?;
    Some(zoned.timestamp())
}

/// Cut to the event, with those that touch or overlap made one.
fn merged(hours: &[(i64, i64)], duration: u32) -> Hours {
    let mut cut: Hours = Vec::new();
    for &(from, to) in hours {
        if to <= 0 || from >= i64::from(duration) {
            continue;
        }
        let from = from.max(0) as u32;
        let to = if to >= i64::from(duration) { ALWAYS } else { to as u64 };
        match cut.last_mut() {
            Some(last) if u64::from(from) <= last.1 => last.1 = last.1.max(to),
            _ => cut.push((from, to)),
        }
    }
    cut
}
