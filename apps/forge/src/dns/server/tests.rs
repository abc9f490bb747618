//! A real name server of its own, told what to know.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::*;

const SECRET: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ==";

/// A BIND on a free port of loopback. It is killed, by its own number, when the test is over.
struct Bind {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Bind {
    fn start() -> Bind {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let place = folder.path();
        std::fs::write(place.join("named.conf"), configuration(place, address.port())).unwrap();
        let zone = "$TTL 300\n@ IN SOA ns.example.test. host.example.test. ( 1 3600 600 86400 300 )\n\
                    @ IN NS ns.example.test.\nns IN A 127.0.0.1\n";
        std::fs::write(place.join("zone"), zone).unwrap();
        let mut child = Command::new("/usr/sbin/named")
            .args(["-f", "-4", "-n", "1", "-c"])
            .arg(place.join("named.conf"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("named is missing: apt-get install bind9");
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "named has ended");
            assert!(begin.elapsed() < Duration::from_secs(30), "named does not answer");
            std::thread::yield_now();
        }
        Bind { child, address, _folder: folder }
    }

    fn with(&self, key: &str) -> NameServer {
        NameServer { address: self.address, key: Some(Key::parse(key).unwrap()) }
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(place: &Path, port: u16) -> String {
    let place = place.display();
    format!(
        "options {{ directory \"{place}\"; pid-file none; session-keyfile none; listen-on port {port} {{ 127.0.0.1; }}; \
         listen-on-v6 {{ none; }}; recursion no; dnssec-validation no; notify no; }};\n\
         controls {{ }};\n\
         key forge {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\n\
         key guest {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\n\
         zone \"example.test\" {{ type primary; file \"{place}/zone\"; update-policy {{ grant forge zonesub ANY; }}; }};\n"
    )
}

fn record(request: &str, sequence: u64, fence: u32, address: &str) -> Record {
    let mark = Mark { request: request.into(), sequence, fence };
    Record { service: "shop".into(), address: address.parse().unwrap(), mark }
}

#[test]
fn a_real_name_server_takes_each_change_once_and_from_the_right_one_only() {
    let bind = Bind::start();
    let server = bind.with(&format!("forge:{SECRET}"));
    let publish = |record: &Record| server.publish("example.test.", record);
    assert_eq!(publish(&record("r-1", 1, 1, "192.0.2.1")).unwrap(), Published::Changed);
    assert_eq!(publish(&record("r-1", 1, 2, "192.0.2.1")).unwrap(), Published::Already);
    assert_eq!(publish(&record("r-2", 2, 1, "2001:db8::2")).unwrap(), Published::Changed);
    assert_eq!(publish(&record("r-1", 1, 3, "192.0.2.1")).unwrap(), Published::Superseded);
    let mark = server.mark("_forge.shop.example.test.").unwrap().unwrap();
    assert_eq!(mark, record("r-2", 2, 1, "2001:db8::2").mark);
    for (kind, count) in [(wire::A, 0), (wire::AAAA, 1), (wire::TXT, 0)] {
        let mut question = Message::new(7, wire::QUERY);
        question.ask("shop.example.test.", kind);
        let found = server.exchange(question, |answer| {
            Ok(answer.records.iter().filter(|record| record.kind == kind).count())
        });
        assert_eq!(found.unwrap(), count, "type {kind}");
    }

    // Somebody who looked before the last change is refused by the server itself.
    let mut late = Message::new(9, wire::UPDATE);
    late.ask("example.test.", wire::SOA);
    let seen = wire::texts(&record("r-1", 1, 1, "192.0.2.1").mark.texts());
    late.record(wire::PREREQUISITES, "_forge.shop.example.test.", wire::TXT, wire::IN, 0, &seen);
    let refused = server.exchange(late, |_| Ok(())).unwrap_err();
    assert!(refused.class == Class::Dns && refused.text.contains("meanwhile"), "{refused}");

    let guest = bind.with(&format!("guest:{SECRET}"));
    let refused = guest.publish("example.test.", &record("r-3", 3, 1, "192.0.2.3")).unwrap_err();
    assert_eq!(refused.class, Class::Authorization, "{refused}");
    let stranger = bind.with("forge:bm90LXRoZS1zZWNyZXQtYXQtYWxsISEhISE=");
    let refused = stranger.publish("example.test.", &record("r-3", 3, 1, "192.0.2.3")).unwrap_err();
    assert_eq!(refused.class, Class::Authorization, "{refused}");
}

/// The whole phase, with a zone file and a name server: told twice, done once.
#[test]
fn a_phase_publishes_in_the_zone_and_on_the_server_once() {
    use std::collections::BTreeMap;

    use crate::phase::{Made, Order, Phase};

    let (bind, folder) = (Bind::start(), tempfile::tempdir().unwrap());
    let committed = crate::git::Committed { commit: "c".into(), sequence: 1 };
    let order = Order {
        phase: Phase::DnsUpdate,
        request: crate::sample::request("shop"),
        accepted: 0,
        fence: 1,
        folder: folder.path().to_owned(),
        origin: "example.test.".into(),
        address: "192.0.2.9".parse().unwrap(),
        server: Some(bind.with(&format!("forge:{SECRET}"))),
        made: BTreeMap::from([(Phase::GitOperations, Made::Commit(committed))]),
    };
    let published = |zone, server| Made::Name { zone, serial: 1, server: Some(server) };
    assert_eq!(order.carry_out().unwrap(), published(Published::Changed, Published::Changed));
    assert_eq!(order.carry_out().unwrap(), published(Published::Already, Published::Already));
    // Each of the two is looked at for itself: one that is behind catches up.
    std::fs::remove_dir_all(folder.path().join("zones")).unwrap();
    assert_eq!(order.carry_out().unwrap(), published(Published::Changed, Published::Already));
}

#[test]
fn a_name_server_that_is_not_there_is_tried_again() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = NameServer { address: closed, key: None };
    let fault = server.publish("example.test.", &record("r-1", 1, 1, "192.0.2.1")).unwrap_err();
    assert!(fault.class.is_retried(), "{fault}");
}
