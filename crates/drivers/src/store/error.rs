//! Faults of a store. They answer the questions a caller has, and hide whose fault it was.

/// A store that could not do its work. Nothing was changed, unless it says that this is unknown.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// No room. The commit was undone; it can be sent again when there is room.
    #[error("the disk is full: free some space, the engine goes on by itself")]
    Full,
    /// Reading or writing failed.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Something that must not be.
    #[error("the store is broken: {0}. Restore a backup, and keep the file for us to look at")]
    Broken(String),
    /// Another process has the data.
    #[error("{0} is in use by another process: stop that one first, or choose another --data directory")]
    Locked(String),
    /// Made by a later version.
    #[error(
        "{path} was written by a newer version (schema {found}, this one knows {known}): upgrade Turnwise"
    )]
    Newer {
        /// Where.
        path: String,
        /// What it has.
        found: u32,
        /// What this version knows.
        known: u32,
    },
    /// The directory cannot be used.
    #[error("cannot use {path}: {why}. Check that the directory exists and that you may write to it")]
    Unusable {
        /// Where.
        path: String,
        /// Why.
        why: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without anybody changing the call.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Full | StoreError::Failed(_))
    }
}
