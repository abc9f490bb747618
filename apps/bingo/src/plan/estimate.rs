//! How long a tile is likely to take, by one rule: the figure by which strategies choose.
//!
//! Expected units of an attempt are exact to 2⁻⁶⁴: the odds of each outcome times its mean units, summed over the lines.
//! The estimate is ⌈required / expected⌉ attempts, each as long as its longest line is on average. It speaks of the whole
//! tile and of a player without skills, alone if the activity allows it and otherwise in the smallest group.

use super::work::{LinePlan, RulePlan, TimePlan, Works};
use crate::scenario::{MILLION, Roll};

/// Seconds, from 1.
pub(super) fn seconds(works: &Works, rule: &RulePlan, required: u32, drops: &[String]) -> u32 {
    let activity = &works.activities[rule.activity];
    let size = if activity.solo { 1 } else { activity.group.map_or(1, |(least, _)| least) };
    let band = activity.band(size);
    // In halves of 2⁻⁶⁴ units.
    let mut expected: u128 = 0;
    for (index, line) in activity.lines.iter().enumerate() {
        let odds = &works.odds[rule.odds(activity, index, 0, band)];
        let rolls = if line.roll == Roll::PerPlayer { size } else { 1 };
        for (outcome, grants) in line.outcomes.iter().enumerate() {
            let wanted = grants
                .iter()
                .filter(|(drop, ..)| works.drops.get(*drop).is_some_and(|drop| drops.contains(drop)));
            let units: u128 = wanted.map(|(_, least, most)| u128::from(*least) + u128::from(*most)).sum();
            expected += u128::from(odds.share(outcome)) * units * u128::from(rolls);
        }
    }
    if expected == 0 {
        return u32::MAX;
    }
    let attempts = (u128::from(required) << 65).div_ceil(expected);
    let longest = activity.lines.iter().map(mean_seconds).max().unwrap_or(1);
    let each = u128::from(longest) * u128::from(rule.scale(0, band).0);
    let total = attempts.saturating_mul(each) / u128::from(MILLION);
    u32::try_from(total).unwrap_or(u32::MAX).max(1)
}

fn mean_seconds(line: &LinePlan) -> u64 {
    match &line.time {
        TimePlan::Uniform { least, many } => (least + (*many as i64 - 1) / 2).max(1) as u64,
        TimePlan::Normal { seconds, .. } => (*seconds).max(1) as u64,
        TimePlan::Custom { odds, seconds } => {
            let parts = seconds
                .iter()
                .enumerate()
                .map(|(index, seconds)| u128::from(odds.share(index)) * u128::from(*seconds));
            ((parts.sum::<u128>() >> 64) as u64).max(1)
        }
    }
}
