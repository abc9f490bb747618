//! The rules of the game.

use serde_json::{Value, json};
use turnwise_bingo::{
    Aggregate, Happening, Plan, Runs, csv_header, csv_lines, json_lines, read, shipped, strategies,
};

use crate::small::{activity, begun, plan, row, run, small, team, timeline};

#[test]
fn rows_unlock_by_the_points_of_the_row_before() {
    let mut scenario = small();
    scenario["rows"] = json!([row("r1", "dig", "ore", [1, 1, 1, 1]), row("r2", "dig", "ore", [1, 1, 1, 1])]);
    // Greedy completes 4, then 3: with the seventh point the second row opens.
    let team = run(&plan(&scenario), "unlock", 0).teams.remove(0);
    assert_eq!(team.row_unlocks, [Some(0), Some(20)]);
    assert_eq!((team.points, team.tiles, team.row_reached), (20, 8, 1));
    scenario["unlock_points"] = json!(0);
    assert_eq!(run(&plan(&scenario), "unlock", 0).teams[0].row_unlocks, [Some(0), Some(0)]);
    scenario["unlock_points"] = json!(10);
    assert_eq!(run(&plan(&scenario), "unlock", 0).teams[0].row_unlocks, [Some(0), Some(40)]);
}

#[test]
fn what_ends_with_the_event_counts_and_what_ends_later_does_not() {
    let mut scenario = small();
    scenario["rows"] = json!([row("r1", "dig", "ore", [1, 1, 1, 1])]);
    for (duration, tiles) in [(19, 1), (20, 2), (21, 2)] {
        scenario["duration_seconds"] = json!(duration);
        assert_eq!(run(&plan(&scenario), "end", 0).teams[0].tiles, tiles, "{duration} s");
    }
}

#[test]
fn skill_band_and_modifiers_scale_the_time_and_seconds_are_rounded_down() {
    let mut scenario = small();
    scenario["players"] = json!([{ "key": "ann", "skill": "0.85", "capabilities": ["spade"] }, { "key": "bob", "skill": "1.15" }]);
    let mut dig = activity("dig", 100, "ore");
    dig["group"] = json!({ "min": 2, "max": 2 });
    dig["bands"] = json!([{ "min": 1, "max": 1, "time": "1.1" }, { "min": 2, "max": 2, "time": "0.5" }]);
    scenario["activities"] = json!([dig]);
    for tile in scenario["rows"][0]["tiles"].as_array_mut().unwrap() {
        tile["rules"][0]["modifiers"] = json!([{ "capability": "spade", "time": "0.9" }]);
    }
    let first_end = |scenario: &Value| {
        let told = timeline(&plan(scenario), 0);
        told.teams[0].moments.iter().find_map(|moment| match &moment.what {
            Happening::Ended { .. } => Some(moment.second),
            _ => None,
        })
    };
    // Alone: 100 × 0.85 × 1.1 × 0.9 = 84.15.
    assert_eq!(first_end(&scenario), Some(84));
    // Together: the slowest skill, the band of two, and the spade of one of them: 100 × 1.15 × 0.5 × 0.9 = 51.75.
    scenario["teams"] = json!([team("t1", &["ann", "bob"], "Greedy")]);
    assert_eq!(first_end(&scenario), Some(51));
}

#[test]
fn each_member_rolls_or_the_group_once() {
    let mut scenario = small();
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }, { "key": "cid" }]);
    scenario["teams"] = json!([team("t1", &["ann", "bob", "cid"], "Greedy")]);
    let mut dig = activity("dig", 10, "ore");
    dig["solo"] = json!(false);
    dig["group"] = json!({ "min": 3, "max": 3 });
    let mut chest = dig["attempts"][0].clone();
    (chest["key"], chest["roll"]) = (json!("chest"), json!("per_group"));
    chest["outcomes"][0]["grants"][0]["drop"] = json!("gem");
    dig["attempts"].as_array_mut().unwrap().push(chest);
    scenario["activities"] = json!([dig]);
    let told = timeline(&plan(&scenario), 0);
    let drops =
        told.teams[0].moments.iter().filter(|moment| moment.second == 10).filter_map(|moment| match &moment
            .what
        {
            Happening::Drop { player, drop, .. } => Some((player.as_str(), drop.as_str())),
            _ => None,
        });
    let expected = [("ann", "ore"), ("bob", "ore"), ("cid", "ore"), ("ann", "gem")];
    assert_eq!(drops.collect::<Vec<_>>(), expected, "the chest is opened once, in the name of the first");
}

