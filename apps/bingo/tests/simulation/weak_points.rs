//! What was wrong with the machine that this one replaces, point by point: it cannot happen here.

use serde_json::{Value, json};
use turnwise_bingo::{Happening, Run, Scratch, Seed, shipped};

use crate::small::{activity, begun, plan, row, run, small, team, timeline};

/// An hour after the start, on the day of the start.
fn one_hour_later() -> Value {
    json!([{ "day": "monday", "start": "01:00", "minutes": 30 }])
}

#[test]
fn weak_point_2_who_comes_online_plays_at_once() {
    let mut scenario = small();
    scenario["rows"] = json!([row("r1", "dig", "ore", [1_000, 1_000, 1_000, 1_000])]);
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob", "sessions": one_hour_later() }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "Greedy")]);
    let told = timeline(&plan(&scenario), 0);
    let bob: Vec<u32> =
        begun(&told, 0).iter().filter(|(_, who, _)| who == &["bob"]).map(|(at, ..)| *at).collect();
    // Ann is never idle, so a queue would never run dry.
    assert_eq!(bob.first(), Some(&3_600));
    assert_eq!(bob.len(), 180, "half an hour, ten seconds each");
    assert_eq!(bob.last(), Some(&5_390), "the last one ends with the session");
}

#[test]
fn weak_point_2_who_can_work_again_after_an_unlock_plays_at_once() {
    let mut scenario = small();
    let mut second = row("r2", "dive", "pearl", [5, 5, 5, 5]);
    for tile in second["tiles"].as_array_mut().unwrap() {
        tile["rules"][0]["requires"] = json!(["swims"]);
    }
    let mut first = row("r1", "dig", "ore", [20, 20, 20, 20]);
    for tile in first["tiles"].as_array_mut().unwrap() {
        tile["rules"][0]["requires"] = json!(["digs"]);
    }
    scenario["rows"] = json!([first, second]);
    scenario["activities"] = json!([activity("dig", 10, "ore"), activity("dive", 7, "pearl")]);
    scenario["players"] =
        json!([{ "key": "ann", "capabilities": ["digs"] }, { "key": "bob", "capabilities": ["swims"] }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "RowUnlocking")]);
    let told = timeline(&plan(&scenario), 0);
    let unlocked = told.run.teams[0].row_unlocks[1];
    let begun = begun(&told, 0);
    let bob = begun.iter().find(|(_, who, _)| who == &["bob"]).map(|(at, ..)| *at);
    assert_eq!((unlocked, bob), (Some(400), Some(400)), "two tiles of twenty ores make five points");
}

#[test]
fn weak_point_2_an_attempt_that_does_not_fit_the_session_leaves_room_for_one_that_does() {
    let mut scenario = small();
    let mut tiles = row("r1", "raid", "gold", [50, 50, 50, 50]);
    tiles["tiles"][0]["rules"] = json!([{ "activity": "dig", "drops": ["ore"] }]);
    scenario["rows"] = json!([tiles]);
    scenario["activities"] = json!([activity("dig", 10, "ore"), activity("raid", 1_000, "gold")]);
    scenario["players"] = json!([{ "key": "ann", "sessions": one_hour_later() }]);
    let told = timeline(&plan(&scenario), 0);
    let begun = begun(&told, 0);
    let raids: Vec<u32> = begun.iter().filter(|(.., what)| *what == "raid").map(|(at, ..)| *at).collect();
    let digs: Vec<u32> = begun.iter().filter(|(.., what)| *what == "dig").map(|(at, ..)| *at).collect();
    assert_eq!(raids, [3_600], "a second raid would end at 5,600, and she leaves at 5,400");
    assert_eq!(digs.first(), Some(&4_600), "she digs from the second in which the raid is over");
    assert_eq!(digs.len(), 50, "until the tile is complete");
}

/// Gold takes two; ore is for anybody.
fn raid_for(least: u32, solo: bool) -> Value {
    let mut raid = activity("raid", 100, "gold");
    raid["solo"] = json!(solo);
    raid["group"] = json!({ "min": least, "max": 4 });
    raid
}

#[test]
fn weak_point_3_groups_form_from_players_who_were_freed_at_different_times() {
    let mut scenario = small();
    let mut tiles = row("r1", "raid", "gold", [50, 50, 50, 50]);
    tiles["tiles"][0]["rules"] = json!([{ "activity": "dig", "drops": ["ore"] }]);
    scenario["rows"] = json!([tiles]);
    scenario["activities"] = json!([activity("dig", 700, "ore"), raid_for(2, false)]);
    scenario["players"] = json!([
        { "key": "ann" },
        { "key": "bob", "sessions": [{ "day": "monday", "start": "00:05", "minutes": 1_000 }] },
    ]);
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "Greedy")]);
    let told = timeline(&plan(&scenario), 0);
    let begun = begun(&told, 0);
    // Alone she digs. He comes at 300 and waits; she is free at 700, and they set out in that second.
    assert_eq!(begun[0], (0, vec!["ann"], "dig"));
    assert_eq!(begun[1], (700, vec!["ann", "bob"], "raid"));
    assert_eq!(begun[2], (800, vec!["ann", "bob"], "raid"));
}

