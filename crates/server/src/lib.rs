//! The operator's side of Turnwise: an HTTP API with live events, workers in any language, and a dashboard, for one
//! engine.
//!
//! Every answer is JSON unless it says otherwise. Times are microseconds since 1970, ids have 13 letters, and an error is a
//! problem document (RFC 9457) with a code for programs and a sentence for people. The whole of it is described at
//! `/api/openapi.json`, which is made from this code.

mod access;
mod api;
mod application;
mod clock;
mod connections;
mod dashboard;
mod diagnostics;
mod headers;
mod input;
mod live;
mod metrics;
mod pages;
mod problem;
mod state;
mod workers;

pub use access::Caller;
pub use access::secret::Secret;
pub use api::{Answer, openapi};
pub use application::{Application, File, Routes};
pub use connections::serve;
pub use diagnostics::diagnose;
pub use input::{Asked, Said};
pub use metrics::record as record_metrics;
pub use problem::{CODES, Problem, Problems};
pub use state::{Admission, Options, Server, Setting};
