//! What is kept in Redis, and the scripts that change it. Each script looks and writes in one step.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::Script;
use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::time::Time;

/// A script of Redis.
pub(super) type Words = LazyLock<Script>;

/// Enters the caller, if the lease is free or the caller's own from an earlier life. Otherwise says who has it.
/// Arguments: holder, entry, milliseconds.
pub(super) static ACQUIRE: Words = LazyLock::new(|| {
    Script::new(
        r"local entry = redis.call('GET', KEYS[1])
        if entry and string.match(entry, '^([^\n]*)\n') ~= ARGV[1] then return entry end
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
        return false",
    )
});

/// Replaces an entry, if it is the one that is meant. Arguments: old entry, new entry, milliseconds.
pub(super) static REPLACE: Words = LazyLock::new(|| {
    Script::new(
        r"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
        return 1",
    )
});

/// Removes an entry, if it is the one that is meant. Argument: entry.
pub(super) static WITHDRAW: Words = LazyLock::new(|| {
    Script::new(
        r"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])",
    )
});

/// Removes the entry of a term. Argument: term.
pub(super) static RELEASE: Words = LazyLock::new(|| {
    Script::new(
        r"local entry = redis.call('GET', KEYS[1])
        if not entry or string.match(entry, '^[^\n]*\n([^\n]*)\n') ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])",
    )
});

/// Who has a lease: three lines, because a name has no line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) holder: Name,
    /// The term, or a mark that nobody else has while the store is asked for one.
    mark: String,
    /// As the store has granted it. Only told to others; Redis counts for itself.
    pub(super) until: Time,
}

impl Entry {
    /// Somebody who has no term yet.
    pub(super) fn asking(holder: &Name, span: Duration) -> Self {
        // Unique enough: it tells two lives of one holder apart for the time of one question.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mark = format!("?{}-{}", std::process::id(), now.as_nanos());
        let until = Time::from_micros(i64::try_from((now + span).as_micros()).unwrap_or(i64::MAX));
        Entry { holder: holder.clone(), mark, until }
    }

    /// The holder of a lease.
    pub(super) fn of(lease: &Lease) -> Self {
        Entry { holder: lease.holder.clone(), mark: lease.term.to_string(), until: lease.until }
    }

    /// Whether it is the entry of this term.
    pub(super) fn is_of(&self, term: u64) -> bool {
        self.mark == term.to_string()
    }

    pub(super) fn text(&self) -> String {
        format!("{}\n{}\n{}", self.holder, self.mark, self.until.as_micros())
    }

    /// Nothing if somebody else has written it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let holder = Name::new(lines.next()?).ok()?;
        let mark = lines.next()?.to_owned();
        let until = Time::from_micros(lines.next()?.parse().ok()?);
        Some(Entry { holder, mark, until })
    }
}

#[cfg(test)]
mod tests {
    use turnwise_core::time::secs;

    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let holder = Name::new("node 1: über").unwrap();
        let lease =
            Lease { name: holder.clone(), holder: holder.clone(), term: 7, until: Time::from_micros(9) };
        let entry = Entry::of(&lease);
        assert_eq!(Entry::read(&entry.text()), Some(entry.clone()));
        assert!(entry.is_of(7) && !entry.is_of(8));
        let asking = Entry::asking(&holder, secs(1));
        assert_eq!(Entry::read(&asking.text()), Some(asking.clone()));
        assert!(!asking.is_of(0));
        assert_eq!(Entry::read("something else"), None);
    }
}
