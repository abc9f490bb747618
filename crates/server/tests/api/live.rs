//! Live events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{ROOT, Site, refused};

/// One who watches.
struct Stream(BufReader<TcpStream>);

/// An event as it came over the line.
#[derive(Debug)]
struct Came {
    id: Option<u64>,
    event: String,
    data: Value,
}

impl Stream {
    fn open(site: &Site, query: &str, last: Option<u64>) -> Stream {
        let mut stream = TcpStream::connect(site.url.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let last = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        let head = format!(
            "GET /api/v1/events{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ROOT}\r\naccept: text/event-stream\r\n{last}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        // The first words say that it has begun.
        while stream.line() != "retry: 1000" {}
        stream
    }

    /// A line of the stream, without the lengths that chunks begin with.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            let line = line.trim_end().to_owned();
            if !line.is_empty() && !line.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return line;
            }
        }
    }

    /// The next event that is no pulse.
    fn next(&mut self) -> Came {
        let (mut id, mut event) = (None, String::new());
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().ok();
            } else if let Some(text) = line.strip_prefix("event: ") {
                event = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ")
                && event != "pulse"
            {
                return Came { id, event, data: serde_json::from_str(text).unwrap() };
            }
        }
    }

    /// The next event of this sort.
    fn next_of(&mut self, event: &str) -> Came {
        loop {
            let came = self.next();
            if came.event == event {
                return came;
            }
        }
    }
}

#[test]
fn a_stream_begins_now_and_shows_what_happens() {
    let site = Site::new();
    site.ended(&site.submit(&json!({"kind": "echo", "owner": "before"})));
    let mut stream = Stream::open(&site, "", None);
    let id = site.submit(&json!({"kind": "echo", "owner": "acme"}));
    let states: Vec<Value> = (0..3).map(|_| stream.next_of("job").data).collect();
    assert!(states.iter().all(|event| event["job"] == id && event["owner"] == "acme"), "{states:?}");
    let states: Vec<&Value> = states.iter().map(|event| &event["state"]).collect();
    assert_eq!(states, ["ready", "running", "done"]);
}

#[test]
fn whoever_comes_back_misses_nothing() {
    let site = Site::new();
    let mut stream = Stream::open(&site, "", None);
    site.submit(&json!({"kind": "echo", "owner": "acme"}));
    let first = stream.next_of("job");
    drop(stream);
    let all: Vec<String> = (0..30).map(|n| site.submit(&json!({"kind": "echo", "payload": n}))).collect();
    all.iter().for_each(|id| drop(site.ended(id)));
    let mut again = Stream::open(&site, "", first.id);
    let mut seen: Vec<(u64, String)> = Vec::new();
    while seen.iter().filter(|(_, state)| state == "done").count() < 31 {
        let came = again.next_of("job");
        seen.push((came.id.unwrap(), came.data["state"].as_str().unwrap().to_owned()));
    }
    assert!(seen[0].0 > first.id.unwrap());
    assert!(seen.is_sorted_by(|one, other| one.0 < other.0), "in order, none twice");
    assert_eq!(seen.len(), 2 + 30 * 3, "every step of every job");
}

#[test]
fn a_filter_lets_through_what_it_says() {
    let site = Site::new();
    let batch = site.post("/api/v1/batches", &json!({"name": "b", "open": true, "jobs": []})).1;
    let batch = batch["batch"].as_str().unwrap().to_owned();
    let mut by_batch = Stream::open(&site, &format!("?batch={batch}"), None);
    let mut by_owner = Stream::open(&site, "?owner=acme", None);
    site.ended(&site.submit(&json!({"kind": "echo", "owner": "other"})));
    site.ended(&site.submit(&json!({"kind": "echo", "owner": "acme"})));
    site.post("/api/v1/jobs/bulk", &json!([{"kind": "echo", "batch": batch}]));
    site.post(&format!("/api/v1/batches/{batch}/seal"), &json!({}));
    assert_eq!(by_owner.next().data["owner"], "acme");
    loop {
        let came = by_batch.next();
        assert_eq!(came.data["batch"], batch, "{came:?}");
        if came.event == "batch_settled" {
            break;
        }
    }
    let page = site.get("/api/v1/events?owner=acme&limit=1000").1;
    let owners: Vec<&Value> =
        page["events"].as_array().unwrap().iter().map(|event| &event["owner"]).collect();
    assert!(owners.len() >= 3 && owners.iter().all(|owner| *owner == "acme"), "{page}");
}

#[test]
fn more_than_one_can_read_is_left_out_and_said() {
    let site = Site::new();
    let mut stream = Stream::open(&site, "", None);
    let jobs: Vec<Value> = (0..1_000).map(|n| json!({"kind": "echo", "payload": n})).collect();
    assert_eq!(site.post("/api/v1/jobs/bulk", &json!(jobs)).0, 200);
    let thinned = stream.next_of("thinned");
    let (from, to) = (thinned.data["from"].as_u64().unwrap(), thinned.data["to"].as_u64().unwrap());
    assert!(thinned.data["left_out"].as_u64().unwrap() > 0 && from < to);
    // The cursors fetch what was left out.
    let page = site.get(&format!("/api/v1/events?after={from}&limit=1000")).1;
    assert!(!page["events"].as_array().unwrap().is_empty());
}

#[test]
fn a_page_waits_for_something_to_happen() {
    let site = Site::new();
    let mut after = 0;
    loop {
        let page = site.get(&format!("/api/v1/events?after={after}&limit=1000")).1;
        after = page["next"].as_u64().unwrap();
        if page["events"] == json!([]) {
            break;
        }
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.get(&format!("/api/v1/events?after={after}&wait_ms=30000")).1);
        site.submit(&json!({"kind": "echo", "owner": "news"}));
        assert_ne!(waiting.join().unwrap()["events"], json!([]));
    });
}

#[test]
fn forged_cursors_are_refused() {
    let site = Site::new();
    refused(&site.get("/api/v1/events?after=x"), 400, "bad_query");
    let headers = [
        ("authorization", format!("Bearer {ROOT}")),
        ("accept", "text/event-stream".into()),
        ("last-event-id", "x".into()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    refused(&crate::harness::read(site.raw("GET", "/api/v1/events", None, &headers)), 400, "bad_cursor");
}
