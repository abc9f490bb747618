//! The log that the handlers write outside the engine: one line for each thing that happened, appended in one write,
//! so that it outlives a SIGKILL of the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A submission was answered.
    Accepted,
    /// A handler began.
    Started,
    /// A step was finished; the detail is what it gave.
    Stepped,
    /// A handler came to its end.
    Ended,
    /// A handler was stopped before its end.
    Aborted,
    /// Writes of this life that were refused as stale, so far; the number says how many.
    Refused,
    /// After everything: the state that the engine names.
    Final,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which life of the process wrote it.
    pub life: u32,
    /// What happened.
    pub what: What,
    /// To a job of this kind.
    pub kind: String,
    /// The lane, batch or parent that it belongs to.
    pub group: u64,
    /// Its number in that.
    pub number: u64,
    /// The job's id (the batch's for an accepted batch).
    pub id: String,
    /// The claim's fence; for `Final` the state.
    pub detail: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Accepted => "accepted",
            What::Started => "started",
            What::Stepped => "stepped",
            What::Ended => "ended",
            What::Aborted => "aborted",
            What::Refused => "refused",
            What::Final => "final",
        };
        write!(
            f,
            "{} {what} {} {} {} {} {}",
            self.life, self.kind, self.group, self.number, self.id, self.detail
        )
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [life, what, kind, group, number, id, detail] = fields[..] else {
            return Err(format!("not an entry: {line}"));
        };
        let what = match what {
            "accepted" => What::Accepted,
            "started" => What::Started,
            "stepped" => What::Stepped,
            "ended" => What::Ended,
            "aborted" => What::Aborted,
            "refused" => What::Refused,
            "final" => What::Final,
            other => return Err(format!("not a happening: {other}")),
        };
        let parse = |text: &str| text.parse::<u64>().map_err(|error| format!("{line}: {error}"));
        Ok(Entry {
            life: parse(life)? as u32,
            what,
            kind: kind.into(),
            group: parse(group)?,
            number: parse(number)?,
            id: id.into(),
            detail: detail.into(),
        })
    }
}

/// An entry as it is appended to the log, in one write. A kill in the middle of the write leaves a part of it behind: it
/// begins with a line of its own, so that it joins no such part, and ends with a mark, so that a part is known for one.
pub fn line(entry: &Entry) -> String {
    format!("\n{entry} .\n")
}

/// The entries of a log. Parts that a kill left behind are no entries.
pub fn read(log: &str) -> Result<Vec<Entry>, String> {
    log.lines().filter_map(|line| line.strip_suffix(" .")).map(str::parse).collect()
}

/// Everything that the log shows to be wrong, in words. `stopped` are the lives that were stopped in their tracks for
/// longer than their sessions, and woke up: nobody can keep what they had claimed from going on for a moment, but
/// nothing of it may count.
pub fn faults(entries: &[Entry], stopped: &BTreeSet<u32>) -> Vec<String> {
    let mut faults = Vec::new();
    nothing_lost(entries, &mut faults);
    let stale = stale(entries);
    let late: Vec<&Entry> = stale.iter().map(|&place| &entries[place]).collect();
    for entry in late.iter().filter(|entry| !stopped.contains(&entry.life)) {
        faults.push(format!("promise 2: an older claim went on beside a newer one: {entry}"));
    }
    stale_writes_are_refused(entries, &late, &mut faults);
    let valid =
        entries.iter().enumerate().filter(|(place, _)| !stale.contains(place)).map(|(_, entry)| entry);
    let valid: Vec<Entry> = valid.cloned().collect();
    one_claim_at_a_time(&valid, &mut faults);
    lanes_in_order(&valid, &mut faults);
    steps_are_done_once(&valid, &mut faults);
    batches_settle_once(&valid, &mut faults);
    children_never_double(&valid, &mut faults);
    unique_jobs_are_one(&valid, &mut faults);
    faults
}

fn of<'a>(entries: &'a [Entry], what: What, kind: &'a str) -> impl Iterator<Item = &'a Entry> {
    entries.iter().filter(move |entry| entry.what == what && entry.kind == kind)
}

/// The fence of an entry that has one.
fn fence(entry: &Entry) -> Option<u32> {
    matches!(entry.what, What::Started | What::Ended | What::Aborted)
        .then(|| entry.detail.parse().unwrap_or(0))
}

/// The places of entries that were written under a fence when a newer one was known already.
fn stale(entries: &[Entry]) -> BTreeSet<usize> {
    let mut newest: BTreeMap<&str, u32> = BTreeMap::new();
    let mut stale = BTreeSet::new();
    for (place, entry) in entries.iter().enumerate() {
        let Some(fence) = fence(entry) else { continue };
        let known = newest.entry(&entry.id).or_default();
        if fence < *known {
            stale.insert(place);
        }
        *known = (*known).max(fence);
    }
    stale
}

