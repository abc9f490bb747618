//! How long to wait before a failed job is tried again, and when to give up.
//!
//! The answer depends on nothing but the policy, the job and the attempt, so a restarted engine, a second
//! scheduler and the simulation all come to the same due time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::JobId;
use crate::limits;
use crate::time::{hours, secs};

/// What an error means for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// May go better next time: wait as the policy says.
    Retry,
    /// Somebody who knows named the wait, such as a server that is over its limit.
    RetryAfter(Duration),
    /// Will fail again whatever happens, such as bad input: no further attempt.
    Never,
}

/// How the waits grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The same wait every time.
    Fixed(Duration),
    /// The n-th retry waits n times this long.
    Linear(Duration),
    /// Each wait is `factor` times the one before.
    Exponential {
        /// The wait before the first retry.
        first: Duration,
        /// At least 1; 2 unless said.
        factor: u32,
    },
    /// One wait per retry; the last one repeats.
    List(Vec<Duration>),
}

/// A retry policy: how often, and how long in between.
///
/// A policy that is built from a shape has no cap and no jitter until they are asked for, so that the waits
/// are exactly the ones written down. The default policy has both: see [`Retry::default`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// How the waits grow.
    pub shape: Shape,
    /// Attempts in all, the first one included.
    pub attempts: u16,
    /// No wait of the shape is longer than this.
    pub cap: Option<Duration>,
    /// By up to how many percent a wait is shortened: what failed together should not return together.
    pub jitter: u8,
}

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRetry {
    /// No attempt at all, or too many.
    #[error("{0} attempts are not possible: allow 1 to {max}", max = limits::ATTEMPTS)]
    Attempts(u16),
    /// A list without an entry, or with too many.
    #[error("a list of {0} waits cannot be: give 1 to {max}, the last repeats", max = limits::RETRY_LIST)]
    List(usize),
    /// A wait or a cap beyond the limit.
    #[error("a wait of {0:?} is too long: use at most {max:?}", max = limits::DELAY)]
    Wait(Duration),
    /// Waits that shrink to nothing.
    #[error("an exponential factor of 0 would retry without a pause: use 1 or more")]
    Factor,
    /// More than all of the wait.
    #[error("a jitter of {0} percent is more than the wait itself: use 0 to 100")]
    Jitter(u8),
}

impl Retry {
    /// Attempts of a policy that does not say.
    pub const DEFAULT_ATTEMPTS: u16 = 10;

    /// No retry: one attempt, then dead.
    pub fn none() -> Self {
        Retry::fixed(Duration::ZERO).attempts(1)
    }

    /// The same wait every time.
    pub fn fixed(wait: Duration) -> Self {
        Retry::shaped(Shape::Fixed(wait))
    }

    /// The n-th retry waits n times this long.
    pub fn linear(step: Duration) -> Self {
        Retry::shaped(Shape::Linear(step))
    }

    /// Each wait is twice the one before (see [`Retry::factor`]).
    pub fn exponential(first: Duration) -> Self {
        Retry::shaped(Shape::Exponential { first, factor: 2 })
    }

    /// One wait per retry; the last one repeats.
    pub fn list(waits: impl Into<Vec<Duration>>) -> Self {
        Retry::shaped(Shape::List(waits.into()))
    }

    fn shaped(shape: Shape) -> Self {
        Retry { shape, attempts: Retry::DEFAULT_ATTEMPTS, cap: None, jitter: 0 }
    }

    /// Allows this many attempts in all, the first one included.
    pub fn attempts(self, attempts: u16) -> Self {
        Retry { attempts, ..self }
    }

    /// Lets no wait of the shape grow beyond this.
    pub fn cap(self, cap: Duration) -> Self {
        Retry { cap: Some(cap), ..self }
    }

    /// Shortens each wait by up to this many percent.
    pub fn jitter(self, percent: u8) -> Self {
        Retry { jitter: percent, ..self }
    }

