//! The job: a request on its way through the phases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnwise::{Context, Engine, Job, LeaseNews, LeaseTerms, Outcome, Retry, Stop};

use crate::fault::{Class, Fault};
use crate::group;
use crate::journal::{self, Journal};
use crate::phase::{Made, Order, Phase};
use crate::request::Request;
use crate::settings::{self, Settings};

/// Attempts in all.
pub const ATTEMPTS: u16 = 10;
/// How often a request may be taken from a dead worker before it is dead itself.
const RESCUES: u16 = 20;
/// What log lines carry that belong to no request.
const QUEUE_TRACE: &str = "compute-queue";

/// A request that was accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Generate {
    /// The request.
    pub request: Request,
    /// When it was accepted, in seconds since 1970. Commits carry it.
    pub accepted: i64,
    /// What it has in common with those that it may stand for, beside the content; nothing if it did not ask for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<u64>,
}

impl Job for Generate {
    const KIND: &'static str = "forge.generate";
    type Output = BTreeMap<Phase, Made>;
}

/// The forge in this process.
struct Forge {
    settings: Settings,
    active: AtomicU32,
}

/// Lets an engine work for the forge.
pub fn register(engine: &Engine, settings: &Settings) {
    let forge = Arc::new(Forge { settings: settings.clone(), active: AtomicU32::new(0) });
    let concurrency = settings.concurrency();
    let worker = engine
        .worker(move |job: Generate, ctx: Context| {
            let forge = forge.clone();
            async move { forge.generate(job, ctx).await }
        })
        .slots(concurrency)
        .rescues(RESCUES)
        .retry(Retry::exponential(settings.retry).attempts(ATTEMPTS))
        // The forge keeps the time itself, and says TIMEOUT. This is for a handler that hangs all the same.
        .deadline(settings.timeout + Duration::from_secs(60));
    match &settings.order {
        settings::Order::PerService => initialised(concurrency),
        settings::Order::Global(leader) => {
            let terms =
                LeaseTerms::new(leader.ttl, leader.renew).listener(move |news| heard(news, concurrency));
            worker.lease_for(&leader.key, terms);
        }
    }
}

/// What happened to the lease, in the words that operators know.
fn heard(news: LeaseNews<'_>, concurrency: u32) {
    match news {
        LeaseNews::Acquired { lease, holder, term, span } => {
            let ttl = span.as_millis() as u64;
            tracing::info!(
                traceId = QUEUE_TRACE,
                key = lease,
                leaderId = holder,
                ttlMs = ttl,
                term,
                "Leader election acquired"
            );
            tracing::info!(traceId = QUEUE_TRACE, "computeGenerationQueue scheduler ready");
            initialised(concurrency);
        }
        LeaseNews::Lost { lease, holder, term, why } => {
            let reason = if why == "released" { "released" } else { "lease-extension-failed" };
            tracing::warn!(
                traceId = QUEUE_TRACE,
                key = lease,
                leaderId = holder,
                term,
                reason,
                why,
                "Leader election lost"
            );
        }
        _ => {}
    }
}

fn initialised(concurrency: u32) {
    tracing::info!(traceId = QUEUE_TRACE, concurrency, "computeGenerationWorker initialized");
}

/// Counts a job for as long as it is active.
struct Active<'a>(&'a AtomicU32);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Forge {
    async fn generate(&self, job: Generate, ctx: Context) -> Outcome<BTreeMap<Phase, Made>> {
        let active = self.active.fetch_add(1, Ordering::AcqRel) + 1;
        let _active = Active(&self.active);
        let journal = Journal::of(&self.settings.folder, ctx.job());
        journal::tidy(&self.settings.folder);
        let (trace, id, number) = (&job.request.trace_id, &job.request.id, ctx.job());
        let concurrency = self.settings.concurrency();
        tracing::info!(
            traceId = %trace, jobId = %number, instanceId = %id, service = %job.request.service, activeCount = active,
            concurrency, "computeGenerationWorker job active"
        );
        journal.say(None, &format!("attempt {} begins, under claim {}", ctx.attempt(), ctx.fence()));
        let ended = self.in_time(&job, &ctx, &journal).await;
        match &ended {
            Ok(_) => {
                tracing::info!(traceId = %trace, jobId = %number, instanceId = %id, "computeGenerationWorker job completed");
                journal.say(None, "completed");
            }
            Err(Stop::Fail { error, .. }) => {
                tracing::warn!(traceId = %trace, jobId = %number, instanceId = %id, %error, "computeGenerationWorker job failed");
                journal.say(None, error);
            }
            Err(_) => {
                tracing::info!(traceId = %trace, jobId = %number, instanceId = %id, "computeGenerationWorker job stopped");
                journal.say(None, "stopped: it was cancelled, or goes on later");
            }
        }
        ended
    }

