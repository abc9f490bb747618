//! Real servers are started, asked and stopped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use turnwise_servers::poll::until;
use turnwise_servers::{Postgres, RabbitMq, Redis, stop_in};

const LIMIT: Duration = Duration::from_secs(40);

/// Says one line to a server and returns the first bytes of its answer.
fn say(url: &str, line: &str) -> String {
    let host = url.split("://").nth(1).unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "{line}\r\n").unwrap();
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

fn is_reachable(url: &str) -> bool {
    let host = url.rsplit(['@', '/']).find(|part| part.contains(':')).unwrap();
    TcpStream::connect(host).is_ok()
}

#[test]
fn several_at_once_and_nothing_is_left_of_them() {
    let (one, mut two) = (Postgres::start().unwrap(), Postgres::start().unwrap());
    let (urls, places) = ([one.url(), two.url()], [one.directory().to_owned(), two.directory().to_owned()]);
    assert!(urls[0] != urls[1] && urls.iter().all(|url| is_reachable(url)), "{urls:?}");
    two.restart().unwrap();
    two.crash().unwrap();
    assert_eq!(two.url(), urls[1]);
    assert!(is_reachable(&urls[1]));
    two.stop().unwrap();
    assert!(is_reachable(&urls[0]) && !is_reachable(&urls[1]));
    drop((one, two));
    assert!(urls.iter().all(|url| !is_reachable(url)));
    assert!(places.iter().all(|place| !place.exists()), "{places:?}");
}

#[test]
fn redis_forgets_when_told_and_not_when_restarted() {
    let mut redis = Redis::start().unwrap();
    redis.tell("SET word kept").unwrap();
    redis.restart().unwrap();
    assert!(say(&redis.url(), "GET word").contains("kept"));
    redis.flush().unwrap();
    assert!(say(&redis.url(), "GET word").starts_with("$-1"));
}

#[test]
fn a_virtual_host_is_there_as_long_as_it_is_needed() {
    let mut rabbitmq = RabbitMq::start().unwrap();
    let vhost = rabbitmq.vhost().unwrap();
    let name = vhost.url().rsplit('/').next().unwrap().to_owned();
    let has = |server: &RabbitMq| server.control(&["-q", "list_vhosts"]).unwrap().contains(&name);
    assert!(has(&rabbitmq));
    rabbitmq.restart().unwrap();
    assert!(has(&rabbitmq));
    drop(vhost);
    assert!(!has(&rabbitmq));
    let place = rabbitmq.directory().to_owned();
    drop(rabbitmq);
    assert!(!place.exists());
}

#[test]
fn what_was_left_is_stopped_by_its_directory() {
    let folder = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let place = folder.path().join("redis");
    let url = Redis::leave_in(&place).unwrap();
    assert!(say(&url, "PING").contains("PONG"));
    assert!(stop_in(&place).unwrap());
    assert!(!is_reachable(&url) && !place.exists());
    assert!(!stop_in(&place).unwrap(), "nothing is there any more");
}

/// Started by the next test: a process that dies without a chance to clean up.
#[test]
#[ignore = "it kills its own process"]
fn dies_with_a_server() {
    let redis = Redis::start().unwrap();
    std::fs::write(std::env::var("DIES_REPORT").unwrap(), redis.directory().to_str().unwrap()).unwrap();
    std::process::abort();
}

#[test]
fn the_guard_stops_what_a_killed_process_has_left() {
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut dying = Command::new(std::env::current_exe().unwrap());
    dying.args(["--exact", "dies_with_a_server", "--ignored"]).env("DIES_REPORT", report.path());
    assert!(!dying.output().unwrap().status.success());
    let place = PathBuf::from(std::fs::read_to_string(report.path()).unwrap());
    assert!(place.is_absolute(), "the server was started");
    until("the guard", LIMIT, || Ok((!place.exists() && !somebody_works_in(&place)).then_some(()))).unwrap();
}

fn somebody_works_in(place: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut places = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.any(|cwd| cwd.to_string_lossy().starts_with(&*place.to_string_lossy()))
}
