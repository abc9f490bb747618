//! `players`: skill, capabilities, and when they play.

use serde::{Serialize, Serializer};

use super::board::multiplier;
use super::decimal::Decimal;
use super::faults::Faults;
use super::fields::Field;
use super::node::shown_text;
use crate::limits::{CAPABILITIES_PER_PLAYER, PLAYERS, SESSION_MINUTES, SESSIONS_PER_WEEK};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Player {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) skill: Decimal,
    pub(crate) capabilities: Vec<String>,
    /// The scenario's, unless the player lives elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_zone: Option<String>,
    /// None means always online.
    pub(crate) sessions: Vec<Session>,
}

/// Every week on this day, from this minute of the local day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Session {
    pub(crate) day: Day,
    pub(crate) start: Minute,
    pub(crate) minutes: u32,
}

/// Days from Monday, which is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day(pub(crate) u8);

/// A minute of the local day, written as `18:30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minute(pub(crate) u16);

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(DAYS[usize::from(self.0) % DAYS.len()])
    }
}

impl Serialize for Minute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:02}:{:02}", self.0 / 60, self.0 % 60))
    }
}

pub(super) fn read(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<Player>> {
    let mut keys = Vec::new();
    let items = field.items(1..=PLAYERS, faults)?;
    let all: Vec<_> = items.iter().map(|item| read_player(item, &mut keys, faults)).collect();
    all.into_iter().collect()
}

fn read_player(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<Player> {
    let known = ["key", "name", "skill", "capabilities", "time_zone", "sessions"];
    let player = field.object(&known, faults)?;
    let key = player.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let name = player.get("name").map(|name| name.name(faults));
    let skill = multiplier(player.get("skill"), faults);
    let capabilities = match player.get("capabilities") {
        Some(capabilities) => capabilities.keys(0..=CAPABILITIES_PER_PLAYER, faults),
        None => Some(Vec::new()),
    };
    let time_zone = player.get("time_zone").map(|zone| super::clock::read_zone(&zone, faults));
    let sessions = match player.get("sessions") {
        Some(sessions) => {
            let items = sessions.items(0..=SESSIONS_PER_WEEK, faults);
            let all: Option<Vec<_>> =
                items.map(|items| items.iter().map(|item| read_session(item, faults)).collect());
            all.and_then(|all| all.into_iter().collect())
        }
        None => Some(Vec::new()),
    };
    let key = key?;
    Some(Player {
        name: name.unwrap_or_else(|| Some(key.clone()))?,
        key,
        skill: skill?,
        capabilities: capabilities?,
        time_zone: time_zone.map_or(Some(None), |zone| zone.map(Some))?,
        sessions: sessions?,
    })
}

fn read_session(field: &Field<'_>, faults: &mut Faults) -> Option<Session> {
    let session = field.object(&["day", "start", "minutes"], faults)?;
    let day = session.need("day", faults).and_then(|day| day.word(&DAYS, faults));
    let start = session.need("start", faults).and_then(|start| read_minute(&start, faults));
    let minutes = session.need("minutes", faults).and_then(|field| field.whole(1..=SESSION_MINUTES, faults));
    Some(Session { day: Day(day? as u8), start: start?, minutes: minutes? as u32 })
}

fn read_minute(field: &Field<'_>, faults: &mut Faults) -> Option<Minute> {
    let text = field.text(faults)?;
    let part = |text: &str, below: u16| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|value| digits && *value < below)
    };
    let parsed = text.split_once(':').and_then(|(hour, minute)| part(hour, 24).zip(part(minute, 60)));
    if parsed.is_none() {
        faults.add(&field.place, format!("{} is not a time of day such as \"18:30\"", shown_text(text)));
    }
    parsed.map(|(hour, minute)| Minute(hour * 60 + minute))
}
