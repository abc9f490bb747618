//! A team made ready: its players, what each of them may do, its strategy and its luck.

use super::hours::{self, Hours};
use super::pace::Paces;
use super::work::Works;
use crate::luck::TeamLuck;
use crate::scenario::{Decimal, File, Player, Rule, Team};
use crate::strategies::{self, Strategy};

#[derive(Debug)]
pub(crate) struct TeamPlan {
    pub(crate) luck: TeamLuck,
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) players: Vec<PlayerPlan>,
    pub(crate) classes: Vec<ClassPlan>,
    /// Whether who is online matters for what they want: something here takes a group.
    pub(crate) needs_crowds: bool,
    pub(crate) paces: Paces,
}

#[derive(Debug)]
pub(crate) struct PlayerPlan {
    pub(crate) skill: Decimal,
    pub(crate) class: usize,
    pub(crate) hours: Hours,
}

/// Players to whom the rules mean the same: they have the same capabilities, as far as any rule asks.
#[derive(Debug)]
pub(crate) struct ClassPlan {
    capabilities: Vec<String>,
    /// For each tile the rules that such a player may work by, the quickest first.
    pub(crate) options: Vec<Vec<usize>>,
    /// For each rule the set of its modifiers that such a player holds.
    pub(crate) held: Vec<usize>,
}

impl TeamPlan {
    pub(super) fn new(file: &File, team: &Team, works: &Works) -> TeamPlan {
        let rules: Vec<&Rule> =
            file.rows.iter().flat_map(|row| &row.tiles).flat_map(|tile| &tile.rules).collect();
        let asked = |capability: &String| {
            rules.iter().any(|rule| {
                rule.requires.contains(capability)
                    || rule.modifiers.iter().any(|modifier| modifier.capability == *capability)
            })
        };
        // The check of the file has made sure of the start; an event without one has nobody online.
        let start = file.start.in_zone(&file.time_zone);
        let mut classes: Vec<ClassPlan> = Vec::new();
        let mut players = Vec::new();
        for player in team.players.iter().filter_map(|key| find(file, key)) {
            let mut capabilities: Vec<String> =
                player.capabilities.iter().filter(|c| asked(c)).cloned().collect();
            capabilities.sort_unstable();
            let known = classes.iter().position(|class| class.capabilities == capabilities);
            let class = known.unwrap_or_else(|| {
                classes.push(ClassPlan { capabilities, options: Vec::new(), held: Vec::new() });
                classes.len() - 1
            });
            let hours = start.map_or_else(Vec::new, |start| {
                hours::of_player(player, &file.time_zone, start, file.duration_seconds)
            });
            players.push(PlayerPlan { skill: player.skill, class, hours });
        }
        let tiles = file.rows.iter().map(|row| row.tiles.len()).sum();
        fill(&mut classes, &players, &rules, works, tiles);
        let strategy = strategies::make(&team.strategy);
        let needs_crowds = works.rules.iter().any(|rule| !works.activities[rule.activity].solo);
        let paces = Paces::new(&players, &classes, works);
        TeamPlan { luck: TeamLuck::new(&team.key), strategy, players, classes, needs_crowds, paces }
    }
}

fn find<'f>(file: &'f File, key: &str) -> Option<&'f Player> {
    file.players.iter().find(|player| player.key == key)
}

/// What each class may do: it meets the requirements, and if it takes a group, the team has enough who do.
fn fill(classes: &mut [ClassPlan], players: &[PlayerPlan], rules: &[&Rule], works: &Works, tiles: usize) {
    let meets = |class: &ClassPlan, rule: &Rule| rule.requires.iter().all(|c| class.capabilities.contains(c));
    let able: Vec<usize> = rules
        .iter()
        .map(|rule| players.iter().filter(|player| meets(&classes[player.class], rule)).count())
        .collect();
    for class in classes {
        class.options = vec![Vec::new(); tiles];
        for (index, (rule, plan)) in rules.iter().zip(&works.rules).enumerate() {
            let activity = &works.activities[plan.activity];
            let enough = activity.group.is_some_and(|(least, _)| able[index] >= least as usize);
            if meets(class, rule) && (activity.solo || enough) {
                class.options[plan.tile].push(index);
            }
            let held =
                rule.modifiers.iter().enumerate().filter(|(_, m)| class.capabilities.contains(&m.capability));
            class.held.push(held.map(|(index, _)| 1 << index).sum());
        }
        for options in &mut class.options {
            options.sort_by_key(|rule| (works.rules[*rule].estimate, *rule));
        }
    }
}
