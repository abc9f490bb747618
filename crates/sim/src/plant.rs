//! Faults planted on purpose, between the engine and the store: the simulation must find each of them. None of this
//! is in the engine or the drivers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use turnwise_core::batch::When;
use turnwise_core::event::Event;
use turnwise_core::ids::{BatchId, JobId};
use turnwise_core::job::State;
use turnwise_core::refusal::Refusal;
use turnwise_drivers::store::{
    Claimed, Committed, Control, Found, NewJob, Outcome, Read, Receipt, Submission, Unit,
};

use crate::executor::{OUTSIDE, lock};
use crate::world::World;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A completion is accepted without a look at its fence.
    FenceUnchecked,
    /// A job that waits for its retry lets the next one of its lane go on.
    RetryFreesLane,
    /// A continuation is released by counting events, some of which come twice.
    EventsCounted,
    /// A handler runs because a ticket came, although its claim was refused.
    TicketTrusted,
}

impl Plant {
    /// All of them.
    pub const ALL: [Plant; 4] =
        [Plant::FenceUnchecked, Plant::RetryFreesLane, Plant::EventsCounted, Plant::TicketTrusted];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Plant::FenceUnchecked => "fence-unchecked",
            Plant::RetryFreesLane => "retry-frees-lane",
            Plant::EventsCounted => "events-counted",
            Plant::TicketTrusted => "ticket-trusted",
        }
    }
}

impl std::str::FromStr for Plant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names: Vec<&str> = Plant::ALL.iter().map(|plant| plant.name()).collect();
        let known = Plant::ALL.into_iter().find(|plant| plant.name() == name);
        known.ok_or_else(|| format!("`{name}` is no planted fault: use one of {}", names.join(", ")))
    }
}

/// What planted faults remember.
#[derive(Default)]
pub(crate) struct Planted {
    /// Batches whose continuation is released by counting: what was counted, out of how many.
    counted: BTreeMap<BatchId, (u64, u64, NewJob)>,
}

impl World {
    /// What is sent to the store instead.
    pub(crate) fn planted_units<'a>(&self, units: &'a [Unit]) -> Cow<'a, [Unit]> {
        match self.plant {
            Some(Plant::FenceUnchecked) => {
                Cow::Owned(units.iter().map(|unit| self.with_any_fence(unit)).collect())
            }
            Some(Plant::EventsCounted) => {
                let mut units = units.to_vec();
                for unit in &mut units {
                    match unit {
                        Unit::Submit(submission) => self.take_thens(submission),
                        Unit::Settle(settle) => self.take_thens(&mut settle.submission),
                        Unit::Step(step) => self.take_thens(&mut step.submission),
                        _ => {}
                    }
                }
                Cow::Owned(units)
            }
            _ => Cow::Borrowed(units),
        }
    }

    fn with_any_fence(&self, unit: &Unit) -> Unit {
        let mut unit = unit.clone();
        if let Unit::Settle(settle) = &mut unit
            && let Some(Found::Jobs(rows)) = self.look(Read::Jobs(vec![settle.job]))
            && let Some(row) = rows.first().filter(|row| row.header.state == State::Running)
        {
            settle.fence = row.header.fence;
        }
        unit
    }

    /// Batches are opened without what follows; that is remembered here.
    fn take_thens(&self, submission: &mut Submission) {
        for batch in &mut submission.open {
            let Some(then) = batch.then.take_if(|then| then.when == When::Settled && then.job.lane.is_none())
            else {
                continue;
            };
            let total = submission.jobs.iter().filter(|job| job.batch == Some(batch.id)).count() as u64;
            lock(&self.planted).counted.insert(batch.id, (0, total, then.job));
        }
    }

    /// What is answered instead.
    pub(crate) fn planted_answers(&self, units: &[Unit], outcomes: &mut [Outcome]) {
        if self.plant != Some(Plant::TicketTrusted) {
            return;
        }
        for (unit, outcome) in units.iter().zip(outcomes) {
            if let (Unit::Claim(claim), Err(Refusal::StaleTicket | Refusal::WrongState { .. })) =
                (unit, &outcome)
                && let Some(Found::Job(Some(details))) = self.look(Read::Job(claim.job))
            {
                let mut header = details.row.header;
                header.fence += 1;
                header.state = State::Running;
                let line = details.row.line.clone();
                let claimed = Claimed { header, line, payload: details.payload.clone(), deadline: None };
                *outcome = Ok(Receipt::Claimed(Box::new(claimed)));
            }
        }
    }

    /// What happens behind everybody's back after a commit.
    pub(crate) fn planted_after(&self, units: &[Unit], outcomes: &[Outcome], hint: &Arc<Committed>) {
        match self.plant {
            Some(Plant::RetryFreesLane) => {
                for (unit, outcome) in units.iter().zip(outcomes) {
                    if let (Unit::Settle(settle), Ok(Receipt::Moved(State::Retrying))) = (unit, outcome)
                        && self.holds_a_lane(settle.job)
                    {
                        let again =
                            [Control::Cancel(settle.job), Control::Replay(settle.job)].map(Unit::Control);
                        // Whatever comes of it: it is a fault.
                        let _ = self.commit_unseen(&again);
                    }
                }
            }
            Some(Plant::EventsCounted) => hint.events.iter().for_each(|event| self.count_event(event)),
            _ => {}
        }
    }

    fn holds_a_lane(&self, job: JobId) -> bool {
        let shadow = self.shadow();
        let lane = shadow.jobs.get(&job).and_then(|job| shadow.lanes.get(&job.lane?));
        lane.is_some_and(|lane| lane.queue.len() > 1)
    }

    fn count_event(&self, event: &Event) {
        let Event::Job { job, state, .. } = event else { return };
        let batch = self.shadow().jobs.get(job).and_then(|job| job.batch);
        let Some(batch) = batch.filter(|_| state.is_final()) else { return };
        let times = 1 + u64::from(self.draw(|chance| chance.percent(20)));
        let due = {
            let mut planted = lock(&self.planted);
            let Some((count, total, _)) = planted.counted.get_mut(&batch) else { return };
            *count += times;
            if *count < *total { None } else { planted.counted.remove(&batch) }
        };
        if let Some((_, _, job)) = due {
            let submission =
                Submission { jobs: vec![NewJob { batch: None, ..job }], ..Submission::default() };
            // A refusal leaves the continuation out, which is a fault too.
            let _ = self.apply(OUTSIDE, 0, &[Unit::Submit(submission)]);
        }
    }
}
