//! A claim is accepted only if everything allows it: one at a time, in its turn, within every limit.

use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::job::State;
use turnwise_core::kind::Kind;
use turnwise_core::name::Name;
use turnwise_core::rate::Rate;
use turnwise_core::schedule::Target;
use turnwise_core::time::Time;

use super::{ClaimShadow, JobShadow, Seen, Sent, Shadow};
use crate::world::{Broken, broken};

/// Starts that are remembered of a rate.
const STARTS: usize = 64;

impl Shadow {
    pub(super) fn claimed(
        &mut self,
        id: JobId,
        job: &JobShadow,
        (session, fence, attempt): (SessionId, u32, u16),
        sent: &Sent<'_>,
        seen: &Seen<'_>,
    ) -> Result<(), Broken> {
        self.lane_allows(id, job)?;
        let due = matches!(job.state, State::Scheduled | State::Retrying) && job.due <= seen.now;
        if job.state != State::Ready && !due {
            let promise = if job.state == State::Running { 2 } else { 6 };
            return broken(promise, format!("{id} was claimed while it was {} (due {})", job.state, job.due));
        }
        if fence <= job.fence {
            return broken(2, format!("{id} was claimed with fence {fence} after {}", job.fence));
        }
        if attempt != job.attempt + 1 || attempt > job.attempts {
            return broken(
                6,
                format!("{id} begins attempt {attempt} of {} after {}", job.attempts, job.attempt),
            );
        }
        let Some(claim) = sent.claims.get(&id) else {
            return broken(2, format!("{id} was claimed, but nobody asked for it"));
        };
        let living = self.sessions.get(&session).filter(|session| session.until > seen.now);
        if claim.session != session
            || living.is_none_or(|living| (living.process, living.life) != (seen.process, seen.life))
        {
            return broken(
                2,
                format!("{id} was claimed by session {session}, which is not that of the sender, or is over"),
            );
        }
        self.batch_allows(id, job)?;
        self.nothing_pauses(id, job, seen.process)?;
        if let Some(kind) = self.kinds.get(&job.kind).cloned() {
            self.within_caps(id, job, &kind)?;
            self.lease_allows(id, &kind, claim.term, seen.now)?;
            self.within_rates(id, job, &kind, seen.now)?;
        }
        let shadow = ClaimShadow { process: seen.process, life: seen.life, term: claim.term };
        self.claims.insert((id, fence), shadow);
        self.starts.push((seen.now, id));
        let job = self.shadow_of(id)?;
        (job.fence, job.attempt, job.session) = (fence, attempt, Some(session));
        Ok(())
    }

    fn nothing_pauses(&self, id: JobId, job: &JobShadow, process: usize) -> Result<(), Broken> {
        let drained =
            |target: &Target| matches!(target, Target::Node(node) if **node == format!("node-{process}"));
        match self.paused.iter().find(|target| is_target(target, job) || drained(target)) {
            Some(target) => broken(3, format!("{id} was claimed while {target:?} was paused")),
            None => Ok(()),
        }
    }

    fn within_caps(&self, id: JobId, job: &JobShadow, kind: &Kind) -> Result<(), Broken> {
        let reached = |cap: Option<u32>, key: Option<&Name>| {
            cap.is_some_and(|cap| self.running(&job.kind, key) >= cap as usize)
        };
        let keyed = job.key.is_some() && reached(kind.key_cap, job.key.as_ref());
        match reached(kind.cap, None) || keyed {
            true => broken(3, format!("{id} was claimed over a cap of {}", job.kind)),
            false => Ok(()),
        }
    }

    fn lease_allows(&self, id: JobId, kind: &Kind, term: Option<u64>, now: Time) -> Result<(), Broken> {
        let Some(name) = &kind.lease else { return Ok(()) };
        let current = self.leases.get(name).filter(|lease| lease.until > now).map(|lease| lease.term);
        match current.is_some() && current == term {
            true => Ok(()),
            false => {
                broken(10, format!("{id} was claimed under term {term:?} of {name}, which is at {current:?}"))
            }
        }
    }

    fn within_rates(&mut self, id: JobId, job: &JobShadow, kind: &Kind, now: Time) -> Result<(), Broken> {
        let keyed = kind.key_rate.filter(|_| job.key.is_some()).map(|rate| (rate, job.key.clone()));
        for (rate, key) in kind.rate.map(|rate| (rate, None)).into_iter().chain(keyed) {
            let starts = self.rates.entry((job.kind.clone(), key)).or_default();
            starts.push(now);
            if starts.len() > STARTS {
                starts.remove(0);
            }
            if exceeds(starts, rate) {
                return broken(3, format!("{id} was claimed over the rate of {}", job.kind));
            }
        }
        Ok(())
    }
}

/// Whether more started since any of these moments than a full bucket and its refill allow.
fn exceeds(starts: &[Time], rate: Rate) -> bool {
    let Some(&last) = starts.last() else { return false };
    starts.iter().rev().enumerate().any(|(since, start)| {
        let refilled = last.since(*start).as_micros() * u128::from(rate.count) / rate.per.as_micros().max(1);
        // The refill is counted in whole parts of a token: one is allowed for rounding.
        since as u128 + 1 > u128::from(rate.burst) + refilled + 1
    })
}

/// Whether a pause of this target holds a job back.
pub(crate) fn is_target(target: &Target, job: &JobShadow) -> bool {
    match target {
        Target::Kind(kind) => *kind == job.kind,
        Target::Owner(owner) => *owner == job.owner,
        Target::Batch(batch) => Some(*batch) == job.batch,
        Target::Node(_) => false,
    }
}