/// Promise 2: what a life that woke up late tried to complete was refused, and counted.
fn stale_writes_are_refused(entries: &[Entry], late: &[&Entry], faults: &mut Vec<String>) {
    let mut tried: BTreeMap<u32, u64> = BTreeMap::new();
    late.iter()
        .filter(|entry| entry.what == What::Ended)
        .for_each(|entry| *tried.entry(entry.life).or_default() += 1);
    for (life, tried) in tried {
        let counts = entries.iter().filter(|entry| entry.what == What::Refused && entry.life == life);
        let counted = counts.map(|entry| entry.number).max().unwrap_or(0);
        if counted < tried {
            faults.push(format!(
                "promise 2: life {life} completed {tried} lost claims, {counted} refusals were counted"
            ));
        }
    }
}

/// Promise 1: what was accepted has ended, and its handler did come to its end.
fn nothing_lost(entries: &[Entry], faults: &mut Vec<String>) {
    let ended: BTreeSet<&str> =
        entries.iter().filter(|e| e.what == What::Ended).map(|entry| entry.id.as_str()).collect();
    let last: BTreeMap<&str, &str> = entries
        .iter()
        .filter(|entry| entry.what == What::Final)
        .map(|entry| (entry.id.as_str(), entry.detail.as_str()))
        .collect();
    for entry in entries.iter().filter(|entry| entry.what == What::Accepted && entry.kind != "batch") {
        match last.get(entry.id.as_str()) {
            Some(&"done") if ended.contains(entry.id.as_str()) => {}
            state => faults.push(format!("promise 1: accepted but {state:?}: {entry}")),
        }
    }
}

/// Promise 2: within a life of the process a job runs once at a time, and fences only grow.
fn one_claim_at_a_time(entries: &[Entry], faults: &mut Vec<String>) {
    let mut fences: BTreeMap<&str, u32> = BTreeMap::new();
    let mut running: BTreeMap<&str, u32> = BTreeMap::new();
    for entry in entries {
        match entry.what {
            What::Started => {
                let fence = fence(entry).unwrap_or(0);
                if fences.insert(&entry.id, fence).is_some_and(|before| before >= fence) {
                    faults.push(format!("promise 2: the fence did not grow: {entry}"));
                }
                if running.insert(&entry.id, entry.life) == Some(entry.life) {
                    faults.push(format!("promise 2: two runs at once: {entry}"));
                }
            }
            What::Ended | What::Aborted => drop(running.remove(entry.id.as_str())),
            _ => {}
        }
    }
}

/// Promise 4: in a lane, nothing starts before what came before it has ended.
fn lanes_in_order(entries: &[Entry], faults: &mut Vec<String>) {
    let mut heads: BTreeMap<u64, (u64, u32, bool)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.kind == "lane") {
        let head = heads.entry(entry.group).or_insert((0, 0, true));
        match entry.what {
            What::Started => {
                let overtakes = entry.number < head.0;
                let unfinished = entry.number > head.0 && !head.2;
                if overtakes || unfinished {
                    faults.push(format!("promise 4: after {head:?}: {entry}"));
                }
                *head = (entry.number, entry.life, false);
            }
            What::Ended if entry.number == head.0 => head.2 = true,
            _ => {}
        }
    }
}

/// A finished step keeps what it gave, however often its job is tried again.
fn steps_are_done_once(entries: &[Entry], faults: &mut Vec<String>) {
    let mut given: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.what == What::Stepped) {
        let before = *given.entry((&entry.id, entry.number)).or_insert(&entry.detail);
        if before != entry.detail {
            faults.push(format!("a step was done twice, it gave {before} before: {entry}"));
        }
    }
}

/// Promise 8: whoever submits the same key is answered with the same job.
fn unique_jobs_are_one(entries: &[Entry], faults: &mut Vec<String>) {
    let mut jobs: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    let seen =
        entries.iter().filter(|e| e.kind == "once" && matches!(e.what, What::Accepted | What::Started));
    for entry in seen {
        jobs.entry(entry.group).or_default().insert(&entry.id);
    }
    for (key, jobs) in jobs.iter().filter(|(_, jobs)| jobs.len() > 1) {
        faults.push(format!("promise 8: key {key} stands for {jobs:?}"));
    }
}

