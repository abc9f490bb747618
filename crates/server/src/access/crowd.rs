//! How much one token, or one address without a token, may ask for.

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hashbrown::HashMap;

use crate::problem::Problem;

/// Requests that a token may send: so many each second, and as many at once.
const REQUESTS: f64 = 20_000.0;
/// Wrong tokens that an address may try: so many each second, and as many at once.
const GUESSES: f64 = 20.0;
/// Addresses and tokens that are remembered. One that is forgotten begins with a full measure.
const REMEMBERED: usize = 10_000;

/// Who asks how much.
#[derive(Default)]
pub(crate) struct Crowd {
    tokens: Measures<[u8; 32]>,
    addresses: Measures<IpAddr>,
}

impl Crowd {
    /// A token asks. Refused if it asks too much.
    pub(crate) fn ask(&self, hash: [u8; 32]) -> Result<(), Problem> {
        match self.tokens.take(hash, REQUESTS, Instant::now()) {
            true => Ok(()),
            false => Err(too_many(&format!("more than {REQUESTS} requests a second with one token"))),
        }
    }

    /// An address has tried a wrong token. Refused if it does so too often; whoever has a right one is not kept out by
    /// others who guess.
    pub(crate) fn guess(&self, address: IpAddr) -> Result<(), Problem> {
        match self.addresses.take(address, GUESSES, Instant::now()) {
            true => Ok(()),
            false => Err(too_many(&format!("more than {GUESSES} wrong tokens a second from {address}"))),
        }
    }
}

fn too_many(what: &str) -> Problem {
    let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
    Problem::new(status, "too_many_requests", format!("{what}: wait a moment")).after(1)
}

/// A measure for each: it is filled all the time, and each request takes one from it.
struct Measures<K>(Mutex<HashMap<K, (f64, Instant)>>);

impl<K> Default for Measures<K> {
    fn default() -> Self {
        Measures(Mutex::default())
    }
}

impl<K: Hash + Eq> Measures<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, (f64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one, if there is one.
    fn take(&self, key: K, rate: f64, now: Instant) -> bool {
        let mut measures = self.lock();
        if measures.len() >= REMEMBERED && !measures.contains_key(&key) {
            // Those that are full need not be remembered. If all are in use, everybody begins anew.
            measures.retain(|_, (left, since)| filled(*left, *since, rate, now) < rate);
            if measures.len() >= REMEMBERED {
                measures.clear();
            }
        }
        let (left, since) = measures.entry(key).or_insert((rate, now));
        let has = filled(*left, *since, rate, now);
        (*left, *since) = (if has >= 1.0 { has - 1.0 } else { has }, now);
        has >= 1.0
    }
}

fn filled(left: f64, since: Instant, rate: f64, now: Instant) -> f64 {
    (left + now.saturating_duration_since(since).as_secs_f64() * rate).min(rate)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_measure_runs_out_and_is_filled_again() {
        let measures = Measures::default();
        let now = Instant::now();
        assert_eq!((0..30).filter(|_| measures.take("ada", 20.0, now)).count(), 20);
        assert!(!measures.take("ada", 20.0, now) && measures.take("bob", 20.0, now));
        let later = now + Duration::from_millis(500);
        assert_eq!((0..30).filter(|_| measures.take("ada", 20.0, later)).count(), 10);
    }

    #[test]
    fn memory_is_bounded() {
        let measures = Measures::default();
        let now = Instant::now();
        for key in 0..3 * REMEMBERED {
            measures.take(key, 20.0, now);
        }
        assert!(measures.lock().len() <= REMEMBERED);
    }
}
