//! A handler runs. A panic or a blown deadline is a failed attempt, never a dead worker.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tracing::Instrument;
use turnwise_core::retry::Class;
use turnwise_drivers::store::{Failure, Verdict};

use crate::context::{Context, Run};
use crate::handler::{Handler, failed};
use crate::worker::Crew;

/// Starts a run; it reports to the crew when it has ended.
pub(crate) fn start(crew: &Arc<Crew>, run: Arc<Run>, handler: &Handler) {
    let runtime = crew.inner.runtime.clone();
    let crew = crew.clone();
    // A program outside has its time from when it fetches the job.
    if !matches!(handler, Handler::Outside(_)) {
        run.begin();
    }
    match handler.clone() {
        Handler::Outside(desk) => runtime.spawn(Box::pin(async move {
            let verdict = desk.serve(&run).await;
            crew.finished(run, verdict);
        })),
        Handler::Async(call) => runtime.spawn(Box::pin(async move {
            let context = Context { run: run.clone() };
            // The call itself is inside, so that a panic before the first await is caught too.
            let body = async {
                tracing::debug!("the handler begins");
                call(&run.claimed.payload, context).await
            };
            let body = body.instrument(span(&run));
            let verdict = tokio::select! {
                biased;
                ended = AssertUnwindSafe(body).catch_unwind() => ended.unwrap_or_else(panicked),
                () = run.signal.aborted() => Verdict::Released,
                () = deadline(&run) => too_late(),
            };
            crew.finished(run, verdict);
        })),
        Handler::Blocking(call) => {
            let (reply, ended) = oneshot::channel();
            let context = Context { run: run.clone() };
            let at_work = run.clone();
            runtime.spawn_blocking(Box::new(move || {
                let work = || {
                    let _line = span(&at_work).entered();
                    tracing::debug!("the handler begins");
                    call(&at_work.claimed.payload, context)
                };
                let verdict = catch_unwind(AssertUnwindSafe(work));
                // The other side waits until this is said.
                let _ = reply.send(verdict.unwrap_or_else(panicked));
            }));
            runtime.spawn(Box::pin(watch_over(crew, run, ended)));
        }
    }
}

/// A thread cannot be stopped from outside: it is told, it keeps its slot until it ends, and what it says after
/// its deadline, or after its claim could not be trusted any more, does not count.
async fn watch_over(crew: Arc<Crew>, run: Arc<Run>, mut ended: oneshot::Receiver<Verdict>) {
    let instead = tokio::select! {
        biased;
        verdict = &mut ended => return crew.finished(run, verdict.unwrap_or_else(|_| lost())),
        () = deadline(&run) => too_late(),
        () = run.signal.aborted() => Verdict::Released,
    };
    run.signal.tell();
    // Only that it has ended matters.
    let _ = ended.await;
    crew.finished(run, instead);
}

/// What every log line of a handler carries.
pub(crate) fn span(run: &Run) -> tracing::Span {
    let (header, line) = (&run.claimed.header, &run.claimed.line);
    let (job, kind, owner, attempt) = (header.id, &line.kind, &line.owner, header.attempt);
    let batch = line.batch.map(tracing::field::display);
    let trace = run.place().trace;
    tracing::info_span!("job", %job, %kind, %owner, attempt, batch, %trace)
}

/// Ends when the handler's time is over.
pub(crate) async fn deadline(run: &Run) {
    match run.deadline() {
        Some(time) => run.inner.runtime.sleep_until(time).await,
        None => std::future::pending().await,
    }
}

pub(crate) fn too_late() -> Verdict {
    failed(Class::Retry, Failure::Deadline, "the handler took longer than its deadline allows".into())
}

fn lost() -> Verdict {
    failed(Class::Retry, Failure::Panic, "the thread of the handler was lost".into())
}

#[allow(clippy::needless_pass_by_value, reason = "it stands where a panic is handed over")]
fn panicked(panic: Box<dyn Any + Send>) -> Verdict {
    let said = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    let text = format!("the handler panicked: {}", said.unwrap_or("without a message"));
    failed(Class::Retry, Failure::Panic, text)
}
