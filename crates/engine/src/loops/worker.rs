//! The worker's loops: tickets in, reports out, and the end of trust.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

use crate::flow::claim;
use crate::flow::ticket::{REPORT_KEY, encode, kind_queue, report_queue, task_exchange};
use crate::loops::said;
use crate::worker::Crew;

/// How often a worker repeats what it last said, in case it was lost.
const RESTATE: Duration = Duration::from_secs(2);
/// How long to wait before a queue that failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// Receives tickets of one kind until the crew closes.
pub(crate) async fn receive(crew: Arc<Crew>, kind: Name) {
    let queue = kind_queue(&kind);
    while !crew.is_closing() {
        let consumer = match crew.inner.broker.declare(queue.clone()).await {
            Ok(()) => crew.inner.broker.consume(&queue.queue, claim::AHEAD).await,
            Err(error) => Err(error),
        };
        match consumer {
            Ok(mut consumer) => claim::receive(&crew, &kind, &mut *consumer).await,
            Err(error) => {
                tracing::warn!(%error, %kind, "cannot receive tickets; trying again");
                crew.inner.runtime.sleep_until(crew.inner.runtime.now() + AGAIN).await;
            }
        }
    }
}

/// Sends reports: at once when there is something to say, and again from time to time.
pub(crate) async fn report(crew: Arc<Crew>, mut stop: watch::Receiver<bool>) {
    let inner = &crew.inner;
    if let Err(error) = inner.broker.declare(report_queue()).await {
        tracing::warn!(%error, "cannot declare the queue of reports");
    }
    loop {
        send_report(&crew, false).await;
        let again = inner.runtime.sleep_until(inner.runtime.now() + RESTATE);
        tokio::select! {
            biased;
            () = crew.news.notified() => {}
            () = said(&mut stop) => break,
            () = again => {}
        }
    }
    send_report(&crew, true).await;
}

async fn send_report(crew: &Crew, leaving: bool) {
    let mut report = crew.take_report();
    report.session = crew.inner.liveness.borrow().map(|liveness| liveness.session);
    report.leaving = leaving;
    // A lost report is mended by the next; lost tickets are planned again.
    if let Err(error) = crew.inner.broker.publish(&task_exchange(), REPORT_KEY, encode(&report)).await {
        tracing::warn!(%error, "a report was lost");
    }
}

/// Gives back what was claimed ahead when it has waited too long for a slot.
pub(crate) async fn give_back(crew: Arc<Crew>, mut stop: watch::Receiver<bool>) {
    let mut closing = crew.closing.subscribe();
    loop {
        let next = crew.give_back().unwrap_or(Time::MAX);
        tokio::select! {
            biased;
            () = said(&mut stop) => return,
            () = crew.waiting.notified() => {}
            // Whoever closes it has gone when it cannot change any more.
            changed = closing.changed() => if changed.is_err() { return },
            () = crew.inner.runtime.sleep_until(next) => {}
        }
    }
}

/// Stops every handler when the session cannot be trusted any more.
pub(crate) async fn watch_trust(crew: Arc<Crew>, mut stop: watch::Receiver<bool>) {
    let inner = &crew.inner;
    let mut liveness = inner.liveness.subscribe();
    let mut session = liveness.borrow_and_update().map(|liveness| liveness.session);
    loop {
        let current = *liveness.borrow_and_update();
        let replaced = current.map(|liveness| liveness.session) != session;
        if replaced || current.is_some_and(|liveness| liveness.trusted_until <= inner.runtime.now()) {
            crew.abort_all();
            session = current.map(|liveness| liveness.session);
        }
        let expiry =
            current.map(|liveness| liveness.trusted_until).filter(|until| *until > inner.runtime.now());
        tokio::select! {
            biased;
            () = said(&mut stop) => return,
            changed = liveness.changed() => if changed.is_err() { return },
            () = inner.runtime.sleep_until(expiry.unwrap_or(Time::MAX)) => {}
        }
    }
}