/// Promise 5: the continuation of a batch is one job, and starts after every member has ended.
fn batches_settle_once(entries: &[Entry], faults: &mut Vec<String>) {
    let mut ended: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut followers: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    let sizes: BTreeMap<u64, usize> =
        of(entries, What::Accepted, "batch").map(|entry| (entry.group, entry.number as usize)).collect();
    for entry in entries {
        match (entry.what, entry.kind.as_str()) {
            (What::Ended, "member") => drop(ended.entry(entry.group).or_default().insert(entry.number)),
            (What::Started, "then") => {
                followers.entry(entry.group).or_default().insert(&entry.id);
                let done = ended.get(&entry.group).map_or(0, BTreeSet::len);
                if sizes.get(&entry.group).is_some_and(|size| done < *size) {
                    faults.push(format!("promise 5: only {done} members had ended: {entry}"));
                }
            }
            _ => {}
        }
    }
    for (batch, size) in &sizes {
        let count = followers.get(batch).map_or(0, BTreeSet::len);
        if count != 1 {
            faults.push(format!("promise 5: batch {batch} of {size} was followed {count} times"));
        }
    }
}

/// Promise 2: what a handler submits is there once, however often the handler ran.
fn children_never_double(entries: &[Entry], faults: &mut Vec<String>) {
    let mut children: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for entry in of(entries, What::Started, "child") {
        children.entry(entry.group).or_default().insert(&entry.id);
    }
    for entry in of(entries, What::Accepted, "parent") {
        let count = children.get(&entry.number).map_or(0, BTreeSet::len);
        if count != 1 {
            faults.push(format!("promise 2: {count} children: {entry}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str) -> Vec<String> {
        let entries: Vec<Entry> = lines.lines().map(|line| line.trim().parse().unwrap()).collect();
        faults(&entries, &BTreeSet::new())
    }

    #[test]
    fn a_good_history_has_no_faults() {
        let good = "1 accepted lane 1 1 A -
                    1 started lane 1 1 A 1
                    2 started lane 1 1 A 2
                    2 ended lane 1 1 A 2
                    2 final lane 1 1 A done";
        assert_eq!(check(good), [] as [&str; 0]);
    }

    #[test]
    fn what_a_kill_leaves_behind_is_no_entry() {
        let entry: Entry = "1 ended plain 0 1 A 12".parse().unwrap();
        let whole = line(&entry);
        for end in 0..whole.len() - 1 {
            assert_eq!(read(&format!("{whole}{}{whole}", &whole[..end])).unwrap().len(), 2, "{end}");
        }
    }

    #[test]
    fn whoever_was_stopped_may_go_on_for_a_moment() {
        let lines = "1 accepted lane 1 1 A -\n1 started lane 1 1 A 1\n2 started lane 1 1 A 2\n2 ended lane 1 1 A 2\n\
                     2 started lane 1 2 B 1\n1 ended lane 1 1 A 1\n1 refused - 0 1 - -\n2 final lane 1 1 A done";
        let entries: Vec<Entry> = lines.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(faults(&entries, &BTreeSet::from([1])), [] as [&str; 0]);
        assert_eq!(faults(&entries, &BTreeSet::new()).len(), 1);
    }

    #[test]
    fn every_check_can_fail() {
        let bad = [
            ("promise 1", "1 accepted plain 0 1 A -\n1 final plain 0 1 A ready"),
            ("promise 1", "1 accepted plain 0 1 A -"),
            ("promise 2", "1 started plain 0 1 A 1\n1 started plain 0 1 A 2"),
            ("promise 2", "1 started plain 0 1 A 2\n1 ended plain 0 1 A 2\n2 started plain 0 1 A 2"),
            ("promise 2: an older claim", "1 started plain 0 1 A 2\n2 started plain 0 1 A 1"),
            (
                "promise 2: life 1 completed",
                "2 started plain 0 1 A 2\n1 ended plain 0 1 A 1\n1 refused plain 0 0 - -",
            ),
            ("promise 8", "1 accepted once 7 1 A -\n1 accepted once 7 2 B -"),
            ("a step was done twice", "1 stepped steps 0 1 A x\n2 stepped steps 0 1 A y"),
            ("promise 4", "1 started lane 1 1 A 1\n1 started lane 1 2 B 1"),
            ("promise 4", "1 started lane 1 2 B 1\n1 ended lane 1 2 B 1\n1 started lane 1 1 A 1"),
            ("promise 5", "1 accepted batch 7 2 X -\n1 ended member 7 0 A 1\n1 started then 7 0 B 1"),
            ("promise 5", "1 accepted batch 7 2 X -"),
            (
                "promise 2: 2 children",
                "1 accepted parent 0 4 P -\n1 started child 4 0 A 1\n1 started child 4 0 B 1\n1 ended parent 0 4 P 1\n\
                 1 final parent 0 4 P done",
            ),
        ];
        for (promise, lines) in bad {
            let faults = check(lines);
            assert!(faults.iter().any(|fault| fault.starts_with(promise)), "{promise}: {faults:?}");
        }
    }
}
