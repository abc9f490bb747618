//! What operators, worker processes and time bring.

use turnwise_core::batch::Phase;
use turnwise_core::event::Cursor;
use turnwise_core::ids::{BatchId, SessionId};
use turnwise_core::job::State;
use turnwise_core::kind::{Kind, LimitsChange};
use turnwise_core::rate::Rate;
use turnwise_core::retry::Retry;
use turnwise_core::schedule::Target;
use turnwise_core::time::secs;

use super::{Generator, KINDS, LANES, name, open_session};
use crate::store::{Control, LeaseUnit, QueueUnit, Scope, Secret, SessionUnit, Sweep, Token, Unit};

impl Generator {
    pub(super) fn control(&mut self) -> Unit {
        let paused = self.chance.percent(33);
        let batch = self.chance.maybe(&self.batches).map_or(BatchId::from_u64(9), |batch| batch.0);
        Unit::Control(match self.chance.below(15) {
            0..3 => Control::Cancel(self.any_job().id),
            3 => Control::RetryNow(self.job_in(&[State::Scheduled, State::Retrying], 90).id),
            4..7 => Control::Replay(self.job_in(&[State::Dead, State::Cancelled], 90).id),
            7 => Control::CancelBatch(batch),
            8 => {
                let parked = self.batches.iter().find(|batch| batch.1 == Phase::Parked);
                Control::ReleaseBatch(parked.map_or(batch, |parked| parked.0))
            }
            9 => Control::Pause(self.target(batch), paused),
            10..13 => Control::PauseLane(name(self.chance.pick(&LANES).0), paused),
            13 => {
                let cap = self.chance.percent(60).then(|| self.chance.below(4) as u32);
                let rate =
                    self.chance.percent(30).then(|| self.chance.percent(50).then(|| Rate::per_second(3)));
                let change = LimitsChange { cap: Some(cap), rate, ..LimitsChange::default() };
                Control::SetLimits(name(self.chance.pick(&KINDS)), change)
            }
            _ => Control::SetOwner {
                owner: self.owner(),
                weight: self.chance.percent(50).then(|| self.chance.below(4) as u32),
                quota: self.chance.percent(50).then(|| self.chance.pick(&[3, 50, u64::MAX])),
            },
        })
    }

    pub(super) fn target(&mut self, batch: BatchId) -> Target {
        match self.chance.below(4) {
            0 => Target::Kind(name(self.chance.pick(&KINDS))),
            1 => Target::Owner(self.owner()),
            2 => Target::Node(name("node")),
            _ => Target::Batch(batch),
        }
    }

    pub(super) fn session(&mut self) -> Unit {
        let id = self.session_id();
        let span = secs(20 + self.chance.below(100) as u64);
        match self.chance.below(8) {
            _ if self.alive.is_empty() => open_session(SessionId::from_u64(self.number()), span),
            0..2 => open_session(SessionId::from_u64(self.number()), span),
            2 => open_session(id, span),
            3..7 => Unit::Session(SessionUnit::Beat { id, span }),
            _ => Unit::Session(SessionUnit::Close { id }),
        }
    }

    pub(super) fn lease(&mut self) -> Unit {
        let (lease, span) = (name("right"), secs(self.chance.below(40) as u64));
        let holder = name(self.chance.pick(&["x", "y"]));
        Unit::Lease(match self.chance.below(5) {
            0..3 => LeaseUnit::Acquire { name: lease, holder, span },
            3 => LeaseUnit::Renew { name: lease, term: self.term(), span },
            _ => LeaseUnit::Release { name: lease, term: self.term() },
        })
    }

    pub(super) fn declare(&mut self, kind: &str) -> Unit {
        let mut rules = Kind { retry: Retry::fixed(secs(4)).attempts(2), ..Kind::new(name(kind)) };
        rules.rescues = 1;
        match kind {
            "capped" => {
                rules.cap = self.chance.percent(80).then(|| self.chance.below(4) as u32);
                rules.key_cap = self.chance.percent(60).then_some(1);
            }
            "rated" => {
                rules.rate = self.chance.percent(80).then(|| Rate::per_second(1).burst(2));
                rules.key_rate = self.chance.percent(50).then(|| Rate::per_second(2));
            }
            "bound" => rules.lease = self.chance.percent(70).then(|| name("right")),
            _ => {}
        }
        Unit::Declare(rules)
    }

    pub(super) fn setting_or_message(&mut self) -> Unit {
        let what = name(self.chance.pick(&["one", "two"]));
        match self.chance.below(7) {
            0 => {
                let until = self.now + secs(self.chance.below(20) as u64);
                Unit::Secret(what.clone(), Some(Secret { name: what, sealed: vec![7; 9], until }))
            }
            1 => Unit::Secret(what, None),
            2 => Unit::Queue(QueueUnit::Push(what, self.blob())),
            3 => {
                let token = Token {
                    name: what.clone(),
                    hash: [self.chance.below(256) as u8; 32],
                    scopes: [Scope::Submit].into(),
                    owners: self.chance.percent(50).then(|| [self.owner()].into()),
                    made: self.now,
                    until: None,
                };
                Unit::Token(what, Some(token))
            }
            4 => Unit::Token(what, None),
            5 => Unit::Audit { by: what, what: "looked around".into() },
            _ => Unit::Queue(QueueUnit::Remove(what, self.chance.below(5) as u64)),
        }
    }

    pub(super) fn sweep(&mut self) -> Unit {
        let session = self.session_id();
        Unit::Sweep(match self.chance.below(12) {
            0..3 => Sweep::Ripen(self.some_jobs(&[State::Scheduled, State::Retrying])),
            3..5 => {
                let header = self.abandoned();
                let own = header.session.filter(|_| self.chance.percent(90));
                Sweep::Rescue(header.id, own.unwrap_or(session))
            }
            5 => Sweep::Bury(self.chance.maybe(&self.sessions).unwrap_or(session)),
            6..8 => Sweep::CancelJobs(self.some_jobs(&State::ALL)),
            8 => Sweep::Forget(self.some_jobs(&State::ALL)),
            9 => self.forget_batch(),
            10 => {
                let block = self.cursor.block().saturating_sub(self.chance.below(40) as u64);
                Sweep::Trim(Cursor::new(block, self.chance.below(3) as u16))
            }
            _ => Sweep::Expire,
        })
    }

    // What there is to choose from.

    /// Forgets a batch. Its id is not used again: that it stands for one batch holds as long as it is known.
    fn forget_batch(&mut self) -> Sweep {
        let id = self.chance.maybe(&self.batches).map_or(BatchId::from_u64(9), |batch| batch.0);
        self.batches.retain(|batch| batch.0 != id);
        self.sent.retain(|submission| submission.open.iter().all(|batch| batch.id != id));
        Sweep::ForgetBatch(id)
    }
}
