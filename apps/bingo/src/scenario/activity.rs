//! `activities`: what players do, how long it takes, and what may come of it.

use serde::Serialize;

use super::board::multiplier;
use super::decimal::Decimal;
use super::faults::Faults;
use super::fields::{Field, inside};
use super::weight::Weight;
use crate::limits::{
    ACTIVITIES, ATTEMPT_SECONDS, BANDS_PER_ACTIVITY, CUSTOM_TIMES, GRANTS_PER_OUTCOME, LINES_PER_ACTIVITY,
    OUTCOMES_PER_LINE, PLAYERS_PER_TEAM, UNITS,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Activity {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) solo: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<Group>,
    pub(crate) bands: Vec<Band>,
    pub(crate) attempts: Vec<Line>,
}

/// How many may play together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Group {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// What a size of group changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Band {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) time: Decimal,
    pub(crate) probability: Decimal,
}

/// One line of loot of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) key: String,
    pub(crate) roll: Roll,
    pub(crate) time: Time,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Who rolls: each member for himself, or the group once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Roll {
    PerPlayer,
    PerGroup,
}

/// How long a line takes, before skill, bands and modifiers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub(crate) enum Time {
    Uniform { seconds: u32, variance: u32 },
    Normal { seconds: u32, variance: u32 },
    Custom { times: Vec<CustomTime> },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CustomTime {
    pub(crate) seconds: u32,
    pub(crate) weight: Weight,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Outcome {
    pub(crate) key: String,
    pub(crate) weight: Weight,
    pub(crate) grants: Vec<Grant>,
}

/// Units of a drop, from `min` to `max`, each number as likely as the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Grant {
    pub(crate) drop: String,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

pub(super) fn read(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<Activity>> {
    let mut keys = Vec::new();
    let items = field.items(1..=ACTIVITIES, faults)?;
    let all: Vec<_> = items.iter().map(|item| read_activity(item, &mut keys, faults)).collect();
    all.into_iter().collect()
}

fn read_activity(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<Activity> {
    let activity = field.object(&["key", "name", "solo", "group", "bands", "attempts"], faults)?;
    let key = activity.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let name = activity.get("name").map(|name| name.name(faults));
    let solo = activity.need("solo", faults).and_then(|solo| solo.bool(faults));
    let group = activity.get("group").map(|group| read_group(&group, faults));
    if solo == Some(false) && group.is_none() {
        faults
            .add(inside(&activity.place, "group"), "is missing; without it and without solo nobody can play");
    }
    let bands = match activity.get("bands") {
        Some(bands) => read_bands(&bands, faults),
        None => Some(Vec::new()),
    };
    let attempts = activity.need("attempts", faults).and_then(|lines| read_lines(&lines, faults));
    let key = key?;
    Some(Activity {
        name: name.unwrap_or_else(|| Some(key.clone()))?,
        key,
        solo: solo?,
        group: group.map_or(Some(None), |group| group.map(Some))?,
        bands: bands?,
        attempts: attempts?,
    })
}

fn read_group(field: &Field<'_>, faults: &mut Faults) -> Option<Group> {
    let group = field.object(&["min", "max"], faults)?;
    let (min, max) = sizes(&group, 2, faults)?;
    Some(Group { min, max })
}

fn sizes(object: &super::fields::Object<'_>, least: u64, faults: &mut Faults) -> Option<(u32, u32)> {
    let most = PLAYERS_PER_TEAM as u64;
    let min = object.need("min", faults).and_then(|min| min.whole(least..=most, faults));
    let max = object.need("max", faults).and_then(|max| max.whole(least..=most, faults));
    let (min, max) = (min?, max?);
    if min > max {
        faults.add(inside(&object.place, "min"), format!("{min} is more than max, {max}"));
        return None;
    }
    Some((min as u32, max as u32))
}

fn read_bands(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<Band>> {
    let mut bands: Vec<Option<Band>> = Vec::new();
    for item in field.items(0..=BANDS_PER_ACTIVITY, faults)? {
        let band = read_band(&item, faults);
        if let Some(band) = &band {
            let overlaps = |other: &Band| band.min <= other.max && other.min <= band.max;
            if let Some(index) = bands.iter().flatten().position(overlaps) {
                faults.add(&item.place, format!("overlaps with band {index}; each size has one band"));
            }
        }
        bands.push(band);
    }
    bands.into_iter().collect()
}

fn read_band(field: &Field<'_>, faults: &mut Faults) -> Option<Band> {
    let band = field.object(&["min", "max", "time", "probability"], faults)?;
    let sizes = sizes(&band, 1, faults);
    let time = multiplier(band.get("time"), faults);
    let probability = multiplier(band.get("probability"), faults);
    let (min, max) = sizes?;
    Some(Band { min, max, time: time?, probability: probability? })
}

fn read_lines(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<Line>> {
    let mut keys = Vec::new();
    let items = field.items(1..=LINES_PER_ACTIVITY, faults)?;
    let all: Vec<_> = items.iter().map(|item| read_line(item, &mut keys, faults)).collect();
    all.into_iter().collect()
}

fn read_line(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<Line> {
    let line = field.object(&["key", "roll", "time", "outcomes"], faults)?;
    let key = line.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let roll = line.need("roll", faults).and_then(|roll| roll.word(&["per_player", "per_group"], faults));
    let time = line.need("time", faults).and_then(|time| read_time(&time, faults));
    let outcomes = line.need("outcomes", faults).and_then(|outcomes| {
        let mut keys = Vec::new();
        let items = outcomes.items(1..=OUTCOMES_PER_LINE, faults)?;
        let all: Vec<_> = items.iter().map(|item| read_outcome(item, &mut keys, faults)).collect();
        all.into_iter().collect::<Option<Vec<_>>>()
    });
    if let Some(outcomes) = &outcomes {
        let weights = outcomes.iter().map(|outcome| outcome.weight);
        common_denominator(weights, &inside(&line.place, "outcomes"), faults);
    }
    let roll = if roll? == 0 { Roll::PerPlayer } else { Roll::PerGroup };
    Some(Line { key: key?, roll, time: time?, outcomes: outcomes? })
}

fn common_denominator(weights: impl Iterator<Item = Weight>, place: &str, faults: &mut Faults) {
    if crate::odds::common_denominator(weights).is_none() {
        let most = crate::limits::COMMON_DENOMINATOR;
        faults.add(place, format!("have weights whose common denominator is above {most}; use rounder ones"));
    }
}

fn read_time(field: &Field<'_>, faults: &mut Faults) -> Option<Time> {
    let time = field.object(&["distribution", "seconds", "variance", "times"], faults)?;
    let kind = match time.get("distribution") {
        Some(kind) => kind.word(&["uniform", "normal", "custom"], faults)?,
        None => 0,
    };
    let misplaced: &[&str] = if kind == 2 { &["seconds", "variance"] } else { &["times"] };
    for field in misplaced.iter().filter_map(|key| time.get(key)) {
        faults.add(field.place, "does not belong to this distribution; take it out");
    }
    if kind == 2 {
        return Some(Time::Custom { times: read_times(&time.need("times", faults)?, faults)? });
    }
    let seconds = time.need("seconds", faults).and_then(|field| field.whole(1..=ATTEMPT_SECONDS, faults));
    let variance = match time.get("variance") {
        Some(variance) => variance.whole(0..=ATTEMPT_SECONDS, faults),
        None => Some(0),
    };
    let (seconds, variance) = (seconds? as u32, variance? as u32);
    Some(if kind == 0 { Time::Uniform { seconds, variance } } else { Time::Normal { seconds, variance } })
}

fn read_times(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<CustomTime>> {
    let mut times = Vec::new();
    for item in field.items(1..=CUSTOM_TIMES, faults)? {
        let Some(time) = item.object(&["seconds", "weight"], faults) else {
            times.push(None);
            continue;
        };
        let seconds = time.need("seconds", faults).and_then(|field| field.whole(1..=ATTEMPT_SECONDS, faults));
        let weight = time.need("weight", faults).and_then(|weight| Weight::read(&weight, faults));
        times.push(
            seconds.zip(weight).map(|(seconds, weight)| CustomTime { seconds: seconds as u32, weight }),
        );
    }
    let times: Vec<CustomTime> = times.into_iter().collect::<Option<_>>()?;
    common_denominator(times.iter().map(|time| time.weight), &field.place, faults);
    Some(times)
}

fn read_outcome(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<Outcome> {
    let outcome = field.object(&["key", "weight", "grants"], faults)?;
    let key = outcome.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let weight = outcome.need("weight", faults).and_then(|weight| Weight::read(&weight, faults));
    let grants = match outcome.get("grants") {
        Some(grants) => {
            let items = grants.items(0..=GRANTS_PER_OUTCOME, faults);
            let all: Option<Vec<_>> =
                items.map(|items| items.iter().map(|item| read_grant(item, faults)).collect());
            all.and_then(|all| all.into_iter().collect())
        }
        None => Some(Vec::new()),
    };
    Some(Outcome { key: key?, weight: weight?, grants: grants? })
}

fn read_grant(field: &Field<'_>, faults: &mut Faults) -> Option<Grant> {
    let grant = field.object(&["drop", "units", "min", "max"], faults)?;
    let drop = grant.need("drop", faults).and_then(|drop| drop.key(faults));
    if let Some(units) = grant.get("units") {
        for field in ["min", "max"].into_iter().filter_map(|key| grant.get(key)) {
            faults.add(field.place, "does not go with units; give units, or min and max");
        }
        let units = units.whole(1..=UNITS, faults)? as u32;
        return Some(Grant { drop: drop?, min: units, max: units });
    }
    let min = grant.need("min", faults).and_then(|min| min.whole(1..=UNITS, faults));
    let max = grant.need("max", faults).and_then(|max| max.whole(1..=UNITS, faults));
    let (min, max) = (min? as u32, max? as u32);
    if min > max {
        faults.add(inside(&grant.place, "min"), format!("{min} is more than max, {max}"));
        return None;
    }
    Some(Grant { drop: drop?, min, max })
}
