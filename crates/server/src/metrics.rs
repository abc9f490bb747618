//! Metrics for Prometheus: what this process counted, and how things are at the moment of the question.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use turnwise::Scope;

use crate::access::Caller;
use crate::api::overview::Totals;
use crate::clock;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// Seconds, from a tenth of a millisecond to an hour.
const SECONDS: [f64; 14] =
    [0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0, 600.0, 3_600.0];
/// Units in a commit.
const UNITS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0];

/// What was counted. There is one recorder in a process.
static RECORDED: OnceLock<PrometheusHandle> = OnceLock::new();

/// What each metric means, for those that do not say it by themselves.
const MEANINGS: [(&str, &str); 19] = [
    ("turnwise_jobs_submitted_total", "Jobs that this process accepted."),
    ("turnwise_jobs_started_total", "Runs that this process began."),
    ("turnwise_jobs_finished_total", "Jobs that ended in this process, by state."),
    ("turnwise_jobs_failed_total", "Runs that failed in this process."),
    ("turnwise_jobs_retried_total", "Failed runs after which the job is tried again."),
    ("turnwise_jobs_rescued_total", "Jobs that this process took from dead workers."),
    (
        "turnwise_refused_stale_writes_total",
        "Writes of this process that were refused because another has the right by now.",
    ),
    (
        "turnwise_start_latency_seconds",
        "From the submission of a job to its first start, wanted delays included.",
    ),
    ("turnwise_run_seconds", "How long a handler took."),
    (
        "turnwise_turns_total",
        "Turns that an owner took in this process; beyond 50 owners they are counted together.",
    ),
    ("turnwise_leases_taken_total", "How often this process took a lease."),
    ("turnwise_commit_seconds", "How long a commit took, its sync to disk included."),
    ("turnwise_commit_units", "Units that were committed together."),
    ("turnwise_broker_published_total", "Messages that this process sent."),
    ("turnwise_broker_confirmed_total", "Messages that the broker confirmed."),
    ("turnwise_broker_failed_total", "Messages that the broker refused or lost."),
    ("turnwise_broker_reconnects_total", "Connections to the broker that were made again."),
    ("turnwise_spans_sent_total", "Parts of traces that the collector took."),
    (
        "turnwise_spans_dropped_total",
        "Parts of traces that were dropped: too many at once, or the collector was gone.",
    ),
];

/// Begins to count. Call it before the engine is opened: what happened before is not counted.
pub fn record() {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
        .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_units".into()), &UNITS));
    let Ok(builder) = builder else { return };
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    // A program that counts in its own way has its recorder already, and shows what it counted itself.
    if metrics::set_global_recorder(recorder).is_ok() {
        // Nobody else sets it.
        let _ = RECORDED.set(handle);
        for (name, meaning) in MEANINGS {
            match name.ends_with("_total") {
                true => metrics::describe_counter!(name, meaning),
                false => metrics::describe_histogram!(name, meaning),
            }
        }
        metrics::describe_counter!("turnwise_broker_consumed_total", "Messages that this process received.");
        metrics::describe_counter!(
            "turnwise_broker_redelivered_total",
            "Messages that were delivered before."
        );
    }
}

/// Show metrics, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", security(("token" = ["read"])),
    responses((status = 200, body = String, content_type = "text/plain; version=0.0.4"), Problems))]
pub(crate) async fn metrics(State(server): State<Arc<Shared>>, caller: Caller) -> Result<Response, Problem> {
    caller.must(Scope::Read)?;
    caller.must_be_free()?;
    let mut text = String::new();
    if let Some(recorded) = RECORDED.get() {
        recorded.run_upkeep();
        text = recorded.render();
    }
    now(&server, &mut text).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// How things are at this moment.
async fn now(server: &Shared, text: &mut String) -> Result<(), Problem> {
    let (totals, oldest) = (server.engine.totals().await?, server.engine.oldest_ready().await?);
    gauge(text, "turnwise_jobs", "Jobs by kind and state, in the whole store.");
    for (kind, tally) in &totals {
        let Totals { waiting, scheduled, ready, running, retrying, done, dead, cancelled } =
            Totals::of(tally);
        let states = [
            ("waiting", waiting),
            ("scheduled", scheduled),
            ("ready", ready),
            ("running", running),
            ("retrying", retrying),
            ("done", done),
            ("dead", dead),
            ("cancelled", cancelled),
        ];
        for (state, count) in states {
            // Writing to a text never fails.
            let _ = writeln!(text, "turnwise_jobs{{kind=\"{}\",state=\"{state}\"}} {count}", escaped(kind));
        }
    }
    gauge(text, "turnwise_oldest_ready_seconds", "How long the oldest ready job of a kind has waited.");
    let time = clock::now();
    for (kind, since) in &oldest {
        let waited = time.since(*since).as_secs_f64();
        let _ = writeln!(text, "turnwise_oldest_ready_seconds{{kind=\"{}\"}} {waited}", escaped(kind));
    }
    gauge(text, "turnwise_kinds_without_worker", "Kinds with ready jobs that no living worker serves.");
    let _ = writeln!(text, "turnwise_kinds_without_worker {}", server.engine.alarms().len());
    gauge(text, "turnwise_watchers", "Live streams of events that are open.");
    let _ = writeln!(text, "turnwise_watchers {}", server.live.watching());
    if let Some(bytes) = resident_bytes() {
        gauge(text, "process_resident_memory_bytes", "Memory of this process.");
        let _ = writeln!(text, "process_resident_memory_bytes {bytes}");
    }
    Ok(())
}

fn gauge(text: &mut String, name: &str, meaning: &str) {
    let _ = writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} gauge");
}

/// A label as the format wants it.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Memory that this process has in use, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