#[test]
fn weak_point_3_nobody_is_parked_for_a_group_that_cannot_come_together() {
    let mut scenario = small();
    let mut tiles = row("r1", "raid", "gold", [50, 50, 50, 50]);
    tiles["tiles"][0]["rules"] = json!([{ "activity": "dig", "drops": ["ore"] }]);
    scenario["rows"] = json!([tiles]);
    scenario["activities"] = json!([activity("dig", 10, "ore"), raid_for(3, false)]);
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "Greedy")]);
    let told = timeline(&plan(&scenario), 0);
    let begun = begun(&told, 0);
    assert!(begun.iter().all(|(.., what)| *what == "dig"), "three are needed, and there are two");
    assert_eq!(begun.len(), 50, "both dig until the tile is complete");
}

#[test]
fn weak_point_3_groups_are_never_too_small_even_if_one_may_play_alone() {
    let mut scenario = small();
    scenario["rows"] = json!([row("r1", "raid", "gold", [9, 9, 9, 9])]);
    scenario["activities"] = json!([raid_for(3, true)]);
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "Greedy")]);
    let told = timeline(&plan(&scenario), 0);
    assert!(begun(&told, 0).iter().all(|(_, who, _)| who.len() == 1));
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }, { "key": "cid" }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob", "cid"], "Greedy")]);
    let told = timeline(&plan(&scenario), 0);
    assert!(begun(&told, 0).iter().all(|(_, who, _)| who.len() == 3));
}

#[test]
fn weak_point_4_denominators_are_honoured() {
    let mut scenario = small();
    scenario["duration_seconds"] = json!(1_000);
    scenario["rows"] = json!([row("r1", "dig", "ore", [1, 1, 1, 1])]);
    scenario["activities"][0]["attempts"][0]["outcomes"] = json!([
        { "key": "rare", "weight": "1/5000", "grants": [{ "drop": "ore", "units": 1 }] },
        { "key": "nothing", "weight": "4999/5000" },
    ]);
    let plan = plan(&scenario);
    // A hundred attempts each: 1 − (4999/5000)^100 is 1.98 %. By numerators alone it would be 3.9 %.
    let lucky = (0..20_000).filter(|index| run(&plan, "odds", *index).teams[0].tiles > 0).count();
    assert!((300..=500).contains(&lucky), "{lucky} of 20,000, expected 396");
}

#[test]
fn weak_point_4_the_kind_of_distribution_is_honoured() {
    let durations = |time: Value| {
        let mut scenario = small();
        scenario["rows"] = json!([row("r1", "dig", "ore", [999, 999, 999, 999])]);
        scenario["duration_seconds"] = json!(1_000_000);
        scenario["activities"][0]["attempts"][0]["time"] = time;
        let told = timeline(&plan(&scenario), 0);
        let starts: Vec<u32> = begun(&told, 0).iter().map(|(at, ..)| *at).collect();
        starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<u32>>()
    };
    let inner = |durations: &[u32]| {
        durations.iter().filter(|seconds| (200..=400).contains(*seconds)).count() * 100 / durations.len()
    };
    let uniform = durations(json!({ "distribution": "uniform", "seconds": 300, "variance": 299 }));
    let normal = durations(json!({ "distribution": "normal", "seconds": 300, "variance": 299 }));
    let times = json!([{ "seconds": 100, "weight": "1/10" }, { "seconds": 500, "weight": "9/10" }]);
    let custom = durations(json!({ "distribution": "custom", "times": times }));
    assert!(uniform.len() > 2_000 && normal.len() > 2_000 && custom.len() > 2_000);
    assert!((30..=37).contains(&inner(&uniform)), "a third lies within a third: {}", inner(&uniform));
    assert!((64..=72).contains(&inner(&normal)), "68 % lie within one deviation: {}", inner(&normal));
    assert!(custom.iter().all(|seconds| [100, 500].contains(seconds)));
    let short = custom.iter().filter(|seconds| **seconds == 100).count() * 100 / custom.len();
    assert!((8..=12).contains(&short), "{short} % are short");
}

