//! The way of a job, as files in reading order: submit, schedule, claim, handle, settle, events.

pub(crate) mod batch;
pub(crate) mod claim;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod schedule;
pub(crate) mod settle;
pub(crate) mod submit;
pub(crate) mod ticket;
