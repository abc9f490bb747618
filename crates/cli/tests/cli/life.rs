//! The life of the engine itself, and what outlives it.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::harness::Up;

#[test]
fn a_graceful_stop_burns_no_attempt() {
    let home = tempfile::tempdir().unwrap();
    let mut up = Up::on(&home.path().join("data"), &[], &[("TURNWISE_GRACE", "10ms")]);
    let id = up.submit(&["sleep", r#"{"ms":600000}"#, "--attempts", "1"]);
    up.wait_for(&id, "running");
    up.stop();
    assert!(!up.data.join("server.json").exists());
    up.run(&["jobs"]).failed(3, &["turnwise up"]);
    let up = Up::on(&home.path().join("data"), &[], &[]);
    up.wait_for(&id, "running");
    assert_eq!(up.json(&["jobs", &id])["attempt"], 1);
}

#[test]
fn a_second_signal_stops_at_once() {
    let home = tempfile::tempdir().unwrap();
    let mut up = Up::on(&home.path().join("data"), &[], &[("TURNWISE_GRACE", "1h")]);
    let id = up.submit(&["sleep", r#"{"ms":600000}"#]);
    up.wait_for(&id, "running");
    up.signal(Signal::INT);
    up.says("Stopping");
    up.signal(Signal::TERM);
    assert_eq!(up.ended().code(), Some(130));
}

#[test]
fn secrets_are_in_private_files() {
    let up = Up::new(&[]);
    for name in ["token", "server.json", "vault.key", "turnwise.db"] {
        let mode = std::fs::metadata(up.data.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let token = std::fs::read_to_string(up.data.join("token")).unwrap();
    assert_eq!(token.len(), 64);
    assert!(!up.log().contains(&token), "it is printed once, and not logged");
    assert!(!up.run(&["doctor"]).ok().contains(&token));
}
