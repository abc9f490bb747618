//! What is next in a queue, as people want to see it.

use turnwise_core::ids::JobId;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_drivers::store::{JobRow, Ready, ReadyAnswer, Want};

use crate::Error;
use crate::engine::{Engine, odd_answer};

impl Engine {
    /// The ready jobs of a kind that were submitted first. In which order they start is the turns' affair. At most
    /// [`limits::LINES_LOOKED_AT`] lines of all kinds are looked at.
    pub async fn first_ready(&self, kind: &Name, count: usize) -> Result<Vec<JobRow>, Error> {
        let store = &self.inner.store;
        let lines = Ready::Lines { after: None, limit: limits::LINES_LOOKED_AT };
        let ReadyAnswer::Lines(lines) = store.ready(lines).await? else { return Err(odd_answer()) };
        let mine = lines.into_iter().filter(|(_, key)| key.kind == *kind);
        let wants: Vec<Want> = mine.map(|(line, _)| Want { line, after: None, limit: count }).collect();
        if wants.is_empty() {
            return Ok(Vec::new());
        }
        let ReadyAnswer::Jobs(found) = store.ready(Ready::Jobs(wants)).await? else {
            return Err(odd_answer());
        };
        let mut ids: Vec<JobId> = found.into_iter().flatten().map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids.truncate(count);
        self.rows(ids).await
    }
}
