//! Each way to fail that a person will meet, and that it says what to do.

use std::io::{Seek, Write};
use std::net::TcpListener;

use crate::harness::{Up, program, run, run_with_input};

#[test]
fn the_port_is_in_use() {
    let home = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = home.path().to_str().unwrap();
    run(&["up", "--data", data, "--listen", &address]).failed(1, &["is in use", "--listen"]);
}

#[test]
fn the_directory_cannot_be_used() {
    let up = Up::new(&[]);
    up.run(&["up", "--listen", "127.0.0.1:0"])
        .failed(1, &["in use by another process", "turnwise jobs --data"]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    run(&["up", "--data", file.to_str().unwrap()]).failed(1, &["is not a directory", "--data"]);
    // Nobody may write there, not even the superuser.
    run(&["up", "--data", "/proc/turnwise"]).failed(1, &["cannot use /proc/turnwise", "may write"]);
    run(&["doctor", "--data", file.to_str().unwrap()]).failed(1, &[]);
}

#[test]
fn the_directory_is_read_only() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        // Modes mean nothing to the superuser; `/proc` stands for it above.
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    run(&["up", "--data", home.path().to_str().unwrap()]).failed(1, &["cannot use", "may write"]);
}

#[test]
fn the_data_is_of_a_newer_version() {
    // A copy is one file; the original would have its newest state in a log beside it.
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("turnwise.db");
    Up::new(&[]).run(&["backup", path.to_str().unwrap()]).ok();
    // The schema's number is at this place of every SQLite file.
    let mut file = std::fs::File::options().write(true).open(&path).unwrap();
    file.seek(std::io::SeekFrom::Start(60)).unwrap();
    file.write_all(&99_u32.to_be_bytes()).unwrap();
    drop(file);
    let data = home.path().to_str().unwrap();
    run(&["up", "--data", data]).failed(1, &["newer version", "upgrade"]);
    let doctor = run(&["doctor", "--data", data]);
    assert!(doctor.code == 1 && doctor.out.contains("upgrade"), "{}", doctor.out);
}

#[test]
fn nobody_is_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("data");
    let data = path.to_str().unwrap();
    for command in [&["jobs"][..], &["submit", "echo"], &["kinds"], &["watch"], &["pause", "--kind", "x"]] {
        run(&[command, &["--data", data]].concat()).failed(3, &["no engine runs", "turnwise up --data"]);
    }
    // An engine that was killed leaves its address behind.
    let mut up = Up::on(&path, &[], &[]);
    up.signal(rustix::process::Signal::KILL);
    up.ended();
    assert!(path.join("server.json").exists());
    up.run(&["jobs"]).failed(3, &["no engine runs", "turnwise up"]);
    run(&["backup", "/tmp/never", "--data", &format!("{data}/none")]).failed(1, &["no database"]);
}

#[test]
fn the_token_is_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let up = Up::new(&[]);
    let token = up.data.join("token");
    std::fs::write(&token, "0".repeat(64)).unwrap();
    up.run(&["jobs"]).failed(1, &["does not accept the token"]);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    up.run(&["jobs"]).failed(1, &["chmod 600"]);
    up.run(&["doctor"]).failed(1, &[]);
}

#[test]
fn what_is_submitted_makes_no_sense() {
    let up = Up::new(&[]);
    up.run(&["submit", "nope"]).failed(1, &["`nope` is not declared", "echo, forge.generate, sleep"]);
    up.run(&["submit", "shell", r#"{"command":"true"}"#]).failed(1, &["is off", "--allow-shell"]);
    up.run(&["submit", "http", r#"{"url":"http://x"}"#]).failed(1, &["is off", "--allow-http"]);
    up.run(&["submit", "sleep", r#"{"ms":"long"}"#]).failed(1, &["does not fit kind `sleep`"]);
    up.run(&["submit", "echo", r#"{"a":1,}"#]).failed(2, &["no JSON", "line 1 column 8"]);
    up.run_with_input(&["submit", "echo", "--lines"], "1\n2\n{\n").failed(2, &["line 3 is no JSON"]);
    up.run_with_input(&["submit", "echo", "--lines"], "").failed(2, &["nothing to submit"]);
    up.run(&["submit", "echo", "--delay", "5000d"]).failed(1, &["more than 366 days"]);
    up.run(&["submit", "echo", "--delay", "99999999999999999999d"]).failed(2, &["shorter span"]);
    up.run(&["submit", "echo", "--delay", "soon"]).failed(2, &["a number and a unit"]);
    up.run(&["submit", "echo", "--lane", &"x".repeat(10_000)]).failed(1, &["at most 256 bytes"]);
    up.run(&["submit", "echo", "--owner", "a\nb"]).failed(1, &["control characters"]);
    up.run(&["submit", "echo", "--priority", "10"]).failed(1, &["0 (least urgent) to 9"]);
    up.run(&["submit", "echo", "--attempts", "0"]).failed(1, &["attempts"]);
    assert_eq!(up.json(&["jobs"])["jobs"], serde_json::json!([]));
}

#[test]
fn a_payload_over_the_limit() {
    let up = Up::new(&[]);
    let long = format!("\"{}\"", "x".repeat(2 << 20));
    up.run_with_input(&["submit", "echo", "-"], &long).failed(2, &["standard input is larger than 1 MiB"]);
    // Whoever does not use this program meets the same limit at the server.
    let answer = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let body = format!(r#"[{{"kind":"echo","payload":{long}}}]"#);
    let mut answer =
        answer.post(up.url("/api/v1/jobs/bulk")).header("authorization", up.bearer()).send(body).unwrap();
    assert_eq!(answer.status().as_u16(), 413);
    let said: serde_json::Value = answer.body_mut().read_json().unwrap();
    assert!(said["detail"].as_str().unwrap().contains("make it smaller"), "{said}");
}

#[test]
fn an_id_that_is_none() {
    let up = Up::new(&[]);
    for command in [["jobs", "123"], ["cancel", "abc"], ["replay", "!"], ["batches", "x"], ["watch", "x"]] {
        up.run(&command).failed(2, &["is not an id", "13 letters"]);
    }
    up.run(&["jobs", "0000000000001"]).failed(1, &["there is no job 0000000000001"]);
    up.run(&["watch", "0000000000001"]).failed(1, &["there is no batch"]);
    up.run(&["jobs", "--state", "alive"]).failed(2, &["use one of waiting"]);
}

#[test]
fn a_configuration_that_is_none() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("turnwise.toml");
    let config = path.to_str().unwrap();
    run(&["up", "--config", config]).failed(2, &["cannot read the configuration", config]);
    std::fs::write(&path, "lissten = 1").unwrap();
    run(&["up", "--config", config]).failed(2, &["`lissten`", "listen"]);
    std::fs::write(&path, "listen = \"0.0.0.0:7700\"").unwrap();
    run(&["up", "--config", config]).failed(2, &["--listen 0.0.0.0:7700"]);
    let mut command = program();
    let output = command.args(["up"]).env("TURNWISE_SLOTS", "many").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("variable TURNWISE_SLOTS"), "{said}");
    run_with_input(&["up", "--slots", "0"], "").failed(2, &["flag --slots", "use 1 to"]);
}
