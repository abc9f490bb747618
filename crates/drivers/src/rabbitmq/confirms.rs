//! Which message was taken, refused or returned.
//!
//! RabbitMQ returns what no queue is bound for, and confirms it right after. The client library hands a returned
//! message to whichever confirmation it works on next, and with many messages under way that may be another one. So every
//! message carries its number, and what became of it is told when no other confirmation can bring its return any more.
//!
//! Why that is known: returns wait in one line, and each confirmation takes the first of them. A confirmation that
//! came with nothing found the line empty, so its own return, if there was one, is with a confirmation that was
//! completed before. One that came with a foreign return may have its own further back in the line; but at most as many
//! wait there as messages with returns are not confirmed yet, so the line up to there is empty when all messages
//! that were under way are confirmed.

use std::collections::{BTreeMap, BTreeSet};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// In every queue that it was routed to.
    Taken,
    /// A queue did not take it.
    Refused,
    /// No queue is bound for it.
    Returned,
}

/// A confirmation as it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmed {
    /// The message that it is for.
    pub(super) number: u64,
    /// Whether the server took the message.
    pub(super) taken: bool,
    /// The number of the returned message that came with it.
    pub(super) with: Option<u64>,
}

/// Messages under way. `W` waits for the fate of one of them.
pub(super) struct Confirms<W> {
    next: u64,
    open: BTreeMap<u64, W>,
    returned: BTreeSet<u64>,
    undecided: Vec<Undecided<W>>,
}

struct Undecided<W> {
    confirmed: Confirmed,
    waiting: W,
    /// Decided when every message before this number is confirmed.
    after: u64,
}

impl<W> Confirms<W> {
    pub(super) fn new() -> Self {
        Confirms { next: 1, open: BTreeMap::new(), returned: BTreeSet::new(), undecided: Vec::new() }
    }

    /// Messages whose fate is not known.
    pub(super) fn len(&self) -> usize {
        self.open.len() + self.undecided.len()
    }

    /// A number for the next message.
    pub(super) fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// A message was sent.
    pub(super) fn sent(&mut self, number: u64, waiting: W) {
        self.open.insert(number, waiting);
    }

    /// All confirmations that have come by now. Returns those whose fate is certain.
    pub(super) fn settle(&mut self, batch: &[Confirmed]) -> Vec<(W, Fate)> {
        for confirmed in batch {
            self.returned.extend(confirmed.with);
            let Some(waiting) = self.open.remove(&confirmed.number) else { continue };
            let is_certain = confirmed.with.is_none_or(|number| number == confirmed.number);
            let after = if is_certain { 0 } else { self.next };
            self.undecided.push(Undecided { confirmed: *confirmed, waiting, after });
        }
        let first = self.open.first_key_value().map_or(u64::MAX, |(number, _)| *number);
        let (mut decided, mut undecided) = (Vec::new(), Vec::new());
        for message in self.undecided.drain(..) {
            let Confirmed { number, taken, .. } = message.confirmed;
            if self.returned.remove(&number) {
                decided.push((message.waiting, Fate::Returned));
            } else if message.after <= first {
                decided.push((message.waiting, if taken { Fate::Taken } else { Fate::Refused }));
            } else {
                undecided.push(message);
            }
        }
        self.undecided = undecided;
        decided
    }

    /// Everybody who still waits.
    pub(super) fn abandon(self) -> impl Iterator<Item = W> {
        self.open.into_values().chain(self.undecided.into_iter().map(|message| message.waiting))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn ack(number: u64, with: Option<u64>) -> Confirmed {
        Confirmed { number, taken: true, with }
    }

    /// So many messages under way; each waits by its own number.
    fn under_way(count: u64) -> Confirms<u64> {
        let mut confirms = Confirms::new();
        for _ in 0..count {
            let number = confirms.number();
            confirms.sent(number, number);
        }
        confirms
    }

    #[test]
    fn each_is_told_its_own_fate() {
        let mut confirms = under_way(3);
        let refused = Confirmed { number: 2, taken: false, with: None };
        let fates = confirms.settle(&[ack(1, None), refused, ack(3, Some(3))]);
        assert_eq!(fates, [(1, Fate::Taken), (2, Fate::Refused), (3, Fate::Returned)]);
        assert_eq!(confirms.len(), 0);
    }

    #[test]
    fn a_return_that_came_with_another_confirmation_is_not_lost() {
        let mut confirms = under_way(2);
        let mut fates = confirms.settle(&[ack(2, None), ack(1, Some(2))]);
        fates.sort_by_key(|(number, _)| *number);
        assert_eq!(fates, [(1, Fate::Taken), (2, Fate::Returned)]);
    }

    #[test]
    fn one_with_a_foreign_return_waits_for_those_before_it() {
        let mut confirms = under_way(3);
        assert_eq!(confirms.settle(&[ack(3, Some(1))]), []);
        assert_eq!(confirms.settle(&[ack(1, Some(3))]), [(3, Fate::Returned), (1, Fate::Returned)]);
        assert_eq!(confirms.settle(&[ack(2, None)]), [(2, Fate::Taken)]);
    }

    #[test]
    fn nobody_is_forgotten() {
        let mut confirms = under_way(3);
        confirms.settle(&[ack(3, Some(1))]);
        assert_eq!(confirms.len(), 3);
        assert_eq!(confirms.abandon().collect::<BTreeSet<_>>(), BTreeSet::from([1, 2, 3]));
    }

    /// Every order in which a server may return and confirm four messages, two of them unroutable.
    #[test]
    fn whatever_the_order_each_is_told_its_own_fate() {
        for order in 0..24_u32 {
            for early in 0..5_usize {
                let mut left = vec![1, 2, 3, 4];
                let mut choice = order;
                let acks: Vec<u64> = (1..=4)
                    .rev()
                    .map(|count| {
                        let at = (choice % count) as usize;
                        choice /= count;
                        left.remove(at)
                    })
                    .collect();
                let mut confirms = under_way(4);
                // Returns come in the order of the messages, each before its own confirmation at the latest.
                let (mut line, mut to_return) = (VecDeque::new(), VecDeque::from([2_u64, 4]));
                let mut fates = BTreeMap::new();
                for (at, number) in acks.into_iter().enumerate() {
                    while to_return.front().is_some_and(|first| at >= early || number == *first)
                        || (number == 4 && !to_return.is_empty())
                    {
                        line.extend(to_return.pop_front());
                    }
                    fates.extend(confirms.settle(&[ack(number, line.pop_front())]));
                }
                let expected = [Fate::Taken, Fate::Returned, Fate::Taken, Fate::Returned];
                assert!(fates.values().eq(expected.iter()), "{order} {early}: {fates:?}");
            }
        }
    }
}
