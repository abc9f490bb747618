//! A line in the log from time to time that says how things are, for those who have nothing but the log.

use std::time::Duration;

use crate::api::overview::Totals;
use crate::state::Server;

/// Says how things are, again and again, until the server is closing.
pub async fn diagnose(server: Server, every: Duration) {
    let (engine, mut closing) = (&server.0.engine, server.0.closing.clone());
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            // An error means that the process is going as well.
            _ = closing.wait_for(|closing| *closing) => return,
        }
        let totals = match engine.totals().await {
            Ok(totals) => totals.values().map(Totals::of).fold(Totals::default(), Totals::plus),
            Err(error) => {
                tracing::warn!(%error, "the state cannot be read");
                continue;
            }
        };
        let Totals { waiting, scheduled, ready, running, retrying, done, dead, cancelled } = totals;
        let (watchers, refused) = (server.0.live.watching(), engine.refused_stale_writes());
        tracing::info!(
            waiting,
            scheduled,
            ready,
            running,
            retrying,
            done,
            dead,
            cancelled,
            watchers,
            refused_stale_writes = refused,
            "state"
        );
    }
}
