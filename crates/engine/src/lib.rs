//! Turnwise: a durable work engine. *Every job gets its turn, once.*
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use turnwise::{Config, Context, Engine, Job, Outcome};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet { name: String }
//!
//! impl Job for Greet {
//!     const KIND: &'static str = "greet";
//!     type Output = String;
//! }
//!
//! async fn greet(job: Greet, _ctx: Context) -> Outcome<String> {
//!     Ok(format!("Hello, {}!", job.name))
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), turnwise::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let data = directory.path();
//! let engine = Engine::open(Config::embedded(data)).await?;
//! engine.worker(greet).slots(4);
//! let running = engine.start().await?;
//! let job = engine.submit(Greet { name: "Ada".into() }.owner("docs")).await?;
//! assert_eq!(engine.wait(job).await?.result::<Greet>()?, Some("Hello, Ada!".to_string()));
//! running.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! Seven words to learn: [`Engine`], [`Job`], handler (an async function), [`Outcome`], [`Batch`], lane
//! ([`Submit::lane`]) and [`Context`].

pub mod config;
mod context;
mod control;
mod engine;
mod error;
#[cfg(feature = "fleet")]
mod examine;
mod flow;
mod handler;
mod hub;
mod job;
mod known;
mod loops;
mod meter;
mod next;
mod nodes;
mod outcome;
mod raw;
mod readiness;
mod remote;
mod running;
pub mod runtime;
mod schedules;
mod terms;
pub mod testing;
mod tokens;
mod totals;
mod trace;
pub mod vault;
mod view;
mod worker;

pub use config::Config;
pub use context::Context;
pub use engine::Engine;
pub use error::Error;
#[cfg(feature = "fleet")]
pub use examine::examine;
pub use flow::batch::{Batch, BatchHandle};
pub use handler::Worker;
pub use job::{Job, Submit};
pub use nodes::{LeaseView, NodeView, NodesView};
pub use outcome::{Outcome, Stop};
pub use raw::{Raw, RawBatch};
pub use readiness::Missing;
pub use remote::{Recall, RecallReason, Remote, RemoteJob, RemoteOptions};
pub use running::Running;
pub use schedules::{Schedule, ScheduleView};
pub use terms::{LeaseNews, LeaseTerms};
pub use trace::{Span, Tracer, traced};
pub use view::{BatchView, EventView, JobView, LaneView, OwnerView};

pub use turnwise_core::batch::{Phase, When};
pub use turnwise_core::cron::{Missed, Overlap};
pub use turnwise_core::event::{Cause, Cursor, Event};
pub use turnwise_core::ids::{BatchId, JobId, LaneId, LineId, SessionId};
pub use turnwise_core::job::State;
pub use turnwise_core::kind::{Kind, LimitsChange};
pub use turnwise_core::lane::OnDead;
pub use turnwise_core::limits;
pub use turnwise_core::line::LineKey;
pub use turnwise_core::name::Name;
pub use turnwise_core::priority::Priority;
pub use turnwise_core::rate::Rate;
pub use turnwise_core::refusal::Refusal;
pub use turnwise_core::retry::{Class, Retry};
pub use turnwise_core::schedule::Target;
pub use turnwise_core::tally::Tally;
pub use turnwise_core::time::{Time, hours, millis, minutes, secs};
pub use turnwise_core::trace::{SpanId, TraceId, TracePlace};
#[cfg(feature = "fleet")]
pub use turnwise_drivers::examine::{Finding, Health};
#[cfg(feature = "fleet")]
pub use turnwise_drivers::open::{
    Cost, FleetOptions, Meter, PostgresOptions, RabbitOptions, RedisOptions, remove_schema,
};
pub use turnwise_drivers::open::{Inspection, backup, inspect};
pub use turnwise_drivers::store::{Filter, JobRow, Roles, Scope, StoreError, Submitted, Token};
