//! What kind of world a seed makes: how many processes, how fast, and which faults it has.
//!
//! Each seed has its own mix of faults, many of them none of a kind: rare combinations come up because common ones
//! are left out.

use std::collections::BTreeMap;
use std::time::Duration;

use turnwise_core::time::secs;

use crate::chance::Chance;

/// How likely each fault is, in a million.
#[derive(Clone, Debug, Default)]
pub struct Odds {
    /// A process dies before its commit is sent.
    pub crash_before: u32,
    /// A process dies after its commit was done, before it hears of it.
    pub crash_after: u32,
    /// A commit was done, and its answer says that it is unknown.
    pub answer_lost: u32,
    /// A commit was not done.
    pub refused: u32,
    /// A commit takes very long.
    pub slow_commit: u32,
    /// A question to the store fails.
    pub read_fails: u32,
    /// The answer to a question is old when it comes.
    pub read_late: u32,
    /// A hint is lost.
    pub hint_lost: u32,
    /// A hint is late.
    pub hint_late: u32,
    /// A message is lost.
    pub message_lost: u32,
    /// A message comes twice.
    pub message_doubled: u32,
    /// A message is late, and others overtake it.
    pub message_late: u32,
    /// The broker cannot be reached.
    pub broker_fails: u32,
}

/// A world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Processes.
    pub processes: usize,
    /// No fault at all, clocks that agree: fairness and idle slots are judged.
    pub calm: bool,
    /// How long clients and faults go on.
    pub span: Duration,
    /// What clients do in that time.
    pub actions: usize,
    /// A session's life.
    pub session: Duration,
    /// The scheduler's lease.
    pub scheduler_lease: Duration,
    /// How long a shutdown waits.
    pub grace: Duration,
    /// Longest usual time on the way to the store, in microseconds.
    pub latency: u64,
    /// Largest offset of a clock, in microseconds.
    pub offset: u64,
    /// Largest drift of a clock, in parts in a million.
    pub drift: u64,
    /// Faults by chance.
    pub odds: Odds,
    /// Crashes of processes that come by time.
    pub crashes: u64,
    /// Processes that stand still for a while.
    pub stalls: u64,
    /// Graceful restarts.
    pub restarts: u64,
    /// Restarts of the broker.
    pub broker_restarts: u64,
}

impl Plan {
    /// The world of a seed.
    pub fn of(chance: &mut Chance) -> Self {
        let calm = chance.percent(15);
        let mut plan = Plan {
            processes: chance.between(1, 3) as usize,
            calm,
            span: secs(chance.between(20, 70)),
            actions: chance.between(10, 60) as usize,
            session: *chance.pick(&[secs(3), secs(5), secs(10)]).unwrap_or(&secs(10)),
            scheduler_lease: *chance.pick(&[secs(2), secs(5), secs(10)]).unwrap_or(&secs(10)),
            grace: *chance.pick(&[Duration::from_millis(100), secs(1), secs(5)]).unwrap_or(&secs(1)),
            latency: *chance.pick(&[200, 2_000, 20_000]).unwrap_or(&200),
            offset: 0,
            drift: 0,
            odds: Odds::default(),
            crashes: 0,
            stalls: 0,
            restarts: 0,
            broker_restarts: 0,
        };
        if calm {
            plan.latency = plan.latency.min(2_000);
            plan.restarts = if chance.percent(60) { chance.between(1, 4) } else { 0 };
            return plan;
        }
        if chance.percent(70) {
            plan.offset = chance.between(1, 5_000_000);
            plan.drift = chance.between(0, 20_000);
        }
        plan.odds = Odds::of(chance);
        let mut some =
            |percent: u32, most: u64| if chance.percent(percent) { chance.between(1, most) } else { 0 };
        plan.crashes = some(60, 5);
        plan.stalls = some(60, 4);
        plan.restarts = some(50, 3);
        plan.broker_restarts = some(40, 3);
        plan
    }
}

impl Odds {
    fn of(chance: &mut Chance) -> Self {
        let mut some = |percent: u32, most: u64| {
            if chance.percent(percent) { chance.between(1, most) as u32 } else { 0 }
        };
        Odds {
            crash_before: some(40, 4_000),
            crash_after: some(40, 4_000),
            answer_lost: some(50, 60_000),
            refused: some(50, 60_000),
            slow_commit: some(40, 20_000),
            read_fails: some(40, 20_000),
            read_late: some(40, 50_000),
            hint_lost: some(50, 400_000),
            hint_late: some(50, 300_000),
            message_lost: some(50, 300_000),
            message_doubled: some(50, 300_000),
            message_late: some(50, 300_000),
            broker_fails: some(40, 50_000),
        }
    }
}

/// How often each fault came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub BTreeMap<&'static str, u64>);

impl Faults {
    /// One more of a kind.
    pub fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// All of them together.
    pub fn add(&mut self, others: &Faults) {
        for (what, count) in &others.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
}
