//! Files that are wrong: every fault is told, with its place.

use serde_json::{Value, json};
use turnwise_bingo::{limits, read, shipped};

use crate::small::small;

/// What is said about a file.
fn said(text: &str) -> String {
    read(text).expect_err("it should be refused").to_string()
}

/// The small scenario with one value changed; places are JSON pointers, and the last part may be new.
fn with(place: &str, value: Value) -> String {
    let mut scenario = small();
    let (parent, last) = place.rsplit_once('/').unwrap();
    let parent = scenario.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
    scenario.to_string()
}

/// Two lines for each: what is changed in the small scenario, and what is said about it.
const FAULTS: &str = include_str!("faults.txt");

#[test]
fn each_fault_names_its_field() {
    let lines: Vec<&str> = FAULTS.lines().collect();
    assert_eq!(lines.len() % 2, 0);
    for pair in lines.chunks(2) {
        let (place, value) = pair[0].split_once(" = ").unwrap();
        let value: Value = serde_json::from_str(value).unwrap();
        assert_eq!(said(&with(place, value)), pair[1].trim_start(), "{}", pair[0]);
    }
}

#[test]
fn a_start_that_the_clocks_skip_is_refused() {
    let mut scenario = small();
    scenario["time_zone"] = json!("America/New_York");
    scenario["start"] = json!("2026-03-08T02:30:00");
    let expected = "start: the clocks of America/New_York skip this time; take an earlier or a later one";
    assert_eq!(said(&scenario.to_string()), expected);
}

#[test]
fn a_player_plays_for_one_team() {
    let mut scenario = small();
    let second = json!({ "key": "t2", "players": ["ann"], "strategy": { "name": "Greedy" } });
    scenario["teams"].as_array_mut().unwrap().push(second);
    let expected = "teams[1].players[0]: `ann` is already in teams[0]; a player plays for one team";
    assert_eq!(said(&scenario.to_string()), expected);
}

#[test]
fn names_that_point_at_each_other_are_only_unknown() {
    let mut scenario = small();
    scenario["rows"][0]["tiles"][0]["rules"][0]["activity"] = json!("t1");
    scenario["teams"][0]["players"] = json!(["t1"]);
    let lines = "rows[0].tiles[0].rules[0].activity: there is no activity `t1`\n\
                 teams[0].players[0]: there is no player `t1`";
    assert_eq!(said(&scenario.to_string()), lines);
}

#[test]
fn weights_without_a_common_denominator_are_refused() {
    let outcomes = json!([
        { "key": "a", "weight": "1/999999937", "grants": [{ "drop": "ore", "units": 1 }] },
        { "key": "b", "weight": "1/999999929" },
    ]);
    let text = with("/activities/0/attempts/0/outcomes", outcomes);
    let expected = "activities[0].attempts[0].outcomes: have weights whose common denominator is above 1000000000000; use rounder ones";
    assert_eq!(said(&text), expected);
}

#[test]
fn a_run_that_would_hardly_end_is_refused() {
    let mut scenario = small();
    scenario["duration_seconds"] = json!(30_000_000);
    scenario["activities"][0]["attempts"][0]["time"]["seconds"] = json!(1);
    let players: Vec<Value> = (0..4).map(|n| json!({ "key": format!("p{n}") })).collect();
    scenario["players"] = json!(players);
    scenario["teams"][0]["players"] = json!(["p0", "p1", "p2", "p3"]);
    let expected = "duration_seconds: a run may need 120000000 attempts, at most 100000000; shorten the event, or let attempts take longer";
    assert_eq!(said(&scenario.to_string()), expected);
}

#[test]
fn all_faults_are_told_up_to_a_limit() {
    let mut scenario = small();
    scenario["duration_seconds"] = json!(-5);
    scenario["players"][0]["skill"] = json!("fast");
    scenario["rows"][0]["tiles"][3]["points"] = json!(5);
    scenario["teams"][0]["strategy"]["name"] = json!("");
    scenario.as_object_mut().unwrap().remove("name");
    let said_about = said(&scenario.to_string());
    let places: Vec<&str> = said_about.lines().filter_map(|line| line.split(": ").next()).collect();
    let expected =
        ["name", "duration_seconds", "rows[0].tiles[3].points", "players[0].skill", "teams[0].strategy.name"];
    assert_eq!(places, expected);

    let tile = json!({ "wrong": 1 });
    let rows: Vec<Value> = (0..64).map(|_| json!({ "tiles": [tile, tile, tile, tile] })).collect();
    let faults = read(&with("/rows", json!(rows))).unwrap_err();
    // Each tile has an unknown key and lacks four that it needs.
    assert_eq!((faults.list().len(), faults.more()), (limits::FAULTS, 64 * 4 * 5 - limits::FAULTS));
}

#[test]
fn what_is_not_json_is_told_with_line_and_column() {
    assert_eq!(said(""), "line 1, column 0: this is not JSON: EOF while parsing a value");
    assert_eq!(said("{\n  \"name\": }"), "line 2, column 11: this is not JSON: expected value");
    assert_eq!(said("[1]"), "a list is not an object");
    assert!(said(&"[".repeat(100_000)).contains("recursion limit exceeded"));
    assert_eq!(
        said("{\"name\": \"a\", \"name\": \"b\"}").lines().next(),
        Some("name: is given twice; keep one of them")
    );
}

#[test]
fn wherever_a_file_is_cut_it_is_refused_and_never_a_panic() {
    let text = shipped()[0].text.trim_end();
    for length in 0..text.len() {
        let cut = &text[..length];
        assert!(read(cut).is_err(), "cut after {length} bytes");
    }
}

#[test]
fn huge_files_are_refused_by_their_size() {
    let text = " ".repeat(limits::FILE_BYTES + 1);
    let expected = format!("the file has {} bytes, at most {}", limits::FILE_BYTES + 1, limits::FILE_BYTES);
    assert_eq!(said(&text), expected);
    // Just within the size, and nothing but faults.
    let many = "\"x\":1,".repeat(limits::FILE_BYTES / 6 - 2);
    let faults = read(&format!("{{{many}\"x\":1}}")).unwrap_err();
    assert_eq!(faults.list().len(), limits::FAULTS);
    let long = format!("{{\"{}\": 1}}", "k".repeat(1_000_000));
    assert!(said(&long).len() < 2_000, "long keys are cut where they are repeated");
}

#[test]
fn names_for_people_may_be_in_any_script() {
    let text = with("/rows/0/tiles/0/name", json!("龍を倒す 🐉"));
    assert_eq!(read(&text).unwrap().canonical().matches("龍を倒す 🐉").count(), 1);
}
