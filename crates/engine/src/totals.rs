//! Everything in a few numbers, for whoever looks at the whole: counts by kind, and how long ready jobs have waited.

use std::collections::BTreeMap;

use turnwise_core::ids::JobId;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::tally::Tally;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Found, Read, Ready, ReadyAnswer, Want};

use crate::Error;
use crate::engine::{Engine, odd_answer};

/// Lines whose first job is asked for together. Planning asks in the same place, and comes in between.
const TOGETHER: usize = 100;

impl Engine {
    /// How many jobs of each kind are in which state, of all owners together. Kinds that never had a job are left out.
    pub async fn totals(&self) -> Result<BTreeMap<Name, Tally>, Error> {
        match self.inner.read(Read::Totals).await? {
            Found::Totals(totals) => Ok(totals),
            _ => Err(odd_answer()),
        }
    }

    /// For each kind with ready jobs, when the one was submitted that has waited longest. At most
    /// [`limits::LINES_LOOKED_AT`] lines are looked at: with more of them, older jobs may be in the others.
    pub async fn oldest_ready(&self) -> Result<BTreeMap<Name, Time>, Error> {
        let store = &self.inner.store;
        let lines = Ready::Lines { after: None, limit: limits::LINES_LOOKED_AT };
        let ReadyAnswer::Lines(lines) = store.ready(lines).await? else { return Err(odd_answer()) };
        let mut first: BTreeMap<Name, JobId> = BTreeMap::new();
        for part in lines.chunks(TOGETHER) {
            let wants = part.iter().map(|(line, _)| Want { line: *line, after: None, limit: 1 }).collect();
            let ReadyAnswer::Jobs(jobs) = store.ready(Ready::Jobs(wants)).await? else {
                return Err(odd_answer());
            };
            for ((_, key), jobs) in part.iter().zip(jobs) {
                for (job, _) in jobs {
                    let first = first.entry(key.kind.clone()).or_insert(job);
                    *first = job.min(*first);
                }
            }
        }
        let ids = first.into_values().collect();
        let Found::Jobs(rows) = self.inner.read(Read::Jobs(ids)).await? else { return Err(odd_answer()) };
        Ok(rows.into_iter().map(|row| (row.line.kind.clone(), row.header.submitted)).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwise_core::job::State;
    use turnwise_core::kind::Kind;
    use turnwise_core::time::{hours, minutes};

    use super::*;
    use crate::Raw;
    use crate::testing::TestEngine;

    #[tokio::test]
    async fn the_whole_in_a_few_numbers() {
        let test = TestEngine::new().await.unwrap();
        let engine = &test.engine;
        let name = |text: &str| Name::new(text).unwrap();
        for kind in ["mail", "resize", "idle"] {
            engine.declare(Kind::new(name(kind))).await.unwrap();
        }
        let start = engine.time().await.unwrap();
        let of = |kind: &str, owner: &str| Raw::job(kind, json!(null)).owner(owner);
        engine.submit_raw(vec![of("mail", "ada").delay(hours(1))]).await.unwrap();
        for _ in 0..3 {
            test.time.advance(minutes(1));
            engine.submit_raw(vec![of("mail", "ada"), of("mail", "bob")]).await.unwrap();
        }
        engine.submit_raw(vec![of("resize", "ada"), of("resize", "ada").priority(9)]).await.unwrap();
        let totals = engine.totals().await.unwrap();
        assert_eq!(totals.keys().map(Name::as_str).collect::<Vec<_>>(), ["mail", "resize"]);
        let count = |kind, state| totals[&name(kind)].of(state);
        assert_eq!((count("mail", State::Ready), count("mail", State::Scheduled)), (6, 1));
        assert_eq!((count("resize", State::Ready), count("resize", State::Done)), (2, 0));
        let oldest = engine.oldest_ready().await.unwrap();
        let wanted = [(name("mail"), start + minutes(1)), (name("resize"), start + minutes(3))];
        assert_eq!(oldest, BTreeMap::from(wanted));
    }
}
