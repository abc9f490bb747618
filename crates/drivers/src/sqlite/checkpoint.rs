//! Checkpoints: the write-ahead log is copied into the database on a thread of its own, so that no commit waits for it.
//!
//! The log is never cut: it has its size from the beginning (see [`super::log`]) and is overwritten from there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use rusqlite::Connection;

use super::schema;
use crate::store::StoreError;

/// After so many more pages in the log, it is copied in the background. Hot pages are in it many times and copied once,
/// so rarer is cheaper.
const SOFT: u32 = 2_048;
/// The size of the log, 17 MB: twice and four times as much gave the same rates, and took longer to lay out. From this
/// many pages on, the writer itself brings the log back to its beginning between two commits; by then the
/// background has copied most of it, so this is short.
pub(super) const HARD: u32 = 4_096;
/// How long a commit waits for a lock that another process may hold for a moment.
const BUSY: Duration = Duration::from_secs(5);

/// Asks for checkpoints.
pub(super) struct Checkpoints {
    wanted: SyncSender<()>,
    /// Pages in the log, as of the last commit.
    pages: Arc<AtomicU32>,
    /// Pages in the log when a checkpoint was last asked for.
    asked: u32,
}

/// Starts the thread; it ends when [`Checkpoints`] is dropped.
pub(super) fn start(
    path: &Path,
    writer: &mut Connection,
) -> Result<(Checkpoints, std::thread::JoinHandle<()>), StoreError> {
    let connection = schema::open_checkpointer(path)?;
    let (wanted, wishes) = sync_channel(1);
    let thread = super::spawn("turnwise-checkpoint", move || run(&connection, &wishes))?;
    let pages = Arc::new(AtomicU32::new(0));
    let counted = pages.clone();
    let count = move |_: &mut rusqlite::hooks::Wal, now: i32| {
        counted.store(u32::try_from(now).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    };
    writer.wal_hook(Some(count)).map_err(|error| schema::fault(&error))?;
    Ok((Checkpoints { wanted, pages, asked: 0 }, thread))
}

fn run(connection: &Connection, wishes: &Receiver<()>) {
    while wishes.recv().is_ok() {
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "a checkpoint failed; the next one tries again");
        }
    }
}

impl Checkpoints {
    /// Looks at the log after a commit.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        // The log began anew.
        self.asked = self.asked.min(pages);
        if pages < self.asked + SOFT {
            return;
        }
        self.asked = pages;
        if pages < HARD {
            // A full channel means that one is under way or asked for already.
            let _ = self.wanted.try_send(());
        } else if let Err(error) = restart(writer) {
            tracing::warn!(%error, "a checkpoint failed; the next one tries again");
        }
    }
}

/// Copies the rest and lets the next commit begin the log anew, unless somebody reads in it: a long reader, such as a
/// backup, must not make commits wait, so nobody is waited for.
fn restart(writer: &Connection) -> rusqlite::Result<()> {
    writer.busy_timeout(Duration::ZERO)?;
    let done = writer.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
    writer.busy_timeout(BUSY)?;
    done
}
