//! The server that `up` opens, and the commands about it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::harness::Up;

#[test]
fn the_first_start_prints_a_link_and_later_ones_do_not() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, &[], &[]);
    let token = std::fs::read_to_string(data.join("token")).unwrap();
    assert!(up.greeting.contains(&format!("/?token={token}")), "{}", up.greeting);
    assert_eq!(std::fs::metadata(data.join("token")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!up.log().contains(&token), "the token is in the log");
    up.stop();
    let up = Up::on(&data, &[], &[]);
    assert!(!up.greeting.contains(&token), "{}", up.greeting);
    let link = up.run(&["tokens", "link"]).ok();
    assert_eq!(link.trim(), up.url(&format!("/?token={token}")));
    let agent =
        ureq::Agent::config_builder().max_redirects(0).max_redirects_will_error(false).build().new_agent();
    let answer = agent.get(link.trim()).call().unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers().contains_key("set-cookie")), (303, true));
}

#[test]
fn tokens_by_command() {
    let up = Up::new(&[]);
    up.run(&["tokens", "create", "reader"]).failed(2, &["--scope"]);
    up.run(&["tokens", "create", "reader", "--scope", "all"]).failed(2, &["read"]);
    let token =
        up.run(&["tokens", "create", "reader", "--scope", "read", "--owner", "acme", "--ttl", "1h"]).ok();
    let listed = up.json(&["tokens", "list"]);
    assert_eq!(
        (&listed["tokens"][0]["name"], &listed["tokens"][0]["owners"]),
        (&json!("reader"), &json!(["acme"]))
    );
    assert!(up.run(&["tokens", "list"]).ok().contains("reader"));
    let asked = || {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request =
            agent.get(up.url("/api/v1/jobs")).header("authorization", format!("Bearer {}", token.trim()));
        request.call().unwrap().status().as_u16()
    };
    assert_eq!(asked(), 200);
    up.run(&["tokens", "revoke", "reader"]).ok();
    assert_eq!(asked(), 401);
    up.run(&["tokens", "revoke", "reader"]).failed(1, &["reader"]);
}

#[test]
fn schedules_by_command() {
    let up = Up::new(&[]);
    up.run(&["schedules", "save", "nightly", "0 3 * * *", "echo", r#"{"a":1}"#, "--zone", "Europe/Berlin"])
        .ok();
    let listed = up.json(&["schedules", "list"]);
    assert_eq!(
        (&listed["schedules"][0]["kind"], &listed["schedules"][0]["payload"]),
        (&json!("echo"), &json!({"a": 1}))
    );
    assert!(up.run(&["schedules", "list"]).ok().contains("Europe/Berlin"));
    up.run(&["schedules", "save", "bad", "sometimes", "echo"]).failed(1, &["five"]);
    up.run(&["schedules", "remove", "nightly"]).ok();
    up.run(&["schedules", "remove", "nightly"]).failed(1, &["nightly"]);
}

#[test]
fn events_by_command() {
    let up = Up::new(&[]);
    let id = up.submit(&["echo", "--owner", "acme"]);
    up.wait_for(&id, "done");
    let events = up.run(&["events", "--owner", "acme"]).ok();
    assert_eq!(events.lines().filter(|line| line.contains(&id)).count(), 3, "{events}");
    let lines = up.run(&["events", "--kind", "echo", "--json"]).ok();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["what"], "kind_declared");
}

#[test]
fn the_log_says_how_things_are() {
    let home = tempfile::tempdir().unwrap();
    let up = Up::on(&home.path().join("data"), &[], &[("TURNWISE_STATS_INTERVAL", "50ms")]);
    let id = up.submit(&["echo"]);
    up.wait_for(&id, "done");
    let begin = std::time::Instant::now();
    while !up.log().lines().any(|line| line.contains(" state ") && line.contains("done=1")) {
        assert!(begin.elapsed().as_secs() < 60, "{}", up.log());
        std::thread::yield_now();
    }
}

#[test]
fn stopping_ends_who_waits() {
    let mut up = Up::new(&[]);
    let id = up.submit(&["echo", "--delay", "1h"]);
    let (url, bearer) = (up.url(&format!("/api/v1/jobs/{id}?wait_ms=30000")), up.bearer());
    let begin = std::time::Instant::now();
    let waiting = std::thread::spawn(move || {
        let mut answer = ureq::get(url).header("authorization", bearer).call().ok()?;
        answer.body_mut().read_json::<serde_json::Value>().ok()
    });
    up.stop();
    // It is answered if it came in time, and not left hanging if it came late.
    if let Some(view) = waiting.join().unwrap() {
        assert_eq!(view["state"], "scheduled");
    }
    assert!(begin.elapsed().as_secs() < 20);
}