    /// Multiplies by this instead of 2. Only exponential waits have a factor; other shapes stay as they are.
    pub fn factor(mut self, times: u32) -> Self {
        if let Shape::Exponential { factor, .. } = &mut self.shape {
            *factor = times;
        }
        self
    }

    /// Checks the policy against the limits.
    pub fn validate(&self) -> Result<(), BadRetry> {
        if self.attempts == 0 || self.attempts > limits::ATTEMPTS {
            return Err(BadRetry::Attempts(self.attempts));
        }
        if self.jitter > 100 {
            return Err(BadRetry::Jitter(self.jitter));
        }
        let waits = match &self.shape {
            Shape::Exponential { factor: 0, .. } => return Err(BadRetry::Factor),
            Shape::List(waits) if waits.is_empty() || waits.len() > limits::RETRY_LIST => {
                return Err(BadRetry::List(waits.len()));
            }
            Shape::Fixed(wait) | Shape::Linear(wait) | Shape::Exponential { first: wait, .. } => {
                std::slice::from_ref(wait)
            }
            Shape::List(waits) => waits,
        };
        match waits.iter().chain(&self.cap).find(|wait| **wait > limits::DELAY) {
            Some(wait) => Err(BadRetry::Wait(*wait)),
            None => Ok(()),
        }
    }

    /// The wait after an attempt that failed, counted from 1. Never longer than the cap.
    ///
    /// Jitter only ever shortens, and is drawn from the job and the attempt instead of a random number.
    pub fn delay(&self, job: JobId, attempt: u16) -> Duration {
        let ceiling = self.cap.unwrap_or(limits::DELAY).min(limits::DELAY);
        let wait = self.shape.wait(attempt.max(1)).min(ceiling.as_nanos());
        let spread = wait * u128::from(self.jitter.min(100)) / 100;
        let draw = splitmix64(splitmix64(job.as_u64()).wrapping_add(u64::from(attempt)));
        let cut = (spread * u128::from(draw)) >> 64;
        // A wait is below the limit on delays here, which has less than 2^55 nanoseconds.
        Duration::from_nanos(u64::try_from(wait - cut).unwrap_or(u64::MAX))
    }

    /// The wait after an attempt that failed with this class of error, or nothing if it was the last one.
    ///
    /// A wait that was named with the error is taken as it is: only the limit on delays shortens it, because
    /// coming back sooner than told would be refused again.
    pub fn after(&self, class: Class, job: JobId, attempt: u16) -> Option<Duration> {
        if attempt < self.attempts { self.wait(class, job, attempt) } else { None }
    }

    /// The same for a job that has its own number of attempts, which the caller looks at.
    pub fn wait(&self, class: Class, job: JobId, attempt: u16) -> Option<Duration> {
        match class {
            Class::Retry => Some(self.delay(job, attempt)),
            Class::RetryAfter(wait) => Some(wait.min(limits::DELAY)),
            Class::Never => None,
        }
    }
}

/// Ten attempts, doubling from 5 seconds up to an hour, each wait shortened by up to 10 percent: a short
/// fault costs seconds, a long one is not hammered, and the last attempt comes within 43 minutes. The cap
/// matters once somebody allows more attempts.
impl Default for Retry {
    fn default() -> Self {
        Retry::exponential(secs(5)).cap(hours(1)).jitter(10)
    }
}

impl Shape {
    /// The n-th wait in nanoseconds, before any cap; it saturates instead of wrapping round to a short one.
    fn wait(&self, n: u16) -> u128 {
        match self {
            Shape::Fixed(wait) => wait.as_nanos(),
            Shape::Linear(step) => step.as_nanos().saturating_mul(u128::from(n)),
            Shape::Exponential { first, factor } => {
                first.as_nanos().saturating_mul(u128::from(*factor).saturating_pow(u32::from(n) - 1))
            }
            Shape::List(waits) => {
                waits.get(usize::from(n) - 1).or(waits.last()).map_or(0, Duration::as_nanos)
            }
        }
    }
}

