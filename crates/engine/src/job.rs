//! Jobs as a program sees them: a type, its kind, and how one of them is submitted.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnwise_core::lane::OnDead;
use turnwise_core::priority::Priority;
use turnwise_core::time::Time;
use turnwise_core::unique::Window;
use turnwise_drivers::store::Start;

/// A kind of job: its arguments, its name and what its handler gives.
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The name that picks the handler. It is stored with every job, so it must not change with the type's name.
    const KIND: &'static str;

    /// What the handler gives when it is done.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Top-level fields of the arguments that are never shown anywhere.
    const SENSITIVE: &'static [&'static str] = &[];

    /// Whose turn it takes.
    fn owner(self, owner: impl Into<String>) -> Submit<Self>
    where
        Self: Sized,
    {
        Submit::from(self).owner(owner)
    }

    /// The lane that it joins.
    fn lane(self, lane: impl Into<String>) -> Submit<Self>
    where
        Self: Sized,
    {
        Submit::from(self).lane(lane)
    }

    /// How urgent it is inside its owner.
    fn priority(self, level: u8) -> Submit<Self>
    where
        Self: Sized,
    {
        Submit::from(self).priority(level)
    }

    /// Not before this much time has passed.
    fn delay(self, span: Duration) -> Submit<Self>
    where
        Self: Sized,
    {
        Submit::from(self).delay(span)
    }

    /// The same key within this time answers with the same job.
    fn unique_for(self, key: impl Into<String>, span: Duration) -> Submit<Self>
    where
        Self: Sized,
    {
        Submit::from(self).unique_for(key, span)
    }
}

/// A job and how it is to be submitted. Nothing is checked before it is submitted.
#[derive(Clone, Debug)]
#[must_use = "a submission does nothing until it is given to the engine"]
pub struct Submit<J> {
    pub(crate) job: J,
    pub(crate) how: How,
}

/// How a job is to be submitted.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    pub(crate) owner: Option<String>,
    pub(crate) lane: Option<(String, OnDead)>,
    pub(crate) priority: Option<u8>,
    pub(crate) limit_key: Option<String>,
    pub(crate) start: Start,
    pub(crate) attempts: Option<u16>,
    pub(crate) unique: Vec<(String, Window)>,
}

impl<J> From<J> for Submit<J>
where
    J: Job,
{
    fn from(job: J) -> Self {
        Submit { job, how: How::default() }
    }
}

impl<J> Submit<J> {
    /// Whose turn it takes; `default` unless said.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.how.owner = Some(owner.into());
        self
    }

    /// The lane that it joins: one at a time, in submit order. After a dead letter the lane goes on.
    pub fn lane(mut self, lane: impl Into<String>) -> Self {
        self.how.lane = Some((lane.into(), OnDead::Continue));
        self
    }

    /// The lane that it joins. After a dead letter the lane stands still until it is resumed.
    pub fn strict_lane(mut self, lane: impl Into<String>) -> Self {
        self.how.lane = Some((lane.into(), OnDead::Halt));
        self
    }

    /// How urgent it is inside its owner: 0 (least) to 9 (most); 5 unless said.
    pub fn priority(mut self, level: u8) -> Self {
        self.how.priority = Some(level);
        self
    }

    /// What per-key caps and rates of the kind are counted by.
    pub fn limit_key(mut self, key: impl Into<String>) -> Self {
        self.how.limit_key = Some(key.into());
        self
    }

    /// Not before this much time has passed.
    pub fn delay(mut self, span: Duration) -> Self {
        self.how.start = Start::After(span);
        self
    }

    /// Not before this moment.
    pub fn at(mut self, time: Time) -> Self {
        self.how.start = Start::At(time);
        self
    }

    /// How many attempts it may have, if not the kind's number.
    pub fn attempts(mut self, attempts: u16) -> Self {
        self.how.attempts = Some(attempts);
        self
    }

    /// The same key within this time answers with the same job, even if that has ended. Of several keys the first that is
    /// taken decides; those for a time stand for that job, too, from then on.
    pub fn unique_for(mut self, key: impl Into<String>, span: Duration) -> Self {
        self.how.unique.push((key.into(), Window::For(span)));
        self
    }

    /// The same key answers with the same job until that has ended. A job may have one such key, beside those
    /// [for a time](Submit::unique_for).
    pub fn unique_while_unfinished(mut self, key: impl Into<String>) -> Self {
        self.how.unique.push((key.into(), Window::UntilSettled));
        self
    }
}

impl How {
    pub(crate) fn priority(&self) -> Result<Priority, crate::Error> {
        let level = self.priority.unwrap_or(Priority::default().level());
        Priority::new(level).map_err(|bad| crate::Error::Config(bad.to_string()))
    }
}
