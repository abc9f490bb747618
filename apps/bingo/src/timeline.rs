//! A run told event by event.

use serde::Serialize;

use crate::limits::MOMENTS;
use crate::luck::Seed;
use crate::plan::Plan;
use crate::play::{Scratch, Sight, Watch};
use crate::run::{Run, RunFault};
use crate::tiles::bits;

/// A run, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The same as [`Plan::run`] gives.
    pub run: Run,
    /// The teams, in the order of the file.
    pub teams: Vec<TeamTimeline>,
}

/// What happened to one team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TeamTimeline {
    /// The team's key.
    pub key: String,
    /// The team's name.
    pub name: String,
    /// In the order in which it happened.
    pub moments: Vec<Moment>,
    /// Moments beyond the limit, which are not told.
    pub left_out: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// The second of the event.
    pub second: u32,
    /// What it was.
    #[serde(flatten)]
    pub what: Happening,
}

/// What can happen. Players, activities and tiles are told by name, drops by key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say what they are")]
pub enum Happening {
    /// A session began.
    Online { player: String },
    /// A session ended.
    Offline { player: String },
    /// An attempt began; it ends in this second, unless the event is over by then.
    Begun { players: Vec<String>, activity: String, tile: String, ends: u64 },
    /// An attempt ended.
    Ended { players: Vec<String>, activity: String, tile: String },
    /// A drop fell, and a tile took it, if there was one.
    Drop { player: String, drop: String, units: u32, tile: Option<String> },
    /// A tile is complete.
    Tile { tile: String, points: u32 },
    /// A row is unlocked.
    Row { row: usize },
}

impl Plan {
    /// Tells one run event by event. Its outcome is that of [`Plan::run`].
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn timeline(&self, seed: &Seed, index: u64) -> Result<Timeline, RunFault> {
        let mut run = Run::default();
        let mut teams: Vec<TeamTimeline> = Vec::new();
        for team in self.teams() {
            let (key, name) = (team.key.clone(), team.name.clone());
            teams.push(TeamTimeline { key, name, moments: Vec::new(), left_out: 0 });
        }
        let mut pens = teams.iter_mut();
        self.play::<_, false>(seed, index, &mut run, &mut Scratch::new(), |team| Scribe {
            plan: self,
            team,
            page: pens.next(),
        })?;
        Ok(Timeline { run, teams })
    }
}

/// Writes down what it sees of one team.
struct Scribe<'p> {
    plan: &'p Plan,
    team: usize,
    page: Option<&'p mut TeamTimeline>,
}

impl Watch for Scribe<'_> {
    fn see(&mut self, second: u64, sight: Sight) {
        let full = self.page.as_ref().is_none_or(|page| page.moments.len() >= MOMENTS);
        let what = if full { None } else { Some(self.told(sight)) };
        if let Some(page) = &mut self.page {
            match what {
                Some(what) => page.moments.push(Moment { second: second as u32, what }),
                None => page.left_out += 1,
            }
        }
    }
}

impl Scribe<'_> {
    fn told(&self, sight: Sight) -> Happening {
        let tile_name = |tile: usize| self.plan.tiles()[tile].name.clone();
        let player_name = |player: usize| self.plan.teams()[self.team].players[player].clone();
        let rule_names = |rule: usize| {
            let rule = &self.plan.works.rules[rule];
            (self.plan.activity_name(rule.activity).to_owned(), tile_name(rule.tile))
        };
        match sight {
            Sight::Online { player } => Happening::Online { player: player_name(player) },
            Sight::Offline { player } => Happening::Offline { player: player_name(player) },
            Sight::Begun { members, rule, ends } => {
                let (activity, tile) = rule_names(rule);
                Happening::Begun { players: bits(members).map(player_name).collect(), activity, tile, ends }
            }
            Sight::Ended { members, rule } => {
                let (activity, tile) = rule_names(rule);
                Happening::Ended { players: bits(members).map(player_name).collect(), activity, tile }
            }
            Sight::Drop { player, drop, units, tile } => Happening::Drop {
                player: player_name(player),
                drop: self.plan.works.drops[drop].clone(),
                units,
                tile: tile.map(tile_name),
            },
            Sight::Tile { tile } => {
                Happening::Tile { tile: tile_name(tile), points: self.plan.tiles()[tile].points }
            }
            Sight::Row { row } => Happening::Row { row },
        }
    }
}