#[test]
fn weak_point_4_surplus_flows_to_the_next_tile() {
    let mut scenario = small();
    scenario["rows"] = json!([row("r1", "dig", "ore", [10, 20, 30, 40])]);
    scenario["activities"][0]["attempts"][0]["outcomes"][0]["grants"] =
        json!([{ "drop": "ore", "units": 95 }]);
    let told = timeline(&plan(&scenario), 0);
    // Greedy: 40 + 30 + 20 are filled at once, 5 go to the last one, and the next 95 complete it.
    assert_eq!(told.run.teams[0].tile_times, [Some(20), Some(10), Some(10), Some(10)]);
    let drops = told.teams[0].moments.iter().filter_map(|moment| match &moment.what {
        Happening::Drop { units, tile, .. } => Some((*units, tile.clone())),
        _ => None,
    });
    let drops: Vec<(u32, Option<String>)> = drops.collect();
    let tile = |points: u32| Some(format!("r1.{points}"));
    let expected = [(40, tile(4)), (30, tile(3)), (20, tile(2)), (5, tile(1)), (5, tile(1)), (90, None)];
    assert_eq!(drops, expected, "only what nobody needs any more is lost");
}

#[test]
fn weak_point_4_parameters_are_honoured() {
    let day: Value = serde_json::from_str(shipped()[1].text).unwrap();
    let points = |name: &str, params: Value| {
        let mut scenario = day.clone();
        scenario["teams"][1]["strategy"] = json!({ "name": name, "params": params });
        let plan = plan(&scenario);
        (0..20).map(|index| run(&plan, "params", index).teams[1].clone()).collect::<Vec<_>>()
    };
    for (name, one, other) in [
        ("RowUnlocking", json!({ "threshold_slack": 0 }), json!({ "threshold_slack": 5 })),
        ("Greedy", json!({ "prefer": "points" }), json!({ "prefer": "points_per_time" })),
        ("ComboUnlocking", json!({ "shared_weight": "0" }), json!({ "shared_weight": "3" })),
        ("Balanced", json!({ "points": "1", "unlock": "0" }), json!({ "points": "0", "unlock": "1" })),
    ] {
        assert_ne!(points(name, one), points(name, other), "{name}");
    }
}

#[test]
fn weak_point_4_ties_are_shared() {
    let mut scenario = small();
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }, { "key": "cid", "skill": "500" }]);
    scenario["teams"] = json!([
        team("t1", &["ann"], "Greedy"),
        team("t2", &["bob"], "Greedy"),
        team("t3", &["cid"], "Greedy")
    ]);
    let teams = run(&plan(&scenario), "ties", 0).teams;
    let shares: Vec<(u32, u32)> = teams.iter().map(turnwise_bingo::TeamRun::win_share).collect();
    assert_eq!(shares, [(1, 2), (1, 2), (0, 1)]);
}

#[test]
fn weak_point_5_the_start_is_part_of_the_scenario() {
    let mut scenario = small();
    scenario["players"] = json!([{ "key": "ann", "sessions": one_hour_later() }]);
    let first = |scenario: &Value| begun(&timeline(&plan(scenario), 0), 0).first().map(|(at, ..)| *at);
    assert_eq!(first(&scenario), Some(3_600));
    scenario["start"] = json!("2026-03-02T00:30:00");
    assert_eq!(first(&scenario), Some(1_800));
    scenario["start"] = json!("2026-03-02T00:10:00");
    scenario["players"][0]["time_zone"] = json!("Europe/Berlin");
    assert_eq!(first(&scenario), Some(0), "there it is ten past one, in the middle of the session");
}

#[test]
fn weak_point_5_nothing_leaks_from_one_event_into_another() {
    let plans: Vec<_> =
        shipped()[..3].iter().map(|shipped| plan(&serde_json::from_str(shipped.text).unwrap())).collect();
    let (mut shared, mut scratch) = (Run::default(), Scratch::new());
    for index in 0..10 {
        for plan in &plans {
            plan.run(&Seed::new("leak"), index, &mut shared, &mut scratch).unwrap();
            assert_eq!(shared, run(plan, "leak", index), "{} run {index}", plan.name());
        }
    }
}

#[test]
fn weak_point_5_another_team_changes_nobody_elses_luck() {
    let mut scenario: Value = serde_json::from_str(shipped()[1].text).unwrap();
    let alone: Vec<_> = (0..20).map(|index| run(&plan(&scenario), "luck", index).teams).collect();
    scenario["players"].as_array_mut().unwrap().push(json!({ "key": "zoe" }));
    scenario["teams"].as_array_mut().unwrap().insert(0, team("new", &["zoe"], "Balanced"));
    for (index, alone) in (0..).zip(alone) {
        let mut with_another = run(&plan(&scenario), "luck", index).teams;
        with_another.remove(0);
        for (before, after) in alone.iter().zip(&with_another) {
            assert_eq!((before.points, &before.tile_times), (after.points, &after.tile_times));
        }
    }
}
