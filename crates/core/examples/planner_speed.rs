//! How long the planner takes for a ticket, with everything around it: announcing, reading, planning, and
//! hearing that the job started and ended. Run with `--release`.

#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock; the planner itself has none")]
#![allow(clippy::print_stdout, reason = "this program prints")]

use std::time::{Duration, Instant};

use turnwise_core::ids::{JobId, LineId};
use turnwise_core::line::LineKey;
use turnwise_core::name::{BadName, Name};
use turnwise_core::priority::Priority;
use turnwise_core::schedule::{KindRules, Planner};
use turnwise_core::time::Time;

const TICKETS: usize = 2_000_000;
const AT_ONCE: u32 = 512;

struct Bench {
    planner: Planner,
    pool: Name,
    /// Made before the clock starts; each line has as many jobs as anybody asks for.
    keys: Vec<(LineId, LineKey)>,
    answer: Vec<(JobId, u32)>,
    next_job: u64,
}

impl Bench {
    fn new(owners: usize, rules: impl Fn(Name) -> KindRules) -> Result<Self, BadName> {
        let (pool, kind) = (Name::new("main")?, Name::new("work")?);
        let mut planner = Planner::new();
        planner.set_kind(&kind, rules(pool.clone()));
        let mut keys = Vec::new();
        for owner in 0..owners {
            let owner = Name::new(format!("a tenant with a name of some length {owner}"))?;
            let (priority, batch, limit_key) = (Priority::default(), None, None);
            let key = LineKey { kind: kind.clone(), owner, priority, batch, limit_key };
            keys.push((key.id(), key));
        }
        Ok(Bench { planner, pool, keys, answer: Vec::new(), next_job: 1 })
    }

    /// Every reading is answered in full: the backlog never ends.
    fn read(&mut self) -> Duration {
        let mut took = Duration::ZERO;
        loop {
            let start = Instant::now();
            let wants = self.planner.wants(64);
            took += start.elapsed();
            if wants.is_empty() {
                return took;
            }
            for want in wants {
                let first = self.next_job;
                self.next_job += want.limit as u64;
                self.answer.clear();
                self.answer.extend((first..self.next_job).map(|job| (JobId::from_u64(job), 1)));
                let start = Instant::now();
                self.planner.filled(&want, &self.answer, false);
                took += start.elapsed();
            }
        }
    }

    fn run(mut self, title: &str) {
        let begin = Instant::now();
        for (id, key) in &self.keys {
            assert!(self.planner.announce(*id, key));
        }
        let entering = begin.elapsed().as_nanos() as f64 / self.keys.len() as f64;
        let mut now = Time::from_millis(1_000_000);
        let (mut reading, mut planning, mut settling) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut done = 0;
        while done < TICKETS {
            reading += self.read();
            now = now + Duration::from_millis(1);
            let start = Instant::now();
            self.planner.set_free(&self.pool, AT_ONCE);
            let tickets = self.planner.plan(now, AT_ONCE as usize).tickets;
            planning += start.elapsed();
            let start = Instant::now();
            for ticket in &tickets {
                self.planner.started(ticket.job, ticket.version);
            }
            for ticket in &tickets {
                self.planner.ended(ticket.line);
            }
            settling += start.elapsed();
            done += tickets.len();
        }
        let per = |time: Duration| time.as_nanos() as f64 / done as f64;
        let all = per(reading + planning + settling);
        println!(
            "{title:<28} {all:6.0} ns a ticket (read {:4.0}, plan {:4.0}, started and ended {:4.0}); \
             {entering:5.0} ns a new line",
            per(reading),
            per(planning),
            per(settling),
        );
    }
}

fn main() -> Result<(), BadName> {
    for (owners, title) in [(1, "1 line"), (100, "100 owners"), (10_000, "10,000 owners")] {
        Bench::new(owners, KindRules::new)?.run(title);
    }
    let capped = |pool| KindRules { cap: Some(100), ..KindRules::new(pool) };
    Bench::new(10_000, capped)?.run("10,000 owners, cap of 100");
    let narrow = |pool| KindRules { cap: Some(1), ..KindRules::new(pool) };
    Bench::new(10_000, narrow)?.run("10,000 owners, cap of 1");
    Ok(())
}
