//! The fair scheduler's decisions: which ready jobs get a ticket next.
//!
//! The engine tells the [`Planner`] which lines may have work, answers its questions from the store, and
//! tells it what became of its tickets. The planner decides, from what it was told and the time that is
//! passed in, and nothing else.
//!
//! ```text
//!   announce(line) ─▶ memory ─▶ wants ─▶ (store) ─▶ filled ─▶ window of the line        lines, reads
//!                                                                │
//!   set_kind, set_paused, … ─▶ gates: pause, cap, rate ──holds back│                     rules, gates
//!                                                                ▼
//!   set_free(pool) ───────────▶ rings: pool, owner, priority, batch, line               fair
//!                                                                │
//!                                                              plan ─▶ tickets out       planner, outs
//!                                                                │
//!   started, gone, returned, blocked, expire ◀───────────────────┘                       claims
//! ```
//!
//! - `fair` decides between lines that could start, and states the bound that is promised.
//! - `gates` and `crowd` keep lines that cannot start out of the rings until something changes.
//! - `reads` keeps a bounded window of every line, fair over lines.
//! - `memory` keeps a bounded number of lines.
//!
//! Names are numbers inside (`intern`), and lists are links between numbers (`chain`), so that a ticket costs
//! neither a comparison of texts nor an allocation.

mod chain;
mod claims;
mod crowd;
mod fair;
mod gates;
mod intern;
#[cfg(test)]
mod life;
mod lines;
mod memory;
#[cfg(test)]
mod model;
mod outs;
mod planner;
mod reads;
mod rules;

pub use planner::{Decision, Planner, Ticket};
pub use reads::Want;
pub use rules::{KindRules, Target};
