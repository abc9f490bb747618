//! Traces, gathered by a collector that takes them as OpenTelemetry's own does: OTLP over HTTP, as JSON.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::harness::Up;

const PATIENCE: Duration = Duration::from_secs(60);

/// A span, and which node told of it.
#[derive(Clone, Debug)]
struct Told {
    node: String,
    span: Value,
}

impl Told {
    fn is(&self, name: &str) -> bool {
        self.span["name"] == name
    }

    fn attribute(&self, key: &str) -> &Value {
        let attributes = self.span["attributes"].as_array().unwrap();
        attributes.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
    }
}

/// Listens until the test ends.
struct Collector {
    url: String,
    told: Receiver<Told>,
}

impl Collector {
    fn new() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let (said, told) = channel();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let said = said.clone();
                std::thread::spawn(move || answer(connection.unwrap(), &said));
            }
        });
        Collector { url, told }
    }

    /// Spans of one trace, until there are so many.
    fn spans(&self, trace: &str, count: usize) -> Vec<Told> {
        let until = Instant::now() + PATIENCE;
        let mut spans = Vec::new();
        while spans.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            let told = self.told.recv_timeout(left).unwrap_or_else(|_| panic!("only these came: {spans:#?}"));
            if told.span["traceId"] == trace {
                spans.push(told);
            }
        }
        spans
    }
}

/// Takes requests over one connection until it is closed.
fn answer(connection: TcpStream, said: &Sender<Told>) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut connection = connection;
    loop {
        let mut length = 0;
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        assert!(line.starts_with("POST /v1/traces HTTP/1.1"), "{line}");
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let head = line.trim().to_ascii_lowercase();
            match head.split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("content-type", value)) => assert!(value.starts_with("application/json"), "{value}"),
                None => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).unwrap();
        for resource in body["resourceSpans"].as_array().unwrap() {
            let attributes = resource["resource"]["attributes"].as_array().unwrap();
            let node = attributes.iter().find(|one| one["key"] == "service.instance.id").unwrap();
            let node = node["value"]["stringValue"].as_str().unwrap().to_owned();
            let scopes = resource["scopeSpans"].as_array().unwrap();
            for span in scopes.iter().flat_map(|scope| scope["spans"].as_array().unwrap()) {
                // Nobody listens any more when the test has ended.
                let _ = said.send(Told { node: node.clone(), span: span.clone() });
            }
        }
        connection
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            .ok()?;
    }
}

#[test]
fn one_trace_goes_from_submit_to_completion_across_processes() {
    let (fleet, home, collector) = (Fleet::new(), tempfile::tempdir().unwrap(), Collector::new());
    let up = |node: &str, roles: &str| {
        let differently = [("TURNWISE_TRACES", collector.url.as_str()), ("TURNWISE_NODE", node)];
        let variables = fleet.variables(&differently);
        let data = home.path().join(node);
        match roles {
            "worker" => Up::without_a_server(&data, &["--roles", roles], &variables),
            _ => Up::on(&data, &["--roles", roles], &variables),
        }
    };
    let (api, _worker) = (up("front", "api,scheduler"), up("back", "worker"));
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = ureq::post(api.url("/api/v1/jobs"))
        .header("authorization", api.bearer())
        .header("traceparent", caller);
    let mut answer = request.send_json(json!({"kind": "echo", "payload": 7, "owner": "acme"})).unwrap();
    let job = answer.body_mut().read_json::<Value>().unwrap()["id"].as_str().unwrap().to_owned();
    api.wait_for(&job, "done");
    let trace = api.get(&format!("/api/v1/jobs/{job}"))["trace"].as_str().unwrap().to_owned();
    let spans = collector.spans(&trace, 4);
    let named =
        |name: &str| spans.iter().find(|told| told.is(name)).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    let (submit, wait, run, settle) =
        (named("submit echo"), named("wait"), named("run echo"), named("settle"));
    assert_eq!([&*submit.node, &wait.node, &run.node, &settle.node], ["front", "back", "back", "back"]);
    assert_eq!(submit.span.get("parentSpanId"), None);
    let link = json!([{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331"}]);
    assert_eq!(submit.span["links"], link, "it tells where the request came from");
    let nanos = |told: &Told, key: &str| told.span[key].as_str().unwrap().parse::<u64>().unwrap();
    for told in [wait, run, settle] {
        assert_eq!(told.span["parentSpanId"], submit.span["spanId"]);
        assert!(nanos(told, "startTimeUnixNano") <= nanos(told, "endTimeUnixNano"));
        assert_eq!(told.attribute("turnwise.job")["stringValue"], job.as_str());
        assert_eq!(told.attribute("turnwise.owner")["stringValue"], "acme");
        assert_eq!(told.attribute("turnwise.attempt")["intValue"], "1");
    }
}

#[test]
fn a_failed_run_says_why_and_a_collector_that_is_gone_costs_nothing() {
    let (home, collector) = (tempfile::tempdir().unwrap(), Collector::new());
    let traced = [("TURNWISE_TRACES", collector.url.as_str())];
    let up = Up::on(&home.path().join("one"), &["--allow-shell"], &traced);
    let job = up.submit(&["shell", r#"{"command": "exit 3"}"#, "--attempts", "1"]);
    up.wait_for(&job, "dead");
    let trace = up.get(&format!("/api/v1/jobs/{job}"))["trace"].as_str().unwrap().to_owned();
    let spans = collector.spans(&trace, 4);
    let run = spans.iter().find(|told| told.is("run shell")).unwrap();
    assert_eq!(run.span["status"]["code"], 2, "{run:?}");
    drop(up);
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("http://{free}/v1/traces");
    let mut up = Up::on(&home.path().join("two"), &[], &[("TURNWISE_TRACES", &nobody)]);
    let job = up.submit(&["echo"]);
    up.wait_for(&job, "done");
    up.stop();
    assert!(up.log().contains("traces are not taken"), "{}", up.log());
}

#[test]
fn every_line_of_a_job_has_its_trace() {
    let home = tempfile::tempdir().unwrap();
    let mut up = Up::on(&home.path().join("data"), &["--log", "json"], &[("TURNWISE_LOG_LEVEL", "debug")]);
    let submitted = up.json(&["submit", "echo", "--owner", "acme", "--batch", "b", "--count", "1"]);
    let batch = submitted["batch"].as_str().unwrap();
    let jobs = up.get(&format!("/api/v1/jobs?batch={batch}"));
    let job = jobs["jobs"][0]["id"].as_str().unwrap();
    up.wait_for(job, "done");
    let trace = &up.get(&format!("/api/v1/jobs/{job}"))["trace"];
    up.stop();
    let log = up.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_job: Vec<Value> = lines.filter(|line| line.to_string().contains(job)).collect();
    let messages: Vec<&str> = of_job.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["the handler begins", "the run is committed"]);
    for line in &of_job {
        let span = &line["span"];
        let said = (&span["job"], &span["trace"], &span["owner"], &span["batch"], &span["attempt"]);
        assert_eq!(said, (&json!(job), trace, &json!("acme"), &json!(batch), &json!(1)), "{line:#}");
    }
}
