//! The commands, one file each.

pub(crate) mod backup;
pub(crate) mod batches;
pub(crate) mod control;
pub(crate) mod dead;
pub(crate) mod doctor;
pub(crate) mod jobs;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod submit;
pub(crate) mod up;
pub(crate) mod watch;
