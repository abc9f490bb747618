//! A small scenario that tests change to their needs.

use serde_json::{Value, json};
use turnwise_bingo::{Happening, Plan, Run, Scratch, Seed, Timeline, read};

/// One row, one plain activity `dig` that takes 10 s and always yields one `ore`, one team of one player.
pub(crate) fn small() -> Value {
    json!({
        "name": "Small",
        "start": "2026-03-02T00:00:00",
        "time_zone": "UTC",
        "duration_seconds": 10_000,
        "unlock_points": 5,
        "rows": [row("r1", "dig", "ore", [1, 2, 3, 4])],
        "activities": [activity("dig", 10, "ore")],
        "players": [{ "key": "ann" }],
        "teams": [team("t1", &["ann"], "Greedy")],
    })
}

/// A row whose tiles `<key>.1` to `<key>.4` need so many units, by one activity.
pub(crate) fn row(key: &str, activity: &str, drop: &str, required: [u32; 4]) -> Value {
    let tiles: Vec<Value> = (1..)
        .zip(required)
        .map(|(points, required)| {
            let rules = json!([{ "activity": activity, "drops": [drop] }]);
            json!({ "key": format!("{key}.{points}"), "points": points, "required": required, "rules": rules })
        })
        .collect();
    json!({ "tiles": tiles })
}

/// Something that one player does alone, in exactly so many seconds, for one unit each time.
pub(crate) fn activity(key: &str, seconds: u32, drop: &str) -> Value {
    json!({ "key": key, "solo": true, "attempts": [{
        "key": "loot", "roll": "per_player", "time": { "seconds": seconds },
        "outcomes": [{ "key": "always", "weight": 1, "grants": [{ "drop": drop, "units": 1 }] }],
    }] })
}

pub(crate) fn team(key: &str, players: &[&str], strategy: &str) -> Value {
    json!({ "key": key, "players": players, "strategy": { "name": strategy } })
}

pub(crate) fn plan(scenario: &Value) -> Plan {
    match read(&scenario.to_string()) {
        Ok(scenario) => Plan::new(&scenario),
        Err(faults) => panic!("{faults}"),
    }
}

pub(crate) fn run(plan: &Plan, seed: &str, index: u64) -> Run {
    let mut run = Run::default();
    plan.run(&Seed::new(seed), index, &mut run, &mut Scratch::new()).unwrap();
    run
}

pub(crate) fn timeline(plan: &Plan, index: u64) -> Timeline {
    plan.timeline(&Seed::new("test"), index).unwrap()
}

/// When attempts of a team began: second, players, activity.
pub(crate) fn begun(timeline: &Timeline, team: usize) -> Vec<(u32, Vec<&str>, &str)> {
    let moments = timeline.teams[team].moments.iter();
    let begun = moments.filter_map(|moment| match &moment.what {
        Happening::Begun { players, activity, .. } => {
            Some((moment.second, players.iter().map(String::as_str).collect(), activity.as_str()))
        }
        _ => None,
    });
    begun.collect()
}
