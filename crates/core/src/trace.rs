//! Names for traces, as W3C Trace Context and OpenTelemetry have them.
//!
//! They follow from the job's id, so that every process that has to do with a job names the same trace, and nothing has to
//! be handed along or kept.

use std::fmt;

use crate::ids::JobId;

/// The trace of a job: 128 bits, never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(u128);

/// A part of a trace: 64 bits, never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(u64);

impl TraceId {
    /// The trace of a job.
    pub fn of(job: JobId) -> Self {
        let high = mixed(job.as_u64());
        let low = mixed(high ^ job.as_u64());
        TraceId((u128::from(high) << 64 | u128::from(low)).max(1))
    }

    /// A number from 0 up to 1 that is the same in every process: whoever keeps only a share of all traces keeps the same
    /// ones everywhere.
    pub fn share(self) -> f64 {
        // The lowest 53 bits, which a float holds exactly.
        (self.0 as u64 & ((1 << 53) - 1)) as f64 / (1_u64 << 53) as f64
    }
}

impl SpanId {
    /// The part of a job's trace in which it is submitted. All other parts stand below it.
    pub fn submit(job: JobId) -> Self {
        SpanId::part(job, 0, 1)
    }

    /// The part in which it waits for its turn.
    pub fn wait(job: JobId) -> Self {
        SpanId::part(job, 0, 2)
    }

    /// The part in which a claim runs.
    pub fn run(job: JobId, fence: u32) -> Self {
        SpanId::part(job, fence, 3)
    }

    /// The part in which the end of a claim is committed.
    pub fn settle(job: JobId, fence: u32) -> Self {
        SpanId::part(job, fence, 4)
    }

    /// The part in which a claim does its n-th step.
    pub fn step(job: JobId, fence: u32, step: usize) -> Self {
        SpanId::part(job, fence, 5 + step as u64)
    }

    fn part(job: JobId, fence: u32, part: u64) -> Self {
        SpanId(mixed(mixed(job.as_u64() ^ u64::from(fence) << 32) ^ part).max(1))
    }
}

/// A place in a trace: where something else goes on, or came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePlace {
    /// The trace.
    pub trace: TraceId,
    /// The part of it.
    pub span: SpanId,
}

impl TracePlace {
    /// Reads the header `traceparent`. `None` if it is none, or of a version that cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let part = parts.next()?;
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (part.len() == digits && part.bytes().all(hex)).then_some(part)
        };
        let (version, trace, span, _flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
        // The first version ends here; later ones may say more, and never less.
        let ends = version != "00" || parts.next().is_none();
        (version != "ff" && ends).then_some(TracePlace { trace: TraceId(trace), span: SpanId(span) })
    }
}

/// As the header `traceparent` has it.
impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace, self.span)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Spreads the bits of a number over all 64 (the finish of SplitMix64), so that neighbours have nothing in common.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Other processes, perhaps of another version, must name the same.
    #[test]
    fn names_never_change() {
        let job = JobId::from_u64(4_711);
        assert_eq!(TraceId::of(job).to_string(), "85c7b09031f6eddb36a72e36d5513747");
        assert_eq!(SpanId::submit(job).to_string(), "0f68fa3143bfc9d1");
    }

    #[test]
    fn parts_have_names_of_their_own_and_shares_are_even() {
        let mut spans = BTreeSet::new();
        let mut traces = BTreeSet::new();
        let mut lower = 0;
        for number in 0..10_000 {
            let job = JobId::from_u64(number);
            traces.insert(TraceId::of(job));
            lower += u32::from(TraceId::of(job).share() < 0.25);
            spans.extend([SpanId::submit(job), SpanId::wait(job), SpanId::run(job, 1), SpanId::run(job, 2)]);
            spans.extend([SpanId::settle(job, 1), SpanId::step(job, 1, 0), SpanId::step(job, 1, 1)]);
        }
        assert_eq!((traces.len(), spans.len()), (10_000, 70_000));
        assert!((2_300..2_700).contains(&lower), "{lower} of 10,000 are in the lowest quarter");
    }

    #[test]
    fn a_place_is_written_and_read() {
        let job = JobId::from_u64(1);
        let place = TracePlace { trace: TraceId::of(job), span: SpanId::submit(job) };
        assert_eq!(TracePlace::read(&place.to_string()), Some(place));
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(TracePlace::read(text).map(|place| place.to_string()).as_deref(), Some(text));
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319ü-b7ad6b7169203331-01",
        ] {
            assert_eq!(TracePlace::read(bad), None, "{bad}");
        }
        let later = format!("01{}-more", &text[2..]);
        assert!(TracePlace::read(&later).is_some(), "a later version may say more");
    }
}
