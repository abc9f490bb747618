//! A lock that ends with whoever holds it: the kernel gives it back when the last process that has the file open is gone,
//! however it went.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{FlockOperation, flock};

use crate::fault::Fault;

/// A lock that is held.
pub(crate) struct Lock(File);

impl Lock {
    /// Waits for the lock. Whoever waits is a process that can be killed.
    pub(crate) fn take(path: &Path) -> Result<Lock, Fault> {
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = opened.map_err(Fault::internal(format_args!("open {}", path.display())))?;
        let locked = rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive));
        locked.map_err(Fault::internal(format_args!("lock {}", path.display())))?;
        Ok(Lock(file))
    }

    /// The lock as the input of a process that reads none: as long as that process lives, the lock is held, even if
    /// this one is killed before.
    pub(crate) fn shared(&self) -> Result<Stdio, Fault> {
        self.0.try_clone().map(Stdio::from).map_err(Fault::internal("share a lock"))
    }
}
