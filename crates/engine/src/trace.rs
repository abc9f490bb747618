//! What happened to a job, as parts of one trace, for whoever wants to see it beside the traces of other systems.
//!
//! Each process tells only what it did itself. The names follow from the job's id, so that the parts meet again wherever
//! they are gathered: submitted here, run there, settled by a third.

use std::borrow::Cow;

use hashbrown::HashSet;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;
use turnwise_core::trace::{SpanId, TraceId, TracePlace};
use turnwise_drivers::store::{Submission, Submitted, Verdict};

use crate::context::Run;
use crate::engine::Inner;

/// A part of a job's trace that has ended.
#[derive(Clone, Debug)]
pub struct Span {
    /// Where it is.
    pub place: TracePlace,
    /// The part that it is a part of.
    pub parent: Option<SpanId>,
    /// Another trace that it goes on from.
    pub link: Option<TracePlace>,
    /// What it is: `submit`, `wait`, `run`, `step NAME`, `settle`.
    pub name: Cow<'static, str>,
    /// The job.
    pub job: JobId,
    /// Its kind.
    pub kind: Name,
    /// Whose turn it takes.
    pub owner: Name,
    /// Its batch.
    pub batch: Option<BatchId>,
    /// The attempt, from 1; 0 before the first.
    pub attempt: u16,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Takes the parts of traces as they end. It is called where jobs are at work: it must not block.
pub trait Tracer: Send + Sync {
    /// Whether a trace is kept. The answer must be the same in every process.
    fn wants(&self, trace: TraceId) -> bool;

    /// A part has ended.
    fn ended(&self, span: Span);
}

/// What a trace tells about a job.
struct Subject<'a> {
    job: JobId,
    kind: &'a Name,
    owner: &'a Name,
    batch: Option<BatchId>,
    attempt: u16,
}

impl Subject<'_> {
    fn span(&self, name: impl Into<Cow<'static, str>>, id: SpanId, (from, to): (Time, Time)) -> Span {
        Span {
            place: TracePlace { trace: TraceId::of(self.job), span: id },
            parent: Some(SpanId::submit(self.job)),
            link: None,
            name: name.into(),
            job: self.job,
            kind: self.kind.clone(),
            owner: self.owner.clone(),
            batch: self.batch,
            attempt: self.attempt,
            from,
            // Clocks of two processes may differ.
            to: to.max(from),
            error: None,
        }
    }
}

/// What was submitted, to be told when it is accepted. Nothing if nobody wants to know.
pub(crate) struct Submitting {
    from: Time,
    spans: Vec<Span>,
    /// Jobs that follow batches. The answer does not speak of them.
    thens: Vec<JobId>,
}

impl Inner {
    fn tracer(&self, job: JobId) -> Option<&dyn Tracer> {
        self.config.tracer.as_deref().filter(|tracer| tracer.wants(TraceId::of(job)))
    }

    /// Jobs are about to be submitted, perhaps by a run.
    pub(crate) fn submitting(&self, submission: &Submission, by: Option<&Run>) -> Option<Submitting> {
        self.config.tracer.as_ref()?;
        let from = self.runtime.now();
        let came_from = CAME_FROM.try_with(|place| *place).ok();
        let then = submission.open.iter().filter_map(|batch| batch.then.as_ref()).map(|then| &then.job);
        let spans = submission
            .jobs
            .iter()
            .chain(then.clone())
            .filter(|job| self.tracer(job.id).is_some())
            .map(|job| {
                let subject =
                    Subject { job: job.id, kind: &job.kind, owner: &job.owner, batch: job.batch, attempt: 0 };
                let mut span = subject.span("submit", SpanId::submit(job.id), (from, from));
                span.parent = None;
                span.link = by.map(Run::place).or(came_from);
                span
            });
        let spans: Vec<Span> = spans.collect();
        let thens = then.map(|job| job.id).collect();
        (!spans.is_empty()).then_some(Submitting { from, spans, thens })
    }

    /// They were accepted. For some, others stand that were there already, if the answer says so.
    pub(crate) fn submitted(&self, submitting: Option<Submitting>, answer: Option<&[Submitted]>) {
        let (Some(Submitting { from, spans, thens }), Some(tracer)) = (submitting, &self.config.tracer)
        else {
            return;
        };
        let to = self.runtime.now().max(from);
        let new: Option<HashSet<JobId>> = answer
            .map(|answer| answer.iter().filter(|one| !one.existing).map(|one| one.id).chain(thens).collect());
        for mut span in spans {
            if new.as_ref().is_none_or(|new| new.contains(&span.job)) {
                span.to = to;
                tracer.ended(span);
            }
        }
    }

    /// A step of a run is done.
    pub(crate) fn stepped(&self, run: &Run, name: &Name, number: usize, from: Time) {
        let Some(tracer) = self.tracer(run.id()) else { return };
        let (job, fence) = run.key();
        let mut span = run.subject().span(
            format!("step {name}"),
            SpanId::step(job, fence, number),
            (from, self.runtime.now()),
        );
        span.parent = Some(SpanId::run(job, fence));
        tracer.ended(span);
    }

    /// A run is over and its end is committed, or was refused.
    pub(crate) fn ran(&self, run: &Run, verdict: &Verdict, refused: Option<&Refusal>) {
        let Some(tracer) = self.tracer(run.id()) else { return };
        let (subject, header, (job, fence)) = (run.subject(), &run.claimed.header, run.key());
        let (claimed, now) = (header.at, self.runtime.now());
        if header.attempt == 1 {
            tracer.ended(subject.span("wait", SpanId::wait(job), (header.submitted, claimed)));
        }
        let ended = run.ended().unwrap_or(now);
        let mut span = subject.span("run", SpanId::run(job, fence), (claimed, ended));
        span.error = failure(verdict);
        tracer.ended(span);
        let mut span = subject.span("settle", SpanId::settle(job, fence), (ended, now));
        span.error = refused.map(ToString::to_string);
        tracer.ended(span);
    }
}

/// What went wrong in a run.
fn failure(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Failed { error, .. } => Some(error.clone()),
        Verdict::Dead(error) => Some(error.clone()),
        _ => None,
    }
}

impl Run {
    fn subject(&self) -> Subject<'_> {
        let (header, line) = (&self.claimed.header, &self.claimed.line);
        Subject {
            job: header.id,
            kind: &line.kind,
            owner: &line.owner,
            batch: line.batch,
            attempt: header.attempt,
        }
    }

    /// Where it is in its job's trace.
    pub(crate) fn place(&self) -> TracePlace {
        let (job, fence) = self.key();
        TracePlace { trace: TraceId::of(job), span: SpanId::run(job, fence) }
    }
}

tokio::task_local! {
    static CAME_FROM: TracePlace;
}

/// Does something in the name of another system's trace: jobs that are submitted meanwhile, in this task, have a link to it.
///
/// ```
/// # use turnwise::{TracePlace, traced};
/// # async fn submit_something() {}
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// if let Some(place) = TracePlace::read(header) {
///     traced(place, submit_something()).await;
/// }
/// # }
/// ```
pub async fn traced<F: Future>(place: TracePlace, work: F) -> F::Output {
    CAME_FROM.scope(place, work).await
}
