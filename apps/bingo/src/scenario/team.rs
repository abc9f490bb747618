//! `teams`: who plays together, and by which strategy.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Declared;
use super::decimal::Decimal;
use super::faults::Faults;
use super::fields::{Field, inside};
use super::node::Node;
use crate::limits::{PLAYERS_PER_TEAM, TEAMS};
use crate::strategies::{self, Setting};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Team {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) players: Vec<String>,
    pub(crate) strategy: Choice,
}

static NO_PARAMS: Node = Node::Object(Vec::new());

/// A strategy by name, with every parameter that it has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) params: BTreeMap<String, Param>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Param {
    Whole(u64),
    Decimal(Decimal),
    Word(String),
}

impl Choice {
    pub(crate) fn whole(&self, name: &str) -> u64 {
        if let Some(Param::Whole(value)) = self.params.get(name) { *value } else { 0 }
    }

    pub(crate) fn decimal(&self, name: &str) -> Decimal {
        if let Some(Param::Decimal(value)) = self.params.get(name) { *value } else { Decimal(0) }
    }

    pub(crate) fn word(&self, name: &str) -> &str {
        if let Some(Param::Word(word)) = self.params.get(name) { word } else { "" }
    }
}

pub(super) fn read(field: &Field<'_>, declared: &Declared<'_>, faults: &mut Faults) -> Option<Vec<Team>> {
    let mut keys = Vec::new();
    let mut taken = BTreeMap::new();
    let items = field.items(1..=TEAMS, faults)?;
    let mut all = Vec::new();
    for item in &items {
        all.push(read_team(item, declared, &mut keys, &mut taken, faults));
    }
    all.into_iter().collect()
}

fn read_team(
    field: &Field<'_>,
    declared: &Declared<'_>,
    keys: &mut Vec<String>,
    taken: &mut BTreeMap<String, String>,
    faults: &mut Faults,
) -> Option<Team> {
    let team = field.object(&["key", "name", "players", "strategy"], faults)?;
    let key = team.need("key", faults).and_then(|key| super::new_key(&key, keys, faults));
    let name = team.get("name").map(|name| name.name(faults));
    let strategy = team.need("strategy", faults).and_then(|strategy| read_strategy(&strategy, faults));
    let players = team.need("players", faults)?;
    let list = players.keys(1..=PLAYERS_PER_TEAM, faults);
    for (index, player) in list.iter().flatten().enumerate() {
        let place = format!("{}[{index}]", players.place);
        if !declared.player(player, &place, faults) {
            continue;
        }
        if let Some(other) = taken.insert(player.clone(), team.place.clone()) {
            faults.add(place, format!("`{player}` is already in {other}; a player plays for one team"));
        }
    }
    let key = key?;
    Some(Team { name: name.unwrap_or_else(|| Some(key.clone()))?, key, players: list?, strategy: strategy? })
}

fn read_strategy(field: &Field<'_>, faults: &mut Faults) -> Option<Choice> {
    let strategy = field.object(&["name", "params"], faults)?;
    let names: Vec<&str> = strategies::all().iter().map(|kind| kind.name).collect();
    let kind = &strategies::all()[strategy.need("name", faults)?.word(&names, faults)?];
    let mut params = BTreeMap::new();
    let given = match strategy.get("params") {
        Some(given) => {
            given.object(&kind.params.iter().map(|param| param.name).collect::<Vec<_>>(), faults)?
        }
        None => Field::new(&NO_PARAMS, inside(&strategy.place, "params")).object(&[], faults)?,
    };
    for param in kind.params {
        let value = given.get(param.name);
        let read = match param.setting {
            Setting::Whole { most, default } => {
                value.map_or(Some(default), |value| value.whole(0..=most, faults)).map(Param::Whole)
            }
            Setting::Decimal { default } => {
                value.map_or(Some(default), |value| value.decimal(Decimal(0), faults)).map(Param::Decimal)
            }
            Setting::Word { words } => {
                let index = value.map_or(Some(0), |value| value.word(words, faults));
                index.map(|index| Param::Word(words[index].to_owned()))
            }
        };
        params.insert(param.name.to_owned(), read?);
    }
    Some(Choice { name: kind.name.to_owned(), params })
}
