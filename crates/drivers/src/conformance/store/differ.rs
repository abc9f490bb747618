//! Two drivers live the same random life and must agree in every answer and in everything they hold.
//!
//! A third world lives it with every unit in a commit of its own: how units are grouped must change nothing.

use std::collections::BTreeMap;

use tokio::sync::broadcast::error::TryRecvError;
use turnwise_core::event::{Cursor, Event};
use turnwise_core::ids::JobId;
use turnwise_core::job::State;

use super::dump::{Dump, events_after, replayed};
use super::generate::Generator;
use super::world::{Factory, World};
use crate::store::{Outcome, Sweep, Unit};

/// Units in one life, about.
const UNITS: usize = 150;

/// Lives the lives of these seeds; `TURNWISE_SEED` picks others instead: `29`, or `1000..5000` to search.
pub async fn live_the_same<A: Factory, B: Factory>(seeds: std::ops::Range<u64>) {
    for seed in std::env::var("TURNWISE_SEED").map_or(seeds, |text| wanted(&text)) {
        let rerun = Rerun(seed);
        let mut life = Life {
            worlds: [A::fresh().await, B::fresh().await, A::fresh().await],
            generator: Generator::new(seed),
            seen: Cursor::START,
            believed: BTreeMap::new(),
        };
        life.live().await;
        drop(rerun);
    }
}

fn wanted(text: &str) -> std::ops::Range<u64> {
    match text.split_once("..") {
        Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
        None => text.parse().map(|seed: u64| seed..seed + 1).unwrap(),
    }
}

/// Says how to live a failing life again.
struct Rerun(u64);

impl Drop for Rerun {
    #[allow(clippy::print_stderr, reason = "this is how a failing test says what to do")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("\nto live this life again: TURNWISE_SEED={} and the same test\n", self.0);
        }
    }
}

/// Looks at everything, or at nearly everything in a fraction of the time.
async fn look(world: &World, full: bool) -> Dump {
    if full { world.dump().await } else { Dump::brief(world.store()).await }
}

struct Life {
    /// The first driver, the second, and the first again with a commit for each unit.
    worlds: [World; 3],
    generator: Generator,
    /// How far a reader of events has read.
    seen: Cursor,
    /// What it believes.
    believed: BTreeMap<JobId, State>,
}

impl Life {
    async fn live(&mut self) {
        let beginning = self.generator.beginning();
        self.commit(beginning).await;
        let mut made = 0;
        while made < UNITS {
            let pause = self.generator.pause();
            for world in &self.worlds {
                world.advance(pause);
            }
            if self.generator.restart() {
                for world in &mut self.worlds {
                    world.reopen();
                }
            }
            let units: Vec<Unit> = (0..self.generator.group()).map(|_| self.generator.unit()).collect();
            made += units.len();
            self.commit(units).await;
        }
        self.worlds[0].dump().await.assert_same(&self.worlds[1].dump().await, "all of it");
    }

    async fn commit(&mut self, units: Vec<Unit>) {
        let said: String = units.iter().map(|unit| format!("  {unit:?}\n")).collect();
        let [first, second, single] = &self.worlds;
        let mut hints = first.store().watch();
        let outcomes = first.commit(units.clone()).await;
        let others = second.commit(units.clone()).await;
        assert_eq!(format!("{outcomes:#?}"), format!("{others:#?}"), "outcomes differ after\n{said}");
        for (unit, outcome) in units.into_iter().zip(&outcomes) {
            // How much a trim changes depends on how events were grouped.
            if !matches!(unit, Unit::Sweep(Sweep::Trim(_))) {
                let alone = single.commit(vec![unit]).await.remove(0);
                assert_eq!(format!("{outcome:#?}"), format!("{alone:#?}"), "grouping matters in\n{said}");
            }
        }
        let full = self.generator.looks_closely();
        let dump = look(first, full).await;
        dump.assert_same(&look(second, full).await, &format!("(first and second driver)\n{said}"));
        let alone = look(single, full).await.lines_without_events();
        assert_eq!(dump.lines_without_events(), alone, "grouping matters after\n{said}");
        dump.check();
        self.check_events(&dump, &outcomes, &said, &mut hints).await;
        self.generator.see(&dump, self.worlds[0].now());
    }

    /// A reader that reads on from where it was believes what the rows say, and was hinted at all of it.
    async fn check_events(
        &mut self,
        dump: &Dump,
        outcomes: &[Outcome],
        said: &str,
        hints: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<crate::store::Committed>>,
    ) {
        let fresh = events_after(self.worlds[0].store(), self.seen).await;
        self.seen = fresh.last().map_or(self.seen, |event| event.0);
        let fresh: Vec<Event> = fresh.into_iter().map(|(_, _, event)| event).collect();
        assert!(fresh.is_empty() || outcomes.iter().any(Result::is_ok), "events of nothing after\n{said}");
        self.believed.extend(replayed(&fresh));
        for job in &dump.jobs {
            let header = &job.row.header;
            assert_eq!(self.believed.get(&header.id), Some(&header.state), "events of {header:?}\n{said}");
        }
        let mut hinted = Vec::new();
        loop {
            match hints.try_recv() {
                Ok(hint) => {
                    assert!(hint.events.is_empty() || hint.cursor == self.seen, "{hint:?}");
                    hinted.extend(hint.events.clone());
                }
                Err(TryRecvError::Lagged(_)) => {}
                Err(_) => break,
            }
        }
        assert_eq!(hinted, fresh, "hints say what happened\n{said}");
    }
}
