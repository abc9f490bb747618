//! What must hold for every scenario.

use proptest::prelude::*;
use serde_json::Value;
use turnwise_bingo::{Aggregate, Happening, Plan, Run, Runs, Scratch, Seed, decode_runs, encode_runs, read};

use crate::made;
use crate::small::{plan, run};

fn runs(plan: &Plan, many: u64) -> Vec<Run> {
    (0..many).map(|index| run(plan, "property", index)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The fast way gives exactly the runs of the general way, and the timeline tells the same ones.
    #[test]
    fn running_ahead_changes_nothing(scenario in made::scenario()) {
        let plan = plan(&scenario);
        let seed = Seed::new("property");
        let (mut step_by_step, mut scratch) = (Run::default(), Scratch::new());
        for index in 0..8 {
            plan.run_step_by_step(&seed, index, &mut step_by_step, &mut scratch).unwrap();
            let fast = run(&plan, "property", index);
            prop_assert_eq!(&fast, &step_by_step);
            if index < 2 {
                prop_assert_eq!(&plan.timeline(&seed, index).unwrap().run, &fast);
            }
        }
    }

    /// However runs are split into parts, and in whatever order the parts are merged: the same bytes.
    #[test]
    fn any_split_and_any_order_of_merging_give_the_same(
        scenario in made::scenario(),
        parts in prop::collection::vec(0..4_usize, 12),
        order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
    ) {
        let plan = plan(&scenario);
        let runs = runs(&plan, 12);
        let mut whole = Aggregate::new(&plan);
        runs.iter().for_each(|run| whole.add(run));
        let mut split = vec![Aggregate::new(&plan); 4];
        runs.iter().zip(&parts).rev().for_each(|(run, part)| split[*part].add(run));
        let mut merged = Aggregate::new(&plan);
        order.iter().for_each(|part| merged.merge(&split[*part]));
        prop_assert_eq!(postcard::to_stdvec(&whole).unwrap(), postcard::to_stdvec(&merged).unwrap());
        let back: Aggregate = postcard::from_bytes(&postcard::to_stdvec(&merged).unwrap()).unwrap();
        prop_assert_eq!(back.summary(&plan), whole.summary(&plan));
    }

    /// A team's runs do not depend on which other teams there are, nor on their order.
    #[test]
    fn teams_do_not_touch_each_other(scenario in made::scenario()) {
        let together = runs(&plan(&scenario), 3);
        let teams = scenario["teams"].as_array().unwrap();
        for (number, team) in teams.iter().enumerate() {
            let mut alone = scenario.clone();
            alone["teams"] = Value::Array(vec![team.clone()]);
            for (run, all) in runs(&plan(&alone), 3).iter().zip(&together) {
                prop_assert_eq!(&run.teams[0].tile_times, &all.teams[number].tile_times);
                prop_assert_eq!(&run.teams[0].row_unlocks, &all.teams[number].row_unlocks);
            }
        }
        let mut turned = scenario.clone();
        turned["teams"].as_array_mut().unwrap().reverse();
        for (mut run, all) in runs(&plan(&turned), 3).into_iter().zip(&together) {
            run.teams.reverse();
            prop_assert_eq!(&run, all);
        }
    }

    /// The canonical text is read as the same scenario, and is its own canonical text.
    #[test]
    fn the_canonical_text_is_stable(scenario in made::scenario()) {
        let first = read(&scenario.to_string()).unwrap();
        let again = read(&first.canonical()).unwrap();
        prop_assert_eq!(&again, &first);
        prop_assert_eq!(again.canonical(), first.canonical());
        let through_serde: turnwise_bingo::Scenario = serde_json::from_str(&first.canonical()).unwrap();
        prop_assert_eq!(through_serde, first);
    }

    /// Kept runs come back as they were, also with gaps; cut or changed bytes are refused or read, but never a panic.
    #[test]
    fn kept_runs_come_back(scenario in made::scenario(), keep in prop::collection::vec(any::<bool>(), 12), cut in any::<prop::sample::Index>()) {
        let plan = plan(&scenario);
        let mut kept = Runs::new(plan.teams().len());
        let chosen: Vec<Run> = runs(&plan, 12).into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(run, _)| run).collect();
        for run in &chosen {
            kept.push(run).unwrap();
        }
        let bytes = encode_runs(&kept);
        let back = decode_runs(&bytes).unwrap();
        prop_assert_eq!(&back, &kept);
        for ((index, results), run) in back.iter().zip(&chosen) {
            prop_assert_eq!(index, run.index);
            for (result, team) in results.iter().zip(&run.teams) {
                prop_assert_eq!((u32::from(result.points), u32::from(result.tied)), (team.points, team.tied));
            }
        }
        let at = cut.index(bytes.len());
        prop_assert!(decode_runs(&bytes[..at]).is_err());
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xFF;
        let _ = decode_runs(&damaged);
    }

    /// Nobody does two things at once or plays outside his hours; groups have their sizes; points add up.
    #[test]
    fn a_timeline_makes_sense(scenario in made::scenario()) {
        let plan = plan(&scenario);
        let told = plan.timeline(&Seed::new("sense"), 0).unwrap();
        for (team, run) in told.teams.iter().zip(&told.run.teams) {
            let (mut online, mut busy): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
            let (mut points, mut second) = (0, 0);
            for moment in &team.moments {
                prop_assert!(moment.second >= second);
                second = moment.second;
                match &moment.what {
                    Happening::Online { player } => online.push(player),
                    Happening::Offline { player } => {
                        prop_assert!(!busy.contains(&player.as_str()), "{player} left in the middle");
                        online.retain(|other| other != player);
                    }
                    Happening::Begun { players, activity, ends, .. } => {
                        prop_assert!(*ends > u64::from(second));
                        prop_assert!(fits(&scenario, activity, players.len()), "{} at {activity}", players.len());
                        for player in players {
                            prop_assert!(online.contains(&player.as_str()) && !busy.contains(&player.as_str()));
                            busy.push(player);
                        }
                    }
                    Happening::Ended { players, .. } => busy.retain(|other| !players.iter().any(|p| p == other)),
                    Happening::Tile { points: more, .. } => points += more,
                    Happening::Drop { .. } | Happening::Row { .. } => {}
                }
            }
            prop_assert_eq!(points, run.points);
        }
    }
}

/// Whether so many may do this together.
fn fits(scenario: &Value, activity: &str, size: usize) -> bool {
    let activities = scenario["activities"].as_array().unwrap();
    let activity = activities.iter().find(|other| other["key"] == activity).unwrap();
    let group = |bound: &str| activity["group"][bound].as_u64().unwrap_or(0) as usize;
    (size == 1 && activity["solo"] == true) || (size > 1 && (group("min")..=group("max")).contains(&size))
}
