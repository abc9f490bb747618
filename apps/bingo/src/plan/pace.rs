//! How a player goes about a plain rule, alone: everything that his attempts need, as a few numbers.

use std::collections::BTreeMap;

use super::team::{ClassPlan, PlayerPlan};
use super::work::{LinePlan, TimePlan, Works};
use crate::luck::{Stream, split};
use crate::odds::Odds;
use crate::scenario::{Decimal, MILLION};

/// Times up to so many are written out beforehand.
const WRITTEN_OUT: u64 = 256;

/// The attempts of a player by a plain rule.
#[derive(Debug)]
pub(crate) struct Pace {
    pub(crate) activity: usize,
    /// The odds, and the last number that may yield something.
    pub(crate) odds: usize,
    pub(crate) lucky: u64,
    /// The only drop that there may be, with its units, if it is always the same: then `lucky` is exact.
    pub(crate) single: Option<(usize, u32)>,
    /// Attempts in 2³² seconds that are likely to yield something.
    pub(crate) rate: u64,
    /// The longest attempt.
    pub(crate) longest: u64,
    /// Before it is scaled, an attempt takes whole seconds from `least`, `many` of them.
    least: i64,
    many: u64,
    scale: Decimal,
    /// Scaled seconds for each choice; empty if there are too many.
    seconds: Vec<u32>,
}

impl Pace {
    /// The seconds of an attempt, and what is left of the draw for its roll.
    #[inline(always)]
    pub(crate) fn draw(&self, stream: &mut Stream) -> (u64, u64) {
        let (choice, rest) = split(stream.next(), self.many);
        match self.seconds.get(choice as usize) {
            Some(seconds) => (u64::from(*seconds), rest),
            None => (self.scaled(choice), rest),
        }
    }

    /// What may come of an attempt, and how often.
    fn expect(&mut self, line: &LinePlan, odds: &Odds) {
        let boundary = match line.granting {
            0 => 0,
            all if all == line.outcomes.len() => u64::MAX,
            some => odds.up_to(some - 1).saturating_sub(1),
        };
        // To stop at an attempt that yields nothing does no harm, so it may be the number 0 where it should be none.
        self.lucky = boundary;
        if let ([grants], true) = (&line.outcomes[..line.granting], boundary > 0)
            && let [(drop, least, most)] = grants.as_slice()
            && least == most
        {
            self.single = Some((*drop, *least));
        }
        self.rate = (boundary >> 32) / self.scaled(self.many / 2);
        if self.many <= WRITTEN_OUT && u32::try_from(self.longest).is_ok() {
            self.seconds = (0..self.many).map(|choice| self.scaled(choice) as u32).collect();
        }
    }

    fn scaled(&self, choice: u64) -> u64 {
        scaled((self.least + choice as i64).max(1) as u64, self.scale)
    }
}

/// Whole seconds, rounded down, at least one.
#[inline]
pub(crate) fn scaled(seconds: u64, scale: Decimal) -> u64 {
    (seconds * scale.0 / MILLION).max(1)
}

/// The paces of a team, and which of them each player takes for each rule.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    all: Vec<Pace>,
    of: Vec<u32>,
    rules: usize,
}

impl Paces {
    pub(super) fn new(players: &[PlayerPlan], classes: &[ClassPlan], works: &Works) -> Paces {
        let mut paces = Paces { all: Vec::new(), of: Vec::new(), rules: works.rules.len() };
        let mut known = BTreeMap::new();
        for player in players {
            for rule in 0..works.rules.len() {
                let number = paces.number(player, classes[player.class].held[rule], rule, works, &mut known);
                paces.of.push(number.unwrap_or(u32::MAX));
            }
        }
        paces
    }

    /// The number of a player's pace by a rule, if the rule is plain.
    #[inline]
    pub(crate) fn of(&self, player: usize, rule: usize) -> Option<u32> {
        Some(self.of[player * self.rules + rule]).filter(|number| *number != u32::MAX)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &Pace {
        &self.all[number as usize]
    }

    fn number(
        &mut self,
        player: &PlayerPlan,
        held: usize,
        rule: usize,
        works: &Works,
        known: &mut BTreeMap<(usize, Decimal, usize), u32>,
    ) -> Option<u32> {
        let plan = &works.rules[rule];
        let activity = &works.activities[plan.activity];
        let line = activity.lines.first().filter(|_| activity.plain)?;
        let TimePlan::Uniform { least, many } = line.time else { return None };
        let scale = player.skill.times(plan.scale(held, activity.band(1)));
        let odds = plan.odds(activity, 0, held, activity.band(1));
        let number = known.entry((plan.activity, scale, odds)).or_insert_with(|| {
            let mut pace = Pace {
                activity: plan.activity,
                odds,
                lucky: 0,
                single: None,
                rate: 0,
                longest: scaled(activity.longest, scale),
                least,
                many,
                scale,
                seconds: Vec::new(),
            };
            pace.expect(line, &works.odds[odds]);
            self.all.push(pace);
            self.all.len() as u32 - 1
        });
        Some(*number)
    }
}
