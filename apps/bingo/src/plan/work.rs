//! The ways to work: activities with their lines, and for each rule of a tile what it changes for whom.

use std::collections::BTreeMap;

use super::estimate;
use crate::limits::{DECIMAL, PLAYERS_PER_TEAM};
use crate::odds::Odds;
use crate::scenario::{Activity, Decimal, File, Line, MILLION, Modifier, Outcome, Roll, Rule, Time};
use crate::tiles::TileSet;

/// All ways to work on a board.
#[derive(Debug)]
pub(crate) struct Works {
    pub(crate) rules: Vec<RulePlan>,
    pub(crate) activities: Vec<ActivityPlan>,
    pub(crate) odds: Vec<Odds>,
    /// For each drop the tiles that accept it.
    pub(crate) accepts: Vec<TileSet>,
    pub(crate) drops: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct ActivityPlan {
    pub(crate) solo: bool,
    /// Least and greatest size of a group.
    pub(crate) group: Option<(u32, u32)>,
    pub(crate) lines: Vec<LinePlan>,
    /// The longest time, before skill, bands and modifiers.
    pub(crate) longest: u64,
    /// Whether it is for one player, with one line and a uniform time: what can be run ahead.
    pub(crate) plain: bool,
    /// The band of each size; the last one is for sizes without a band and changes nothing.
    band_of: Vec<usize>,
    bands: usize,
}

#[derive(Debug)]
pub(crate) struct LinePlan {
    pub(crate) roll: Roll,
    pub(crate) time: TimePlan,
    /// Those that grant something first, otherwise in the order of the file. Grants are (drop, least, most).
    pub(crate) outcomes: Vec<Vec<(usize, u32, u32)>>,
    /// How many grant something.
    pub(crate) granting: usize,
}

/// Seconds before skill, bands and modifiers.
#[derive(Debug)]
pub(crate) enum TimePlan {
    /// `many` whole numbers from `least`, which may be below 1.
    Uniform {
        least: i64,
        many: u64,
    },
    Normal {
        seconds: i64,
        variance: i64,
    },
    Custom {
        odds: Odds,
        seconds: Vec<u32>,
    },
}

/// One way to work on one tile.
#[derive(Debug)]
pub(crate) struct RulePlan {
    pub(crate) tile: usize,
    pub(crate) activity: usize,
    /// Seconds that one player without special skills is likely to need for the tile.
    pub(crate) estimate: u32,
    /// Sets of modifiers, and what each set and band do to the time.
    sets: usize,
    scales: Vec<Decimal>,
    odds: Vec<usize>,
}

impl ActivityPlan {
    pub(crate) fn band(&self, size: u32) -> usize {
        self.band_of[size as usize]
    }
}

impl TimePlan {
    fn longest(&self) -> u64 {
        match self {
            TimePlan::Uniform { least, many } => (least + *many as i64 - 1).max(1) as u64,
            TimePlan::Normal { seconds, variance } => (seconds + variance) as u64,
            TimePlan::Custom { seconds, .. } => seconds.iter().copied().max().unwrap_or(1).into(),
        }
    }
}

impl RulePlan {
    /// What band and modifiers do to the time. `held` is the set of the rule's modifiers that count.
    pub(crate) fn scale(&self, held: usize, band: usize) -> Decimal {
        self.scales[band * self.sets + held]
    }

    /// The odds of a line, by number in [`Works::odds`].
    pub(crate) fn odds(&self, activity: &ActivityPlan, line: usize, held: usize, band: usize) -> usize {
        self.odds[(line * (activity.bands + 1) + band) * self.sets + held]
    }
}

impl Works {
    pub(crate) fn new(file: &File) -> Works {
        let mut drops: Vec<String> = Vec::new();
        for rule in file.rows.iter().flat_map(|row| &row.tiles).flat_map(|tile| &tile.rules) {
            drops.extend(rule.drops.iter().cloned());
        }
        let lines = file.activities.iter().flat_map(|activity| &activity.attempts);
        let grants = lines.flat_map(|line| &line.outcomes).flat_map(|outcome| &outcome.grants);
        drops.extend(grants.map(|grant| grant.drop.clone()));
        drops.sort_unstable();
        drops.dedup();
        let activities = file.activities.iter().map(|activity| activity_plan(activity, &drops)).collect();
        let accepts = vec![TileSet::default(); drops.len()];
        let mut works = Works { rules: Vec::new(), activities, odds: Vec::new(), accepts, drops };
        let mut known = BTreeMap::new();
        for (tile, at) in file.rows.iter().flat_map(|row| &row.tiles).zip(0..) {
            for rule in &tile.rules {
                for drop in &rule.drops {
                    if let Ok(drop) = works.drops.binary_search(drop) {
                        works.accepts[drop].insert(at);
                    }
                }
                let index = file.activities.iter().position(|activity| activity.key == rule.activity);
                let Some(index) = index else { continue };
                let mut plan = works.rule_plan(at, index, &file.activities[index], rule, &mut known);
                plan.estimate = estimate::seconds(&works, &plan, tile.required, &rule.drops);
                works.rules.push(plan);
            }
        }
        works
    }

