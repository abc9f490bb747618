//! Random scenarios.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Small boards with everything in them: groups, bands, modifiers, sessions, distributions, all strategies.
pub(crate) fn scenario() -> impl Strategy<Value = Value> {
    (1..4_usize, 1..4_usize, 1..4_usize).prop_flat_map(|(activities, rows, teams)| {
        (
            500..20_000_u32,
            0..=10_u32,
            prop::collection::vec(tiles(activities), rows),
            (0..activities).map(activity).collect::<Vec<_>>(),
            prop::collection::vec((strategy(), prop::collection::vec(player(), 1..5)), teams),
        )
            .prop_map(|(duration, unlock, rows, activities, teams)| {
                assemble(duration, unlock, rows, &activities, teams)
            })
    })
}

fn assemble(
    duration: u32,
    unlock: u32,
    rows: Vec<Vec<Value>>,
    activities: &[Value],
    teams: Vec<(Value, Vec<Value>)>,
) -> Value {
    let mut players = Vec::new();
    let mut team_list = Vec::new();
    for (number, (strategy, members)) in teams.into_iter().enumerate() {
        let mut keys = Vec::new();
        for mut player in members {
            let key = format!("p{}", players.len());
            player["key"] = json!(key);
            players.push(player);
            keys.push(key);
        }
        team_list.push(json!({ "key": format!("t{number}"), "players": keys, "strategy": strategy }));
    }
    let mut row_list = Vec::new();
    for (row, mut tiles) in rows.into_iter().enumerate() {
        for (place, tile) in tiles.iter_mut().enumerate() {
            tile["key"] = json!(format!("r{row}.{place}"));
            tile["points"] = json!(place + 1);
            accept_what_falls(tile, activities);
        }
        row_list.push(json!({ "tiles": tiles }));
    }
    json!({
        "name": "Random", "start": "2026-03-08T00:00:00", "time_zone": "America/New_York",
        "duration_seconds": duration, "unlock_points": unlock,
        "rows": row_list, "activities": activities, "players": players, "teams": team_list,
    })
}

/// Rules ask for `x` only where it may fall.
fn accept_what_falls(tile: &mut Value, activities: &[Value]) {
    for rule in tile["rules"].as_array_mut().unwrap() {
        let activity = activities.iter().find(|activity| activity["key"] == rule["activity"]).unwrap();
        if !activity["attempts"].to_string().contains("\"x\"") {
            rule["drops"].as_array_mut().unwrap().truncate(1);
        }
    }
}

fn tiles(activities: usize) -> impl Strategy<Value = Vec<Value>> {
    let rule = (0..activities, any::<bool>(), 0..4_u8, 1..4_u8).prop_map(|(activity, shared, needs, modifies)| {
        let mut drops = vec![format!("d{activity}")];
        if shared {
            drops.push("x".to_owned());
        }
        let requires = if needs == 0 { json!(["c0"]) } else { json!([]) };
        let modifiers = match modifies {
            1 => json!([{ "capability": "c1", "time": "0.7", "probability": "1.5" }]),
            2 => json!([{ "capability": "c0", "probability": "0.25" }, { "capability": "c1", "time": "1.3" }]),
            _ => json!([]),
        };
        json!({ "activity": format!("a{activity}"), "drops": drops, "requires": requires, "modifiers": modifiers })
    });
    let tile = (prop_oneof![1..25_u32, 25..200_u32], prop::collection::vec(rule, 1..3))
        .prop_map(|(required, rules)| json!({ "required": required, "rules": rules }));
    prop::collection::vec(tile, 4)
}

