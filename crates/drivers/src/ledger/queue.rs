//! Durable queues: messages that outlive a restart of an in-process broker.

use turnwise_core::limits as most;
use turnwise_core::refusal::Refusal;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::{QueueUnit, Receipt};

pub(super) fn queue<B: Backend>(w: &mut Working<B>, unit: &QueueUnit) -> Result<Receipt, Trouble> {
    match unit {
        QueueUnit::Push(queue, body) => {
            Refusal::unless_within("a message, in bytes,", body.len(), most::PAYLOAD_BYTES)?;
            let mut state = w.get::<spaces::Queues>(queue)?.unwrap_or_default();
            Refusal::unless_within("a queue", state.held as usize + 1, most::QUEUE_MESSAGES)?;
            state.next += 1;
            state.held += 1;
            let number = state.next;
            w.put::<spaces::Queues>(queue.clone(), state);
            w.put::<spaces::Messages>((queue.clone(), number), body.clone());
            Ok(Receipt::Queued(number))
        }
        QueueUnit::Remove(queue, number) => {
            let key = (queue.clone(), *number);
            if w.get::<spaces::Messages>(&key)?.is_some() {
                let mut state = w.get::<spaces::Queues>(queue)?.unwrap_or_default();
                state.held = state.held.saturating_sub(1);
                w.put::<spaces::Queues>(queue.clone(), state);
                w.remove::<spaces::Messages>(&key)?;
            }
            Ok(Receipt::Accepted)
        }
    }
}
