//! Traces go to a collector as OpenTelemetry has it: OTLP over HTTP, as JSON. Spans are gathered and sent by a thread of
//! their own; a collector that is slow or gone costs traces, never work.
//!
//! Written by hand because it is one JSON document: the OpenTelemetry crates for it bring an HTTP client, protobuf and
//! their own batching, some forty crates in all.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnwise::{Span, TraceId, Tracer};

/// Spans that wait to be sent. What comes on top is dropped, and counted.
const WAITING: usize = 8_192;
/// Spans in one request.
const TOGETHER: usize = 512;
/// How long a span waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Where traces go, and how many.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The collector's address for traces.
    pub(crate) url: String,
    /// The share of all traces that is kept: 1 for all.
    pub(crate) share: f64,
    /// What this process is called.
    pub(crate) node: String,
}

/// What the thread that sends is told.
enum Word {
    Ended(Box<Span>),
    /// Nothing more comes.
    Finish,
}

/// Hands spans over to the thread that sends them.
struct Exporter {
    share: f64,
    words: SyncSender<Word>,
}

/// The thread that sends.
pub(crate) struct Sending {
    thread: std::thread::JoinHandle<()>,
    words: SyncSender<Word>,
}

/// Starts to send.
pub(crate) fn start(destination: Destination) -> anyhow::Result<(Arc<dyn Tracer>, Sending)> {
    let (words, waiting) = sync_channel(WAITING);
    let exporter = Exporter { share: destination.share, words: words.clone() };
    let thread = std::thread::Builder::new().name("traces".into());
    let thread = thread.spawn(move || send_all(&destination, &waiting))?;
    Ok((Arc::new(exporter), Sending { thread, words }))
}

impl Sending {
    /// Waits until the last spans are sent, or until the collector had its time.
    pub(crate) fn finish(self, within: Duration) {
        let until = Instant::now() + within;
        // If there is no room for it, there is no time either.
        let _ = self.words.try_send(Word::Finish);
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Tracer for Exporter {
    fn wants(&self, trace: TraceId) -> bool {
        trace.share() < self.share
    }

    fn ended(&self, span: Span) {
        if self.words.try_send(Word::Ended(Box::new(span))).is_err() {
            metrics::counter!("turnwise_spans_dropped_total").increment(1);
        }
    }
}

fn send_all(destination: &Destination, waiting: &Receiver<Word>) {
    let agent = ureq::Agent::config_builder().timeout_global(Some(ANSWER)).build();
    let agent = ureq::Agent::from(agent);
    // A collector that is gone is worth a line, and another when it is back.
    let mut fails = false;
    let mut more = true;
    while more && let Ok(Word::Ended(first)) = waiting.recv() {
        let spans;
        (spans, more) = gather(*first, waiting);
        let count = spans.len() as u64;
        match agent.post(&destination.url).send_json(document(&destination.node, &spans)) {
            Ok(_) => {
                metrics::counter!("turnwise_spans_sent_total").increment(count);
                if std::mem::take(&mut fails) {
                    tracing::info!("traces are taken again");
                }
            }
            Err(error) => {
                metrics::counter!("turnwise_spans_dropped_total").increment(count);
                if !std::mem::replace(&mut fails, true) {
                    tracing::warn!(%error, "traces are not taken; they are dropped until they are");
                }
            }
        }
    }
}

/// What came within the time to gather, or until there is enough; and whether more may come.
fn gather(first: Span, waiting: &Receiver<Word>) -> (Vec<Span>, bool) {
    let until = Instant::now() + GATHER;
    let mut spans = vec![first];
    while spans.len() < TOGETHER {
        match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Word::Ended(span)) => spans.push(*span),
            Err(RecvTimeoutError::Timeout) => break,
            Ok(Word::Finish) | Err(RecvTimeoutError::Disconnected) => return (spans, false),
        }
    }
    (spans, true)
}

/// The request, as OTLP has it.
fn document(node: &str, spans: &[Span]) -> Value {
    let resource = [("service.name", "turnwise"), ("service.instance.id", node)];
    let resource: Vec<Value> = resource.into_iter().map(|(key, value)| attribute(key, value)).collect();
    let scope = json!({"name": "turnwise", "version": env!("CARGO_PKG_VERSION")});
    let spans: Vec<Value> = spans.iter().map(shown).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
}

fn shown(span: &Span) -> Value {
    // Submitting hands work over, running takes it: producer and consumer, as OpenTelemetry calls them.
    let kind = match &*span.name {
        "submit" => 4,
        "run" => 5,
        _ => 1,
    };
    let mut attributes = vec![
        attribute("turnwise.job", &span.job.to_string()),
        attribute("turnwise.kind", &span.kind),
        attribute("turnwise.owner", &span.owner),
    ];
    attributes.extend(span.batch.map(|batch| attribute("turnwise.batch", &batch.to_string())));
    if span.attempt > 0 {
        let value = json!({"intValue": span.attempt.to_string()});
        attributes.push(json!({"key": "turnwise.attempt", "value": value}));
    }
    let mut shown = json!({
        "traceId": span.place.trace.to_string(),
        "spanId": span.place.span.to_string(),
        "name": named(span),
        "kind": kind,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        shown["parentSpanId"] = parent.to_string().into();
    }
    if let Some(link) = span.link {
        shown["links"] = json!([{"traceId": link.trace.to_string(), "spanId": link.span.to_string()}]);
    }
    if let Some(error) = &span.error {
        shown["status"] = json!({"code": 2, "message": error});
    }
    shown
}

/// With the kind, so that a list of traces says what they are about.
fn named(span: &Span) -> String {
    match &*span.name {
        "submit" | "run" => format!("{} {}", span.name, span.kind),
        name => name.to_owned(),
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Times are texts: a number in JSON does not hold all their digits.
fn nanos(time: turnwise::Time) -> String {
    (i128::from(time.as_micros()) * 1_000).to_string()
}
