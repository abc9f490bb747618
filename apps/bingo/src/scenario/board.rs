//! `rows`: the board, its tiles, and the ways to work on each.

use serde::Serialize;

use super::Declared;
use super::decimal::Decimal;
use super::faults::Faults;
use super::fields::{Field, inside};
use crate::limits::{KEYS_PER_RULE, MODIFIERS_PER_RULE, ROWS, RULES_PER_TILE, TILES_PER_ROW, UNITS};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) tiles: Vec<Tile>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tile {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) points: u32,
    pub(crate) required: u32,
    pub(crate) rules: Vec<Rule>,
}

/// One way to work on a tile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Rule {
    pub(crate) activity: String,
    pub(crate) drops: Vec<String>,
    pub(crate) requires: Vec<String>,
    pub(crate) modifiers: Vec<Modifier>,
}

/// What a capability changes, for whoever holds it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Modifier {
    pub(crate) capability: String,
    pub(crate) time: Decimal,
    pub(crate) probability: Decimal,
}

pub(super) fn read(field: &Field<'_>, declared: &Declared<'_>, faults: &mut Faults) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let mut keys = Vec::new();
    for item in field.items(1..=ROWS, faults)? {
        let Some(row) = item.object(&["tiles"], faults) else { continue };
        let Some(list) = row.need("tiles", faults) else { continue };
        let Some(items) = list.items(TILES_PER_ROW..=TILES_PER_ROW, faults) else { continue };
        let tiles: Vec<Tile> =
            items.iter().filter_map(|tile| read_tile(tile, declared, &mut keys, faults)).collect();
        if tiles.len() == TILES_PER_ROW {
            each_number_of_points_once(&tiles, &list.place, faults);
        }
        rows.push(Row { tiles });
    }
    Some(rows)
}

fn each_number_of_points_once(tiles: &[Tile], place: &str, faults: &mut Faults) {
    let mut points: Vec<u32> = tiles.iter().map(|tile| tile.points).collect();
    points.sort_unstable();
    if points != [1, 2, 3, 4] {
        let given: Vec<String> = tiles.iter().map(|tile| tile.points.to_string()).collect();
        faults.add(place, format!("have points {}, must have each of 1, 2, 3, 4 once", given.join(", ")));
    }
}

fn read_tile(
    field: &Field<'_>,
    declared: &Declared<'_>,
    keys: &mut Vec<String>,
    faults: &mut Faults,
) -> Option<Tile> {
    let tile = field.object(&["key", "name", "points", "required", "rules"], faults)?;
    let key = tile.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let name = tile.get("name").map(|name| name.name(faults));
    let points = tile.need("points", faults).and_then(|points| read_points(&points, faults));
    let required = tile.need("required", faults).and_then(|required| required.whole(1..=UNITS, faults));
    let list = tile.need("rules", faults).and_then(|rules| rules.items(1..=RULES_PER_TILE, faults));
    let rules: Vec<Option<Rule>> = list?.iter().map(|rule| read_rule(rule, declared, faults)).collect();
    let key = key?;
    Some(Tile {
        name: name.unwrap_or_else(|| Some(key.clone()))?,
        key,
        points: points?,
        required: required? as u32,
        rules: rules.into_iter().collect::<Option<_>>()?,
    })
}

fn read_points(field: &Field<'_>, faults: &mut Faults) -> Option<u32> {
    match field.node {
        super::node::Node::Whole(points @ 1..=4) => Some(*points as u32),
        other => {
            faults.add(&field.place, format!("{} is not one of 1, 2, 3, 4", other.shown()));
            None
        }
    }
}

fn read_rule(field: &Field<'_>, declared: &Declared<'_>, faults: &mut Faults) -> Option<Rule> {
    let rule = field.object(&["activity", "drops", "requires", "modifiers"], faults)?;
    let activity = rule.need("activity", faults).and_then(|activity| {
        let key = activity.key(faults)?;
        declared.activity(&key, &activity.place, faults).then_some(key)
    });
    let drops = rule.need("drops", faults).and_then(|drops| drops.keys(1..=KEYS_PER_RULE, faults));
    let requires = match rule.get("requires") {
        Some(requires) => requires.keys(0..=KEYS_PER_RULE, faults),
        None => Some(Vec::new()),
    };
    let modifiers = match rule.get("modifiers") {
        Some(modifiers) => read_modifiers(&modifiers, faults),
        None => Some(Vec::new()),
    };
    Some(Rule { activity: activity?, drops: drops?, requires: requires?, modifiers: modifiers? })
}

fn read_modifiers(field: &Field<'_>, faults: &mut Faults) -> Option<Vec<Modifier>> {
    let mut keys = Vec::new();
    let items = field.items(0..=MODIFIERS_PER_RULE, faults)?;
    let all: Vec<_> = items.iter().map(|item| read_modifier(item, &mut keys, faults)).collect();
    all.into_iter().collect()
}

fn read_modifier(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<Modifier> {
    let modifier = field.object(&["capability", "time", "probability"], faults)?;
    let capability = modifier.need("capability", faults).and_then(|key| super::new_key(&key, keys, faults));
    let (time, probability) = (modifier.get("time"), modifier.get("probability"));
    if time.is_none() && probability.is_none() {
        faults.add(inside(&modifier.place, "time"), "is missing, and so is probability: give one of them");
        return None;
    }
    let (time, probability) = (multiplier(time, faults), multiplier(probability, faults));
    Some(Modifier { capability: capability?, time: time?, probability: probability? })
}

/// A multiplier above zero; one, if it is not given.
pub(super) fn multiplier(field: Option<Field<'_>>, faults: &mut Faults) -> Option<Decimal> {
    match field {
        Some(field) => field.decimal(Decimal(1), faults),
        None => Some(Decimal::ONE),
    }
}
