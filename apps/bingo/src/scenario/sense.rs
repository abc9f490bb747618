//! What a well-formed file must also say to make sense: drops that can fall, a start that exists, a run that ends.

use super::activity::{Activity, Time};
use super::faults::Faults;
use super::{Decimal, File, MILLION, Rule};
use crate::limits::ATTEMPTS_PER_RUN;

pub(super) fn check(file: &File, faults: &mut Faults) {
    if file.start.in_zone(&file.time_zone).is_none() {
        let zone = &file.time_zone;
        faults.add("start", format!("the clocks of {zone} skip this time; take an earlier or a later one"));
    }
    for (row_index, row) in file.rows.iter().enumerate() {
        for (tile_index, tile) in row.tiles.iter().enumerate() {
            for (rule_index, rule) in tile.rules.iter().enumerate() {
                let place = format!("rows[{row_index}].tiles[{tile_index}].rules[{rule_index}]");
                drops_can_fall(file, rule, &place, faults);
            }
        }
    }
    run_is_bounded(file, faults);
}

fn drops_can_fall(file: &File, rule: &Rule, place: &str, faults: &mut Faults) {
    let Some(activity) = file.activities.iter().find(|activity| activity.key == rule.activity) else {
        return;
    };
    let granted = |drop: &str| {
        let outcomes = activity.attempts.iter().flat_map(|line| &line.outcomes);
        outcomes.flat_map(|outcome| &outcome.grants).any(|grant| grant.drop == drop)
    };
    for (index, drop) in rule.drops.iter().enumerate().filter(|(_, drop)| !granted(drop)) {
        faults.add(
            format!("{place}.drops[{index}]"),
            format!("no outcome of `{}` grants `{drop}`", activity.key),
        );
    }
}

/// The shortest time that an attempt of anybody may take bounds the attempts of a run.
fn run_is_bounded(file: &File, faults: &mut Faults) {
    let fastest = file.players.iter().map(|player| player.skill).min().unwrap_or(Decimal::ONE);
    let modifiers = file.rows.iter().flat_map(|row| &row.tiles).flat_map(|tile| &tile.rules).map(|rule| {
        rule.modifiers
            .iter()
            .filter(|modifier| modifier.time < Decimal::ONE)
            .fold(Decimal::ONE, |all, one| all.times(one.time))
    });
    let quickest = modifiers.min().unwrap_or(Decimal::ONE);
    let shortest = file.activities.iter().map(|activity| {
        let bands = activity.bands.iter().map(|band| band.time).min().unwrap_or(Decimal::ONE);
        let scale = fastest.times(quickest).times(bands.min(Decimal::ONE));
        (least_seconds(activity) * scale.0 / MILLION).max(1)
    });
    let shortest = shortest.min().unwrap_or(1);
    let drafted: usize = file.teams.iter().map(|team| team.players.len()).sum();
    let attempts = u64::from(file.duration_seconds) / shortest * drafted as u64;
    if attempts > ATTEMPTS_PER_RUN {
        let advice = "shorten the event, or let attempts take longer";
        let why = format!("a run may need {attempts} attempts, at most {ATTEMPTS_PER_RUN}; {advice}");
        faults.add("duration_seconds", why);
    }
}

/// An attempt lasts as long as its longest line, so it is at least as long as the shortest time of any one line.
fn least_seconds(activity: &Activity) -> u64 {
    let lines = activity.attempts.iter().map(|line| match &line.time {
        Time::Uniform { seconds, variance } | Time::Normal { seconds, variance } => {
            u64::from(seconds.saturating_sub(*variance).max(1))
        }
        Time::Custom { times } => times.iter().map(|time| u64::from(time.seconds)).min().unwrap_or(1),
    });
    lines.max().unwrap_or(1)
}