    /// The phases, and an end to them: whatever comes first, what runs is killed with everything that it started.
    async fn in_time(
        &self,
        job: &Generate,
        ctx: &Context,
        journal: &Journal,
    ) -> Outcome<BTreeMap<Phase, Made>> {
        let limit = self.settings.timeout;
        let reached = AtomicUsize::new(0);
        tokio::select! {
            biased;
            made = self.phases(job, ctx, journal, &reached) => made,
            // A cancelled job ends as cancelled; at a shutdown it goes on later, and no attempt is burnt.
            () = ctx.cancelled() => Err(Stop::snooze(Duration::ZERO)),
            () = tokio::time::sleep(limit) => {
                let phase = in_phase(Phase::ALL[reached.load(Ordering::Acquire)].word());
                let text = format!("it took longer than {} s and was killed{phase}", limit.as_secs_f64());
                Err(Stop::never(Fault::new(Class::Timeout, text)))
            }
        }
    }

    async fn phases(
        &self,
        job: &Generate,
        ctx: &Context,
        journal: &Journal,
        reached: &AtomicUsize,
    ) -> Outcome<BTreeMap<Phase, Made>> {
        let mut made = BTreeMap::new();
        for (number, phase) in Phase::ALL.into_iter().enumerate() {
            reached.store(number, Ordering::Release);
            let order = self.order(job, ctx, phase, &made);
            let word = phase.word();
            let step = || async {
                ctx.progress(number as f32 / Phase::ALL.len() as f32, word).await?;
                let (trace, id) = (&job.request.trace_id, ctx.job());
                tracing::info!(traceId = %trace, jobId = %id, phase = word, "{word} Started");
                journal.say(Some(word), "started");
                match group::run(&self.settings.program, &order).await {
                    Ok(made) => {
                        tracing::info!(traceId = %trace, jobId = %id, phase = word, "{word} Completed");
                        journal.say(Some(word), &told(&made));
                        Ok(made)
                    }
                    Err(fault) => Err(stop(&fault, phase)),
                }
            };
            made.insert(phase, ctx.step(word, step).await?);
        }
        Ok(made)
    }

    fn order(&self, job: &Generate, ctx: &Context, phase: Phase, made: &BTreeMap<Phase, Made>) -> Order {
        Order {
            phase,
            request: job.request.clone(),
            accepted: job.accepted,
            fence: ctx.fence(),
            folder: self.settings.folder.clone(),
            origin: self.settings.origin.clone(),
            address: self.settings.address,
            server: self.settings.server.clone(),
            made: made.clone(),
        }
    }
}

/// How an error ends, so that everybody knows where it happened.
pub(crate) fn in_phase(phase: &str) -> String {
    format!(" (in {phase})")
}

/// What a fault means for the job: its class alone decides.
fn stop(fault: &Fault, phase: Phase) -> Stop {
    let text = format!("{fault}{}", in_phase(phase.word()));
    if fault.class.is_retried() { Stop::retry(text) } else { Stop::never(text) }
}

/// What a phase made, in words.
fn told(made: &Made) -> String {
    match made {
        Made::Nothing => "completed: not asked for, nothing is changed".into(),
        Made::Tree { tree, files } => format!("completed: {files} files in tree {tree}"),
        Made::Commit(made) => {
            format!("completed: commit {} is number {} of the service", made.commit, made.sequence)
        }
        Made::Name { zone, serial, server } => {
            let server =
                server.map_or("none".to_owned(), |published| format!("{published:?}").to_lowercase());
            format!(
                "completed: zone {} at serial {serial}, name server {server}",
                format!("{zone:?}").to_lowercase()
            )
        }
    }
}
