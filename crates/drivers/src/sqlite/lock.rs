//! One process at a time: a lock file that the kernel lets go of when the process ends, however it ends.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::store::StoreError;

/// Held as long as the store is open.
pub(super) struct DirectoryLock {
    _file: File,
}

const FILE: &str = "lock";

impl DirectoryLock {
    /// Makes the directory if need be (nobody but its user may look into it) and takes it.
    pub(super) fn take(directory: &Path) -> Result<Self, StoreError> {
        let unusable = |error: std::io::Error| StoreError::Unusable {
            path: directory.display().to_string(),
            why: error.to_string(),
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unusable)?;
        let path = directory.join(FILE);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(fs::TryLockError::WouldBlock) => Err(StoreError::Locked(directory.display().to_string())),
            Err(fs::TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

/// Whether a process has the directory. Asking takes the lock for a moment: it is for tools, not for
/// deciding.
pub(super) fn is_held(directory: &Path) -> Result<bool, StoreError> {
    let unusable = |error: std::io::Error| StoreError::Unusable {
        path: directory.display().to_string(),
        why: error.to_string(),
    };
    match File::open(directory.join(FILE)) {
        Ok(file) => Ok(matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unusable(error)),
    }
}
