//! The commands, one file each.

pub(crate) mod backup;
pub(crate) mod batches;
pub(crate) mod bingo;
pub(crate) mod control;
pub(crate) mod dead;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod forge;
pub(crate) mod jobs;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod schedules;
pub(crate) mod submit;
pub(crate) mod tokens;
pub(crate) mod top;
pub(crate) mod up;
pub(crate) mod watch;
