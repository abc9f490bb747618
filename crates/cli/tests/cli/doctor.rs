//! What `turnwise doctor` says about the servers of a fleet. Each single thing that can be wrong with them is tried
//! where they are examined, in the tests of the drivers.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;
use turnwise_servers::poll::until;

use crate::fleet::Fleet;
use crate::harness::Up;

/// A password that must never be seen.
const CANARY: &str = "PASSWORD-CANARY";

/// What is said about one thing, and how it is.
fn about<'a>(report: &'a Value, what: &str) -> (&'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["what"] == what);
    let check = check.unwrap_or_else(|| panic!("nothing about {what}: {report:#}"));
    (check["verdict"].as_str().unwrap(), check["says"].as_str().unwrap())
}

#[test]
fn a_fleet_that_is_well_is_said_to_be() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let data = home.path().join("data");
    let before = fleet.run(&["doctor", "--json", "--data", data.to_str().unwrap()], &[]).json();
    assert!(about(&before, "postgres schema").1.contains("not there yet"), "{before:#}");
    let _up = Up::on(&data, &[], &fleet.variables(&[]));
    // The queues of the built-in kinds (2), of the applications (1 and 4) and of reports, and the exchange, are found under
    // their names as soon as the node has made them.
    let wanted = ("ok", "9 exchanges and queues are there, all as wanted");
    let report = until("making queues", Duration::from_secs(60), || {
        let report = fleet.run(&["doctor", "--json", "--data", data.to_str().unwrap()], &[]).json();
        Ok((about(&report, "rabbitmq queues") == wanted).then_some(report))
    });
    let report = report.unwrap();
    for what in ["schema", "permissions", "durability", "clock", "connections"] {
        assert_eq!(about(&report, &format!("postgres {what}")).0, "ok", "{report:#}");
    }
    for what in
        ["rabbitmq version", "rabbitmq permissions", "rabbitmq alarms", "redis eviction", "redis clock"]
    {
        assert_eq!(about(&report, what).0, "ok", "{report:#}");
    }
    let text = fleet.run(&["doctor", "--data", data.to_str().unwrap()], &[]).ok();
    assert!(text.contains("ok    postgres schema"), "{text}");
}

#[test]
fn all_that_is_bad_is_reported_soon_and_without_passwords() {
    let (fleet, home) = (Fleet::new(), tempfile::tempdir().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    let differently = [
        ("TURNWISE_POSTGRES", format!("postgres://ada:{CANARY}@127.0.0.1:1/db")),
        ("TURNWISE_RABBITMQ", format!("amqp://ada:{CANARY}@{place}/%2f")),
        ("TURNWISE_REDIS", format!("redis://ada:{CANARY}@127.0.0.1:1/")),
    ];
    let differently: Vec<(&str, &str)> =
        differently.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let data = home.path().to_str().unwrap();
    let begin = Instant::now();
    let json = fleet.run(&["doctor", "--json", "--data", data], &differently);
    // The limit is four seconds; a busy machine may be late.
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert_eq!(json.code, 1, "{}{}", json.out, json.err);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    for (server, setting) in
        [("postgres", "TURNWISE_POSTGRES"), ("rabbitmq", "TURNWISE_RABBITMQ"), ("redis", "TURNWISE_REDIS")]
    {
        let (verdict, says) = about(&report, &format!("{server} reachable"));
        assert!(verdict == "fail" && says.contains(setting), "{says}");
    }
    let text = fleet.run(&["doctor", "--data", data], &differently);
    assert!(text.code == 1 && text.out.contains("FAIL  rabbitmq reachable"), "{}", text.out);
    for said in [&json.out, &json.err, &text.out, &text.err] {
        assert!(!said.contains(CANARY), "{said}");
    }
}

#[test]
fn the_profile_can_be_said_by_flag() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().to_str().unwrap();
    let bare = crate::harness::run(&["doctor", "--profile", "fleet", "--data", data]);
    assert!(bare.code == 1 && bare.out.contains("a fleet needs it: TURNWISE_POSTGRES="), "{}", bare.out);
}