    fn rule_plan(
        &mut self,
        tile: usize,
        index: usize,
        activity: &Activity,
        rule: &Rule,
        known: &mut BTreeMap<(usize, usize, u64, u64), usize>,
    ) -> RulePlan {
        let sets = 1 << rule.modifiers.len();
        let bands = activity.bands.len() + 1;
        let mut plan = RulePlan { tile, activity: index, estimate: 0, sets, scales: vec![], odds: vec![] };
        for band in 0..bands {
            for held in 0..sets {
                let start = activity.bands.get(band).map_or(Decimal::ONE, |band| band.time);
                plan.scales.push(product(start, rule, held, |modifier| modifier.time));
            }
        }
        for (line_index, line) in activity.attempts.iter().enumerate() {
            let wanted = accepted_outcomes(line, rule);
            for band in 0..bands {
                for held in 0..sets {
                    let start = activity.bands.get(band).map_or(Decimal::ONE, |band| band.probability);
                    let factor = product(start, rule, held, |modifier| modifier.probability);
                    let number = *known.entry((index, line_index, wanted, factor.0)).or_insert_with(|| {
                        self.odds.push(line_odds(line, wanted, factor));
                        self.odds.len() - 1
                    });
                    plan.odds.push(number);
                }
            }
        }
        plan
    }
}

/// A product of multipliers, kept within what the odds can hold, and never zero.
fn product(start: Decimal, rule: &Rule, held: usize, of: impl Fn(&Modifier) -> Decimal) -> Decimal {
    let held = rule.modifiers.iter().enumerate().filter(|(index, _)| held >> index & 1 == 1);
    let product = held.fold(start, |product, (_, modifier)| product.times(of(modifier)));
    product.clamp(Decimal(1), Decimal(DECIMAL * MILLION))
}

/// The outcomes of a line in the order of the plan.
fn ordered(line: &Line) -> impl Iterator<Item = &Outcome> {
    let granting = line.outcomes.iter().filter(|outcome| !outcome.grants.is_empty());
    granting.chain(line.outcomes.iter().filter(|outcome| outcome.grants.is_empty()))
}

/// The outcomes that hold a drop which the rule accepts, as bits.
fn accepted_outcomes(line: &Line, rule: &Rule) -> u64 {
    let mut set = 0;
    for (index, outcome) in ordered(line).enumerate() {
        if outcome.grants.iter().any(|grant| rule.drops.contains(&grant.drop)) {
            set |= 1 << index;
        }
    }
    set
}

fn line_odds(line: &Line, wanted: u64, factor: Decimal) -> Odds {
    let weights = ordered(line).enumerate().map(|(index, outcome)| {
        (outcome.weight, if wanted >> index & 1 == 1 { factor } else { Decimal::ONE })
    });
    Odds::new(&weights.collect::<Vec<_>>())
}

fn activity_plan(activity: &Activity, drops: &[String]) -> ActivityPlan {
    let band = |size: u32| {
        let found = activity.bands.iter().position(|band| (band.min..=band.max).contains(&size));
        found.unwrap_or(activity.bands.len())
    };
    let lines: Vec<LinePlan> = activity.attempts.iter().map(|line| line_plan(line, drops)).collect();
    let uniform = matches!(lines.as_slice(), [LinePlan { time: TimePlan::Uniform { .. }, .. }]);
    ActivityPlan {
        solo: activity.solo,
        group: activity.group.map(|group| (group.min, group.max)),
        longest: lines.iter().map(|line| line.time.longest()).max().unwrap_or(1),
        plain: activity.group.is_none() && uniform,
        lines,
        band_of: (0..=PLAYERS_PER_TEAM as u32).map(band).collect(),
        bands: activity.bands.len(),
    }
}

fn line_plan(line: &Line, drops: &[String]) -> LinePlan {
    let time = match &line.time {
        Time::Uniform { seconds, variance } => TimePlan::Uniform {
            least: i64::from(*seconds) - i64::from(*variance),
            many: 2 * u64::from(*variance) + 1,
        },
        Time::Normal { seconds, variance } => {
            TimePlan::Normal { seconds: (*seconds).into(), variance: (*variance).into() }
        }
        Time::Custom { times } => TimePlan::Custom {
            odds: Odds::new(&times.iter().map(|time| (time.weight, Decimal::ONE)).collect::<Vec<_>>()),
            seconds: times.iter().map(|time| time.seconds).collect(),
        },
    };
    // Every drop that is granted has a number.
    let number = |drop: &String| drops.binary_search(drop).unwrap_or(usize::MAX);
    let grants = |outcome: &Outcome| {
        outcome.grants.iter().map(|grant| (number(&grant.drop), grant.min, grant.max)).collect()
    };
    LinePlan {
        roll: line.roll,
        time,
        outcomes: ordered(line).map(grants).collect(),
        granting: line.outcomes.iter().filter(|outcome| !outcome.grants.is_empty()).count(),
    }
}