fn activity(number: usize) -> impl Strategy<Value = Value> {
    // Half of them are plain, so that running ahead has much to do.
    let mode = prop_oneof![
        4 => Just(json!({ "solo": true })),
        1 => Just(json!({ "solo": true, "group": { "min": 2, "max": 3 } })),
        1 => Just(json!({ "solo": true, "group": { "min": 3, "max": 3 } })),
        1 => Just(json!({ "solo": false, "group": { "min": 2, "max": 2 } })),
        1 => Just(json!({ "solo": false, "group": { "min": 2, "max": 4 } })),
    ];
    let lines =
        prop_oneof![3 => prop::collection::vec(line(number), 1), 1 => prop::collection::vec(line(number), 2)];
    (mode, lines, any::<bool>()).prop_map(move |(mut activity, mut lines, banded)| {
        for (index, line) in lines.iter_mut().enumerate() {
            line["key"] = json!(format!("l{index}"));
        }
        activity["key"] = json!(format!("a{number}"));
        activity["attempts"] = json!(lines);
        if banded {
            activity["bands"] = json!([{ "min": 1, "max": 1, "time": "1.1" }, { "min": 2, "max": 3, "time": "0.8", "probability": "1.25" }]);
        }
        activity
    })
}

fn line(number: usize) -> impl Strategy<Value = Value> {
    let time = prop_oneof![
        4 => (1..120_u32, 0..100_u32)
            .prop_map(|(seconds, variance)| json!({ "seconds": seconds, "variance": variance })),
        1 => (5..300_u32, 0..100_u32)
            .prop_map(|(seconds, variance)| json!({ "distribution": "normal", "seconds": seconds, "variance": variance })),
        1 => Just(json!({ "distribution": "custom", "times": [{ "seconds": 30, "weight": "1/3" }, { "seconds": 90, "weight": "2/3" }] })),
    ];
    let roll = prop_oneof![Just("per_player"), Just("per_group")];
    (time, roll, any::<bool>(), 1..5_u32, 1..9_u32, 1..4_u32).prop_map(
        move |(time, roll, single, lucky, unlucky, units)| {
            let own =
                json!({ "drop": format!("d{number}"), "min": if single { units } else { 1 }, "max": units });
            let mut outcomes = vec![
                json!({ "key": "nothing", "weight": format!("{unlucky}/7") }),
                json!({ "key": "own", "weight": format!("{lucky}/7"), "grants": [own] }),
            ];
            if !single {
                let both = json!([own, { "drop": "x", "units": 1 }]);
                outcomes.push(json!({ "key": "both", "weight": "1/3", "grants": both }));
            }
            json!({ "roll": roll, "time": time, "outcomes": outcomes })
        },
    )
}

fn player() -> impl Strategy<Value = Value> {
    let capabilities = prop::sample::subsequence(vec!["c0", "c1"], 0..=2);
    let session = (0..24_u32, 0..60_u32, 5..200_u32).prop_map(|(hour, minute, minutes)| {
        json!({ "day": "sunday", "start": format!("{hour:02}:{minute:02}"), "minutes": minutes })
    });
    let early = (0..4_u32, 0..60_u32, 5..90_u32).prop_map(|(hour, minute, minutes)| {
        json!({ "day": "sunday", "start": format!("{hour:02}:{minute:02}"), "minutes": minutes })
    });
    let sessions = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec(prop_oneof![session, early], 1..5),
    ];
    (50..200_u32, capabilities, sessions).prop_map(|(skill, capabilities, sessions)| {
        let skill = format!("{}.{:02}", skill / 100, skill % 100);
        json!({ "skill": skill, "capabilities": capabilities, "sessions": sessions })
    })
}

fn strategy() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4_u32)
            .prop_map(|slack| json!({ "name": "RowUnlocking", "params": { "threshold_slack": slack } })),
        prop_oneof![Just("points"), Just("points_per_time")]
            .prop_map(|prefer| json!({ "name": "Greedy", "params": { "prefer": prefer } })),
        (0..3_u32)
            .prop_map(|weight| json!({ "name": "ComboUnlocking", "params": { "shared_weight": weight } })),
        (0..3_u32, 0..3_u32).prop_map(
            |(points, unlock)| json!({ "name": "Balanced", "params": { "points": points, "unlock": unlock } })
        ),
    ]
}
