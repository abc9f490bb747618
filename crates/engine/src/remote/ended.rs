//! Claims of a remote worker that have ended, as far back as they are remembered.

use std::collections::{BTreeMap, VecDeque};
use std::mem::Discriminant;

use tokio::sync::watch;
use turnwise_core::limits;
use turnwise_core::time::Time;
use turnwise_drivers::store::Verdict;

use super::RecallReason;
use super::desk::Key;
use crate::context::Answer;

/// How a claim ended.
pub(super) enum End {
    /// As the program said: with which word, and where it is heard how that was answered.
    Said(Discriminant<Verdict>, watch::Receiver<Option<Answer>>),
    /// Without the program, at this time: it should stop.
    Recalled(RecallReason, Time),
}

/// The last claims that ended. Older ones make room.
#[derive(Default)]
pub(super) struct Ended {
    known: BTreeMap<Key, End>,
    order: VecDeque<Key>,
}

impl Ended {
    pub(super) fn remember(&mut self, key: Key, end: End) {
        self.known.insert(key, end);
        self.order.push_back(key);
        while self.order.len() > limits::REMOTE_ENDED {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// Where the answer is heard, if this claim ended with this word before.
    pub(super) fn said(&self, key: Key, verdict: &Verdict) -> Option<watch::Receiver<Option<Answer>>> {
        match self.known.get(&key)? {
            End::Said(word, answer) if *word == std::mem::discriminant(verdict) => Some(answer.clone()),
            _ => None,
        }
    }

    /// What ended without the program since a time.
    pub(super) fn recalled(&self, since: Time) -> impl Iterator<Item = (Key, RecallReason)> {
        self.known.iter().filter_map(move |(key, end)| match end {
            End::Recalled(reason, at) if *at >= since => Some((*key, *reason)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use turnwise_core::ids::JobId;

    use super::*;

    #[test]
    fn memory_is_bounded_and_keeps_the_last() {
        let mut ended = Ended::default();
        let key = |number: usize| (JobId::from_u64(number as u64), 1);
        for number in 0..limits::REMOTE_ENDED + 10 {
            ended.remember(key(number), End::Recalled(RecallReason::Lost, Time::ZERO));
        }
        let kept: Vec<Key> = ended.recalled(Time::ZERO).map(|(key, _)| key).collect();
        assert_eq!(kept.len(), limits::REMOTE_ENDED);
        assert_eq!(kept.first(), Some(&key(10)));
    }

    #[test]
    fn the_same_word_is_an_answer_sent_again() {
        let mut ended = Ended::default();
        let key = (JobId::from_u64(1), 2);
        let done = Verdict::Done(None);
        let (_told, answer) = watch::channel(Some(Ok(())));
        ended.remember(key, End::Said(std::mem::discriminant(&done), answer));
        assert!(ended.said(key, &done).is_some());
        assert!(ended.said(key, &Verdict::Released).is_none(), "another word");
        assert!(ended.said((key.0, 1), &done).is_none(), "another claim");
    }
}
