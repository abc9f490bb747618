//! Concurrency caps and rate limits, counted in the store.

use turnwise_core::kind::Kind;
use turnwise_core::line::LineKey;
use turnwise_core::rate::{Bucket, Rate};
use turnwise_core::refusal::Refusal;
use turnwise_core::time::Time;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::LimitKey;

/// A run begins: every cap must have room and every bucket a token.
pub(super) fn start<B: Backend>(
    w: &mut Working<B>,
    line: &LineKey,
    kind: &Kind,
    now: Time,
) -> Result<(), Trouble> {
    for (key, cap) in caps(line, kind) {
        let running = w.get::<spaces::Gauges>(&key)?.unwrap_or(0);
        if cap.is_some_and(|cap| running >= cap) {
            return Err(Refusal::CapReached.into());
        }
        w.put::<spaces::Gauges>(key, running + 1);
    }
    for (key, rate) in rates(line, kind) {
        let known = w.get::<spaces::Buckets>(&key)?;
        let mut bucket = known.unwrap_or_else(|| Bucket::full(rate, now));
        bucket.take(rate, now).map_err(Refusal::RateReached)?;
        w.put::<spaces::Buckets>(key, bucket);
    }
    Ok(())
}

/// A run ended.
pub(super) fn ended<B: Backend>(w: &mut Working<B>, line: &LineKey, kind: &Kind) -> Result<(), Trouble> {
    for (key, _) in caps(line, kind) {
        match w.get::<spaces::Gauges>(&key)?.unwrap_or(0) {
            // Nobody needs to remember that nothing runs.
            0 | 1 => w.remove::<spaces::Gauges>(&key)?,
            running => w.put::<spaces::Gauges>(key, running - 1),
        }
    }
    Ok(())
}

/// The gauges of a line. Every kind and key is counted, capped or not, so that a cap that is declared, changed
/// or removed while jobs run is always judged by the truth.
fn caps(line: &LineKey, kind: &Kind) -> impl Iterator<Item = (LimitKey, Option<u32>)> {
    let whole = (LimitKey { kind: line.kind.clone(), key: None }, kind.cap);
    let keyed = line
        .limit_key
        .clone()
        .map(|key| (LimitKey { kind: line.kind.clone(), key: Some(key) }, kind.key_cap));
    std::iter::once(whole).chain(keyed)
}

fn rates(line: &LineKey, kind: &Kind) -> impl Iterator<Item = (LimitKey, Rate)> {
    let whole = kind.rate.map(|rate| (LimitKey { kind: line.kind.clone(), key: None }, rate));
    let keyed = match (&line.limit_key, kind.key_rate) {
        (Some(key), Some(rate)) => Some((LimitKey { kind: line.kind.clone(), key: Some(key.clone()) }, rate)),
        _ => None,
    };
    whole.into_iter().chain(keyed)
}
