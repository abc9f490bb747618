//! Runs that have ended are committed: [commit 3]. Whatever ended while a commit was under way goes with the next.

use std::sync::Arc;
use std::time::Duration;

use turnwise_core::refusal::Refusal;
use turnwise_core::retry::Class;
use turnwise_drivers::store::{Failure, Receipt, Settle, Submission, Unit, Verdict};

use crate::flow::handle;
use crate::handler::failed;
use crate::worker::{Crew, Finished};

/// How long to wait before a store that failed is asked again.
const AGAIN: Duration = Duration::from_millis(200);

/// Commits ended runs until the crew closes and nothing is left.
pub(crate) async fn run(crew: Arc<Crew>) {
    let mut closing = crew.closing.subscribe();
    loop {
        let finished = crew.take_finished();
        if finished.is_empty() {
            if crew.is_closing() && crew.is_idle() {
                return;
            }
            tokio::select! {
                biased;
                () = crew.ended.notified() => {}
                _ = closing.changed() => {}
            }
            continue;
        }
        let runs: Vec<_> = finished.iter().map(|ended| ended.run.key()).collect();
        commit(&crew, finished).await;
        crew.committed(&runs);
    }
}

async fn commit(crew: &Arc<Crew>, mut finished: Vec<Finished>) {
    while !finished.is_empty() {
        let inner = &crew.inner;
        let traced = |ended: &Finished| inner.submitting(&ended.submission, Some(&ended.run));
        let mut traced: Vec<_> = finished.iter().map(traced).collect();
        let units =
            finished.iter().map(|ended| unit(ended, &ended.verdict, ended.submission.clone())).collect();
        match crew.inner.commit(units).await {
            Ok(outcomes) => {
                let answered = finished.drain(..).zip(traced.drain(..)).zip(outcomes);
                let refused = answered.filter_map(|((ended, traced), outcome)| {
                    ended.run.answered(outcome.as_ref().map(drop));
                    inner.ran(&ended.run, &ended.verdict, outcome.as_ref().err());
                    // A run that failed has submitted nothing.
                    if outcome.is_ok() && matches!(ended.verdict, Verdict::Done(_)) {
                        inner.submitted(traced, None);
                    }
                    if tracing::enabled!(tracing::Level::DEBUG)
                        && let Ok(Receipt::Moved(state)) = &outcome
                    {
                        let _line = handle::span(&ended.run).entered();
                        tracing::debug!(%state, "the run is committed");
                    }
                    if let Ok(Receipt::Moved(state)) = &outcome
                        && let Some(served) = crew.kinds.get(&ended.run.claimed.line.kind)
                    {
                        served.meter.settled(&ended.verdict, *state);
                    }
                    outcome.err().and_then(|refusal| instead(ended, &refusal))
                });
                finished = refused.collect();
            }
            // Also when this session may be over: the fence decides, and a session that lives on would keep a
            // job whose end was never told for ever.
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, runs = finished.len(), "completions failed; they are sent again");
                crew.inner.runtime.sleep_until(crew.inner.runtime.now() + AGAIN).await;
            }
            Err(error) => {
                // The store is over: the jobs will be rescued, and run again.
                tracing::error!(%error, runs = finished.len(), "completions are lost; the jobs will run again");
                return;
            }
        }
    }
}

fn unit(ended: &Finished, verdict: &Verdict, submission: Submission) -> Unit {
    let header = &ended.run.claimed.header;
    Unit::Settle(Settle { job: header.id, fence: header.fence, verdict: verdict.clone(), submission })
}

/// What is sent after a refusal. A lost claim is dropped: somebody else has the job. Anything else (a fan-out over
/// the quota, a result that is too large) is a failed attempt, with the reason in its history.
fn instead(ended: Finished, refusal: &Refusal) -> Option<Finished> {
    if matches!(refusal, Refusal::StaleTerm(_)) && ended.verdict != Verdict::Released {
        // The lease was lost, the claim was not: the job is given back for the next holder.
        return Some(Finished { verdict: Verdict::Released, submission: Submission::default(), ..ended });
    }
    let gone = matches!(refusal, Refusal::UnknownJob(_));
    if refusal.is_stale() || gone || matches!(ended.verdict, Verdict::Failed { .. } | Verdict::Released) {
        let _line = handle::span(&ended.run).entered();
        tracing::warn!(%refusal, "a completion was refused");
        return None;
    }
    let verdict =
        failed(Class::Retry, Failure::Error, format!("what the handler gave was refused: {refusal}"));
    Some(Finished { run: ended.run, verdict, submission: Submission::default() })
}
