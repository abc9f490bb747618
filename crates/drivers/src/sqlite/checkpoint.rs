//! Checkpoints: the write-ahead log is copied into the database on a thread of its own, so that no commit
//! waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;

use super::schema;
use crate::store::StoreError;

/// From this size on, the log is copied in the background.
const SOFT: u64 = 4 << 20;
/// From this size on, the writer itself brings the log back to its beginning between two commits; by then the
/// background has copied nearly all of it, so this is short.
const HARD: u64 = 64 << 20;

/// Asks for checkpoints.
pub(super) struct Checkpoints {
    wanted: SyncSender<()>,
    log: std::path::PathBuf,
}

/// Starts the thread; it ends when [`Checkpoints`] is dropped.
pub(super) fn start(path: &Path) -> Result<(Checkpoints, std::thread::JoinHandle<()>), StoreError> {
    let connection = schema::open_checkpointer(path)?;
    let (wanted, wishes) = sync_channel(1);
    let thread = super::spawn("turnwise-checkpoint", move || run(&connection, &wishes))?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Ok((Checkpoints { wanted, log: log.into() }, thread))
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
    pub(super) fn after_commit(&self, writer: &Connection) {
        let size = std::fs::metadata(&self.log).map_or(0, |log| log.len());
        if size > HARD {
            if let Err(error) = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
                tracing::warn!(%error, "a checkpoint failed; the next one tries again");
            }
        } else if size > SOFT {
            // A full channel means that one is under way or asked for already.
            let _ = self.wanted.try_send(());
        }
    }
}