#[test]
fn a_probability_multiplier_changes_the_odds_of_accepted_drops_only() {
    let mut scenario = small();
    scenario["duration_seconds"] = json!(10);
    scenario["rows"] = json!([row("r1", "dig", "ore", [1, 1, 1, 1])]);
    scenario["players"][0]["capabilities"] = json!(["eye"]);
    scenario["activities"][0]["attempts"][0]["outcomes"] = json!([
        { "key": "ore", "weight": "1/4", "grants": [{ "drop": "ore", "units": 1 }] },
        { "key": "nothing", "weight": "3/4" },
    ]);
    for tile in scenario["rows"][0]["tiles"].as_array_mut().unwrap() {
        tile["rules"][0]["modifiers"] = json!([{ "capability": "eye", "probability": "3" }]);
    }
    let plan = plan(&scenario);
    let hits = (0..4_000).filter(|index| run(&plan, "eye", *index).teams[0].tiles == 1).count();
    // 3/4 against 3/4 is one half; without the eye it would be one quarter.
    assert!((1_880..=2_120).contains(&hits), "{hits} of 4,000");
}

#[test]
fn hours_follow_the_clocks_of_the_zone() {
    let mut scenario = small();
    scenario["time_zone"] = json!("America/New_York");
    // The clocks go forward on the 8th at two in the morning.
    scenario["start"] = json!("2026-03-07T00:00:00");
    scenario["duration_seconds"] = json!(3 * 86_400);
    scenario["rows"] = json!([row("r1", "dig", "ore", [9_999; 4])]);
    let days = ["saturday", "sunday"].map(|day| json!({ "day": day, "start": "12:00", "minutes": 1 }));
    scenario["players"][0]["sessions"] = json!(days);
    let told = timeline(&plan(&scenario), 0);
    let online =
        told.teams[0].moments.iter().filter(|moment| matches!(moment.what, Happening::Online { .. }));
    let online: Vec<u32> = online.map(|moment| moment.second).collect();
    assert_eq!(online, [12 * 3_600, 36 * 3_600 - 3_600], "noon of the second day comes an hour sooner");
    assert_eq!(begun(&told, 0).len(), 12, "six attempts of ten seconds in each minute");
}

#[test]
fn strategies_choose_as_they_say() {
    let first_tile = |strategy: Value, required: [u32; 4]| {
        let mut scenario = small();
        scenario["rows"] = json!([row("r1", "dig", "ore", required), row("r2", "dig", "ore", [1; 4])]);
        scenario["teams"][0]["strategy"] = strategy;
        let told = timeline(&plan(&scenario), 0);
        told.teams[0].moments.iter().find_map(|moment| match &moment.what {
            Happening::Begun { tile, .. } => Some(tile.clone()),
            _ => None,
        })
    };
    let named = |name: &str| json!({ "name": name });
    // 1 + 4 open the next row in the least time; of those the one with more points comes first.
    assert_eq!(first_tile(named("RowUnlocking"), [1, 40, 40, 10]).unwrap(), "r1.4");
    // 2 + 3 take 20 attempts, 1 + 4 take 41.
    assert_eq!(first_tile(named("RowUnlocking"), [1, 10, 10, 40]).unwrap(), "r1.3");
    assert_eq!(first_tile(named("Greedy"), [1, 10, 10, 40]).unwrap(), "r1.4");
    let per_time = json!({ "name": "Greedy", "params": { "prefer": "points_per_time" } });
    assert_eq!(first_tile(per_time, [1, 10, 10, 40]).unwrap(), "r1.1");
    assert_eq!(first_tile(named("ComboUnlocking"), [1, 10, 10, 40]).unwrap(), "r1.3");
    let points_only = json!({ "name": "Balanced", "params": { "unlock": 0 } });
    assert_eq!(first_tile(points_only, [10, 10, 14, 40]).unwrap(), "r1.3");
    assert_eq!(strategies().len(), 4);
}