/// Spreads neighbouring numbers evenly over 64 bits (the finaliser known as SplitMix64).
fn splitmix64(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::time::{millis, minutes};

    const JOB: JobId = JobId::from_u64(7);

    fn delays<const N: usize>(retry: &Retry) -> [Duration; N] {
        std::array::from_fn(|index| retry.delay(JOB, index as u16 + 1))
    }

    #[test]
    fn five_ten_twenty_seconds_and_three_attempts() {
        let retry = Retry::exponential(secs(5)).attempts(3);
        assert_eq!(delays(&retry), [secs(5), secs(10), secs(20)]);
        assert_eq!(retry.after(Class::Retry, JOB, 1), Some(secs(5)));
        assert_eq!(retry.after(Class::Retry, JOB, 2), Some(secs(10)));
        assert_eq!(retry.after(Class::Retry, JOB, 3), None);
        // An attempt that nobody counted must not become a retry without a pause.
        assert_eq!(retry.delay(JOB, 0), secs(5));
    }

    #[test]
    fn a_tenth_of_a_second_doubled() {
        let retry = Retry::exponential(millis(100)).attempts(4);
        assert_eq!(delays(&retry), [millis(100), millis(200), millis(400)]);
        let retry = Retry::exponential(millis(50)).cap(secs(1)).attempts(6);
        assert_eq!(delays::<7>(&retry)[3..], [millis(400), millis(800), secs(1), secs(1)]);
        assert_eq!(delays(&Retry::exponential(secs(1)).factor(3)), [secs(1), secs(3), secs(9)]);
        assert_eq!(Retry::fixed(secs(1)).factor(3), Retry::fixed(secs(1)));
    }

    #[test]
    fn hopeless_errors_end_at_once() {
        let retry = Retry::default();
        assert_eq!(retry.after(Class::Never, JOB, 1), None);
        assert_eq!(Retry::none().after(Class::Retry, JOB, 1), None);
        assert_eq!(Retry::none().after(Class::RetryAfter(secs(1)), JOB, 1), None);
    }

    #[test]
    fn a_named_wait_is_kept() {
        let retry = Retry::fixed(secs(1)).cap(secs(2)).jitter(100).attempts(2);
        assert_eq!(retry.after(Class::RetryAfter(minutes(5)), JOB, 1), Some(minutes(5)));
        assert_eq!(retry.after(Class::RetryAfter(Duration::MAX), JOB, 1), Some(limits::DELAY));
        assert_eq!(retry.after(Class::RetryAfter(minutes(5)), JOB, 2), None);
    }

    #[test]
    fn the_other_shapes() {
        assert_eq!(delays(&Retry::fixed(secs(3))), [secs(3), secs(3)]);
        assert_eq!(delays(&Retry::linear(secs(3))), [secs(3), secs(6), secs(9)]);
        assert_eq!(delays(&Retry::list([secs(1), secs(9)])), [secs(1), secs(9), secs(9)]);
        // A millisecond doubled 999 times is beyond every number type on the way: the limit holds.
        assert_eq!(Retry::exponential(millis(1)).delay(JOB, 1_000), limits::DELAY);
        assert_eq!(Retry::exponential(millis(1)).delay(JOB, 33), Duration::from_millis(1 << 32));
    }

    #[test]
    fn jitter_repeats_for_a_job_and_spreads_over_jobs() {
        let retry = Retry::fixed(secs(100)).jitter(10);
        assert_eq!(retry.delay(JOB, 4), retry.clone().delay(JOB, 4));
        assert_ne!(retry.delay(JOB, 4), retry.delay(JOB, 5));
        let waits: BTreeSet<Duration> = (0..1_000).map(|raw| retry.delay(JobId::from_u64(raw), 1)).collect();
        assert_eq!(waits.len(), 1_000);
        assert!(waits.first() < Some(&secs(91)) && waits.first() >= Some(&secs(90)));
        assert!(waits.last() > Some(&secs(99)) && waits.last() <= Some(&secs(100)));
    }

    #[test]
    fn the_default_is_as_described() {
        let retry = Retry::default();
        assert_eq!(retry.validate(), Ok(()));
        assert_eq!((retry.attempts, retry.cap, retry.jitter), (10, Some(hours(1)), 10));
        let total: Duration =
            (1..10).map(|attempt| Retry { jitter: 0, ..retry.clone() }.delay(JOB, attempt)).sum();
        assert_eq!(total.as_secs() / 60, 42);
    }

    #[test]
    fn what_is_refused() {
        let long = limits::DELAY + secs(1);
        let ok = Retry::fixed(secs(1));
        assert_eq!(ok.clone().attempts(0).validate(), Err(BadRetry::Attempts(0)));
        assert_eq!(ok.clone().attempts(1_001).validate(), Err(BadRetry::Attempts(1_001)));
        assert_eq!(ok.clone().jitter(101).validate(), Err(BadRetry::Jitter(101)));
        assert_eq!(ok.clone().cap(long).validate(), Err(BadRetry::Wait(long)));
        assert_eq!(Retry::linear(long).validate(), Err(BadRetry::Wait(long)));
        assert_eq!(Retry::list([secs(1), long]).validate(), Err(BadRetry::Wait(long)));
        assert_eq!(Retry::list([]).validate(), Err(BadRetry::List(0)));
        assert_eq!(Retry::list([secs(1); 65]).validate(), Err(BadRetry::List(65)));
        assert_eq!(Retry::exponential(secs(1)).factor(0).validate(), Err(BadRetry::Factor));
        assert_eq!(BadRetry::Attempts(0).to_string(), "0 attempts are not possible: allow 1 to 1000");
        assert!([ok, Retry::none(), Retry::list([secs(1); 64])].iter().all(|retry| retry.validate().is_ok()));
    }

    #[test]
    fn written_and_read_back() {
        for retry in [Retry::default(), Retry::none(), Retry::list([millis(1)])] {
            let text = serde_json::to_string(&retry).unwrap();
            assert_eq!(serde_json::from_str::<Retry>(&text).unwrap(), retry);
        }
    }

    fn any_duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            (0_u64..10_000).prop_map(millis),
            (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        ]
    }

    fn any_retry() -> impl Strategy<Value = Retry> {
        let shape = prop_oneof![
            any_duration().prop_map(Shape::Fixed),
            any_duration().prop_map(Shape::Linear),
            (any_duration(), any::<u32>()).prop_map(|(first, factor)| Shape::Exponential { first, factor }),
            prop::collection::vec(any_duration(), 0..5).prop_map(Shape::List),
        ];
        (shape, any::<u16>(), prop::option::of(any_duration()), any::<u8>())
            .prop_map(|(shape, attempts, cap, jitter)| Retry { shape, attempts, cap, jitter })
    }

    proptest! {
        #[test]
        fn no_wait_passes_the_cap_or_the_limit(
            retry in any_retry(),
            job in any::<u64>().prop_map(JobId::from_u64),
            attempt: u16,
            named in any_duration(),
        ) {
            let wait = retry.delay(job, attempt);
            prop_assert!(wait <= limits::DELAY && retry.cap.is_none_or(|cap| wait <= cap));
            let full = Retry { jitter: 0, ..retry.clone() }.delay(job, attempt);
            prop_assert!(wait <= full && wait >= full * (100 - u32::from(retry.jitter.min(100))) / 100);
            for class in [Class::Retry, Class::RetryAfter(named), Class::Never] {
                let after = retry.after(class, job, attempt);
                prop_assert!(after.is_none_or(|wait| wait <= limits::DELAY && attempt < retry.attempts));
            }
            let _ = retry.validate();
        }
    }
}
