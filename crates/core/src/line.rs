//! A line is the set of jobs that are equally eligible: same kind, owner, batch, priority and limit key.
//!
//! Whatever can block a job (a pause, a cap, an empty bucket, no free slot) blocks its whole line, so the
//! planner only ever looks at the head of a line and never has to search past jobs that cannot run.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{BatchId, LineId};
use crate::name::Name;
use crate::priority::Priority;

/// What the jobs of a line have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineKey {
    /// Picks the handler.
    pub kind: Name,
    /// Takes turns.
    pub owner: Name,
    /// More urgent first, inside the owner.
    pub priority: Priority,
    /// The batch, if any.
    pub batch: Option<BatchId>,
    /// What per-key caps and rates of the kind are counted by, if any.
    pub limit_key: Option<Name>,
}

impl LineKey {
    /// The line's id: a digest of its key, so that no store has to hand out numbers.
    pub fn id(&self) -> LineId {
        let mut digest = Sha256::new();
        for text in [Some(&self.kind), Some(&self.owner), self.limit_key.as_ref()] {
            digest.update(text.map_or(u32::MAX, |text| text.len() as u32).to_le_bytes());
            digest.update(text.map_or("", |text| text.as_str()));
        }
        digest.update([self.priority.level()]);
        digest.update(self.batch.map_or(u64::MAX, BatchId::as_u64).to_le_bytes());
        LineId::from_u64(first_eight(&digest.finalize()))
    }
}

/// The first eight bytes of a digest as a number.
pub(crate) fn first_eight(digest: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, owner: &str, limit_key: Option<&str>) -> LineKey {
        LineKey {
            kind: Name::new(kind).unwrap(),
            owner: Name::new(owner).unwrap(),
            priority: Priority::default(),
            batch: None,
            limit_key: limit_key.map(|key| Name::new(key).unwrap()),
        }
    }

    #[test]
    fn every_part_matters() {
        let base = key("ab", "c", None);
        assert_eq!(base.id(), key("ab", "c", None).id());
        assert_ne!(base.id(), key("a", "bc", None).id());
        assert_ne!(base.id(), key("ab", "c", Some("k")).id());
        assert_ne!(base.id(), LineKey { batch: Some(BatchId::from_u64(0)), ..base.clone() }.id());
        assert_ne!(base.id(), LineKey { priority: Priority::new(9).unwrap(), ..base.clone() }.id());
    }
}