#[test]
fn the_drill_is_there_and_the_simulation_does_not_look_at_it() {
    let mut scenario = small();
    let before = run(&plan(&scenario), "drill", 4_711);
    scenario["trouble"] = json!({ "runs": [4_711], "attempts": 2 });
    scenario["simulation_delay_ms"] = json!(25);
    assert_eq!(run(&plan(&scenario), "drill", 4_711), before);
    let scenario = read(&scenario.to_string()).unwrap();
    let trouble = scenario.trouble().unwrap();
    assert_eq!([1, 2, 3].map(|attempt| trouble.fails(4_711, attempt)), [true, true, false]);
    assert!(!trouble.fails(4_712, 1));
    assert_eq!(scenario.simulation_delay_ms(), 25);
}

#[test]
fn a_summary_adds_up() {
    let plan = Plan::new(&read(shipped()[1].text).unwrap());
    let mut aggregate = Aggregate::new(&plan);
    let runs: Vec<_> = (0..200).map(|index| run(&plan, "summary", index)).collect();
    runs.iter().for_each(|run| aggregate.add(run));
    let summary = aggregate.summary(&plan);
    assert_eq!((summary.runs, summary.teams.len()), (200, 2));
    let rates: f64 = summary.teams.iter().map(|team| team.wins.as_ref().unwrap().rate).sum();
    assert!((rates - 1.0).abs() < 1e-12, "every win is given once: {rates}");
    for (number, team) in summary.teams.iter().enumerate() {
        let points: u32 = runs.iter().map(|run| run.teams[number].points).sum();
        let (figures, wins) = (team.points.as_ref().unwrap(), team.wins.as_ref().unwrap());
        assert_eq!(figures.mean, f64::from(points) / 200.0);
        assert_eq!(team.histogram.iter().map(|(_, count)| count).sum::<u64>(), 200);
        let ci95 = figures.ci95.unwrap();
        assert!(ci95.low < figures.mean && figures.mean < ci95.high);
        assert!(wins.ci95.low <= wins.rate && wins.rate <= wins.ci95.high);
        assert_eq!((team.rows[0].share, team.rows[0].p50), (Some(1.0), Some(0)));
        let done = runs.iter().filter(|run| run.teams[number].tile_times[0].is_some()).count();
        assert_eq!(team.tile_times[0].times.share, Some(done as f64 / 200.0));
    }
    let text = serde_json::to_string(&summary).unwrap();
    let back: turnwise_bingo::Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(back.teams[0].histogram, summary.teams[0].histogram);
}

#[test]
fn kept_runs_are_exported_line_by_line() {
    let mut scenario = small();
    scenario["players"] = json!([{ "key": "ann" }, { "key": "bob" }]);
    scenario["teams"] = json!([team("t1", &["ann"], "Greedy"), team("t2", &["bob"], "Greedy")]);
    let plan = plan(&scenario);
    let mut kept = Runs::new(2);
    for index in [3, 7] {
        kept.push(&run(&plan, "export", index)).unwrap();
    }
    let (mut csv, mut lines) = (Vec::new(), Vec::new());
    csv_header(&mut csv).unwrap();
    csv_lines(&plan, &kept, &mut csv).unwrap();
    json_lines(&plan, &kept, &mut lines).unwrap();
    let expected = "run,team,points,tiles,row_reached,win_share\n3,t1,10,4,0,1/2\n3,t2,10,4,0,1/2\n\
                    7,t1,10,4,0,1/2\n7,t2,10,4,0,1/2\n";
    assert_eq!(String::from_utf8(csv).unwrap(), expected);
    let first: Value = serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!((&first["run"], &first["teams"][1]["win_share"]), (&json!(3), &json!("1/2")));
    assert!(kept.push(&run(&plan, "export", 7)).unwrap_err().to_string().contains("ascending"));
}
