//! A scenario made ready for many runs: everything that can be worked out beforehand has been.

mod estimate;
mod hours;
mod pace;
mod team;
mod work;

use serde::{Deserialize, Serialize};

pub(crate) use pace::{Pace, scaled};
pub(crate) use team::TeamPlan;
pub(crate) use work::{ActivityPlan, RulePlan, TimePlan, Works};

use crate::board::{BoardPlan, TilePlan};
use crate::limits::TILES_PER_ROW;
use crate::scenario::{File, Scenario};
use crate::tiles::TileSet;

/// Everything that runs of a scenario share. It never changes, and any number of threads may use it.
#[derive(Debug)]
pub struct Plan {
    pub(crate) duration: u32,
    pub(crate) board: BoardPlan,
    pub(crate) works: Works,
    pub(crate) teams: Vec<TeamPlan>,
    scenario: String,
    team_infos: Vec<TeamInfo>,
    tile_infos: Vec<TileInfo>,
    activity_names: Vec<String>,
}

/// A team, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamInfo {
    /// Its key in the file.
    pub key: String,
    /// Its name.
    pub name: String,
    /// The name of its strategy.
    pub strategy: String,
    /// The names of its players, in the order of the file.
    pub players: Vec<String>,
}

/// A tile, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileInfo {
    /// Its key in the file.
    pub key: String,
    /// Its name.
    pub name: String,
    /// The row that it is in, from 0.
    pub row: u32,
    /// Its points.
    pub points: u32,
    /// Units that complete it.
    pub required: u32,
}

impl Plan {
    /// Works out everything that does not depend on chance.
    pub fn new(scenario: &Scenario) -> Plan {
        let file = &scenario.file;
        let works = Works::new(file);
        let board = board(file, &works);
        let teams: Vec<TeamPlan> = file.teams.iter().map(|team| TeamPlan::new(file, team, &works)).collect();
        Plan {
            duration: file.duration_seconds,
            board,
            works,
            teams,
            scenario: file.name.clone(),
            team_infos: team_infos(file),
            tile_infos: tile_infos(file),
            activity_names: file.activities.iter().map(|activity| activity.name.clone()).collect(),
        }
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.scenario
    }

    /// Seconds from the start to the end of the event.
    pub fn duration_seconds(&self) -> u32 {
        self.duration
    }

    /// The teams, in the order of the file.
    pub fn teams(&self) -> &[TeamInfo] {
        &self.team_infos
    }

    /// The tiles, row by row.
    pub fn tiles(&self) -> &[TileInfo] {
        &self.tile_infos
    }

    /// How many rows the board has.
    pub fn rows(&self) -> usize {
        self.board.rows
    }

    /// The points of a complete board.
    pub fn most_points(&self) -> u32 {
        self.board.tiles.iter().map(|tile| tile.points).sum()
    }

    pub(crate) fn activity_name(&self, activity: usize) -> &str {
        &self.activity_names[activity]
    }
}

fn board(file: &File, works: &Works) -> BoardPlan {
    let mut tiles: Vec<TilePlan> = Vec::new();
    for (index, tile) in file.rows.iter().flat_map(|row| &row.tiles).enumerate() {
        let rules = works.rules.iter().filter(|rule| rule.tile == index);
        let estimate = rules.map(|rule| rule.estimate).min().unwrap_or(u32::MAX);
        let shares = TileSet::default();
        tiles.push(TilePlan { points: tile.points, required: tile.required, estimate, shares });
    }
    for one in &works.rules {
        for other in works.rules.iter().filter(|other| other.activity == one.activity) {
            if one.tile != other.tile {
                tiles[one.tile].shares.insert(other.tile);
            }
        }
    }
    BoardPlan { tiles, rows: file.rows.len(), threshold: file.unlock_points }
}

fn team_infos(file: &File) -> Vec<TeamInfo> {
    let name_of = |key: &String| {
        let player = file.players.iter().find(|player| player.key == *key);
        player.map_or_else(String::new, |player| player.name.clone())
    };
    let infos = file.teams.iter().map(|team| TeamInfo {
        key: team.key.clone(),
        name: team.name.clone(),
        strategy: team.strategy.name.clone(),
        players: team.players.iter().map(name_of).collect(),
    });
    infos.collect()
}

fn tile_infos(file: &File) -> Vec<TileInfo> {
    let tiles = file.rows.iter().flat_map(|row| &row.tiles).enumerate();
    let infos = tiles.map(|(index, tile)| TileInfo {
        key: tile.key.clone(),
        name: tile.name.clone(),
        row: (index / TILES_PER_ROW) as u32,
        points: tile.points,
        required: tile.required,
    });
    infos.collect()
}
