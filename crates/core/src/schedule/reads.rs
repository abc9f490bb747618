//! What to read from the store next, and what becomes of the answer.
//!
//! A line is read on from its cursor while it has more, and from the start when something before the cursor
//! may have become ready (a retry, a job that ripened, a lost ticket: their ids are old). Either happens only
//! when its window has run low, so a line that grows all the time is not read again and again. A reading from
//! the start replaces the window: it is bounded because what was started is no longer ready in the store.

use crate::ids::{JobId, LineId};
use crate::limits;

use super::fair::Why;
use super::gates::Closed;
use super::lines::{Changed, Place, Reading, Waiting};
use super::planner::Planner;

/// A line that should be read: its ready jobs after `after`, in submit order, at most `limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The line to read.
    pub line: LineId,
    /// Only jobs with a greater id, or from the start.
    pub after: Option<JobId>,
    /// At most so many.
    pub limit: usize,
    /// Which question this is, so that an answer that comes too late is recognised.
    number: u64,
}

impl Planner {
    /// Which lines to read next, at most so many: those whose window ran low and which may have more, in
    /// turn, those that know no job first. Every want must be answered by [`Planner::filled`] or
    /// [`Planner::unanswered`].
    pub fn wants(&mut self, most: usize) -> Vec<Want> {
        let mut wants = Vec::new();
        let mut trimmed = false;
        while wants.len() < most {
            let Some(at) = self.lines.first_to_read() else { break };
            if let Some(which) = self.gates.paused(&self.lines[at].passage) {
                // Nothing of it can start, so it need not be read.
                self.park(at, which, Closed::Paused);
                continue;
            }
            let share = self.lines.share();
            let line = &self.lines[at];
            let from_start = line.changed > Changed::No;
            // Drained although there was more: it deserves a larger window.
            let grown = if line.more && line.served { line.allowance * 2 } else { line.allowance };
            let allowance = grown.min(limits::WINDOW_PER_LINE);
            let reserved = allowance.min(share).saturating_sub(line.window.len()).max(1);
            if self.lines.held + self.lines.reserved + reserved > limits::WINDOW_TOTAL {
                if trimmed {
                    break;
                }
                self.lines.trim();
                trimmed = true;
                continue;
            }
            wants.push(self.ask(at, from_start, allowance, reserved));
        }
        wants
    }

    fn ask(&mut self, at: u32, from_start: bool, allowance: usize, reserved: usize) -> Want {
        self.wants += 1;
        let number = self.wants;
        self.lines.reserved += reserved;
        let line = &mut self.lines[at];
        line.allowance = allowance;
        line.reading = Some(Reading { number, from_start, reserved });
        // What is known already comes again in a reading from the start.
        let known = if from_start { line.window.len() + line.out as usize } else { 0 };
        let after = if from_start { None } else { line.cursor };
        if from_start {
            line.changed = Changed::No;
        }
        let line = line.id;
        self.lines.appraise(at);
        Want { line, after, limit: reserved + known, number }
    }

    /// The answer to a want: jobs with their versions in submit order, and whether that was all. A job whose
    /// ticket is out is skipped.
    pub fn filled(&mut self, want: &Want, jobs: &[(JobId, u32)], exhausted: bool) {
        let Some((at, reading)) = self.stop_reading(want) else { return };
        let room = self.lines[at].allowance.min(self.lines.share());
        let before = self.lines[at].window.len();
        let line = &mut self.lines[at];
        if reading.from_start {
            line.window.clear();
            line.cursor = None;
        }
        let mut late = std::mem::take(&mut line.late);
        late.sort_unstable_by_key(|settled| settled.job);
        let mut void = Vec::new();
        let mut taken = 0;
        for &(job, version) in jobs {
            if line.window.len() >= room.max(1) {
                break;
            }
            taken += 1;
            line.cursor = Some(job);
            let first = late.partition_point(|settled| settled.job < job);
            let mut settled = late[first..].iter().take_while(|settled| settled.job == job);
            if settled.any(|settled| settled.version >= version) {
                continue;
            }
            match self.outs.get(job) {
                Some(out) if out.version >= version => continue,
                // The job has changed since: that ticket can no longer be claimed.
                Some(out) => void.push((job, out.version)),
                None => {}
            }
            line.window.push_back(Waiting { job, version });
        }
        line.more = taken < jobs.len() || !(exhausted || jobs.is_empty());
        in_order(&mut line.window);
        self.lines.held = self.lines.held - before + self.lines[at].window.len();
        for (job, version) in void {
            self.void(job, version);
        }
        self.settle_place(at);
    }

    /// The want could not be answered: the line is asked for again, from the start.
    pub fn unanswered(&mut self, want: &Want) {
        let Some((at, _)) = self.stop_reading(want) else { return };
        let line = &mut self.lines[at];
        line.late.clear();
        line.changed = line.changed.max(Changed::Later);
        self.lines.appraise(at);
    }

    fn stop_reading(&mut self, want: &Want) -> Option<(u32, Reading)> {
        let at = self.lines.find(want.line)?;
        let reading = self.lines[at].reading.take_if(|reading| reading.number == want.number)?;
        self.lines.reserved -= reading.reserved;
        Some((at, reading))
    }

    /// After a window has changed: a line with a job waits for its turn, a line without does not.
    pub(super) fn settle_place(&mut self, at: u32) {
        let line = &mut self.lines[at];
        match (line.place, line.window.is_empty()) {
            (Place::Idle, false) => {
                line.place = Place::Ring;
                self.rings.join(line.group, at);
            }
            (Place::Ring, true) => {
                line.place = Place::Idle;
                self.rings.leave(line.group, at, Why::NoJob);
                self.had_its_chance(at);
            }
            _ => {}
        }
        self.lines.appraise(at);
    }
}

/// A job that was handed back may lie beyond the cursor, and then comes again.
fn in_order(window: &mut std::collections::VecDeque<Waiting>) {
    let jobs = window.make_contiguous();
    if jobs.is_sorted_by(|a, b| a.job < b.job) {
        return;
    }
    jobs.sort_unstable_by_key(|waiting| (waiting.job, std::cmp::Reverse(waiting.version)));
    let mut last = None;
    window.retain(|waiting| last.replace(waiting.job) != Some(waiting.job));
}

#[cfg(test)]
mod tests {
    use super::super::model::{World, line};
    use super::*;

    fn fill(world: &mut World, want: &Want) -> usize {
        let (jobs, exhausted) = world.answer(want);
        world.planner.filled(want, &jobs, exhausted);
        jobs.len()
    }

    #[test]
    fn a_window_grows_while_its_line_drains() {
        let mut world = World::new();
        world.submit(&line("a"), 10_000);
        assert_eq!(world.planner.windows(), 64);
        let mut limits_seen = Vec::new();
        for _ in 0..6 {
            let now = world.planner.windows();
            let tickets = world.tickets(now);
            tickets.iter().for_each(|ticket| world.start(ticket));
            let wants = world.planner.wants(9);
            limits_seen.extend(wants.iter().map(|want| want.limit));
            wants
                .iter()
                .for_each(|want| assert!(want.after.is_some() && fill(&mut world, want) == want.limit));
        }
        assert_eq!(limits_seen, [128, 256, 512, 1024, 1024, 1024]);
    }

    #[test]
    fn a_line_that_grows_all_the_time_is_not_read_all_the_time() {
        let mut world = World::new();
        world.submit(&line("a"), 100);
        let mut read = 0;
        for _ in 0..1_000 {
            world.submit_unread(&line("a"), 1);
            for want in world.planner.wants(9) {
                read += fill(&mut world, &want);
            }
            let tickets = world.tickets(1);
            world.start(&tickets[0]);
        }
        assert!((900..2_000).contains(&read), "read {read} to start 1,000");
    }

    #[test]
    fn only_what_lies_before_the_cursor_is_read_from_the_start() {
        let mut world = World::new();
        world.submit(&line("a"), 10);
        let (id, key) = (line("a").id(), line("a"));
        assert!(world.planner.announce_from(id, &key, JobId::from_u64(u64::MAX)));
        let wants = world.planner.wants(9);
        assert!(wants.len() == 1 && wants[0].after.is_some(), "{wants:?}");
        assert_eq!(fill(&mut world, &wants[0]), 0);
        assert!(world.planner.announce_from(id, &key, JobId::from_u64(0)));
        let wants = world.planner.wants(9);
        assert!(wants.len() == 1 && wants[0].after.is_none(), "{wants:?}");
        fill(&mut world, &wants[0]);
        assert!(world.planner.goes_on(id), "there are jobs to start");
        world.owners(10);
        assert!(!world.planner.goes_on(id));
    }

    #[test]
    fn what_is_known_to_have_nothing_left_is_not_asked_again() {
        let mut world = World::new();
        world.submit(&line("a"), 10);
        assert!(world.planner.wants(9).is_empty());
        world.owners(10);
        assert!(world.planner.wants(9).is_empty());
        world.planner.announce(line("a").id(), &line("a"));
        let wants = world.planner.wants(9);
        assert_eq!(wants.len(), 1);
        assert!(world.planner.wants(9).is_empty(), "asked already");
        world.planner.announce(line("a").id(), &line("a"));
        fill(&mut world, &wants[0]);
        assert_eq!(world.planner.wants(9).len(), 1, "the answer may be older than the news");
    }

    #[test]
    fn lines_are_read_in_turn_and_those_that_know_nothing_first() {
        let mut world = World::new();
        world.submit(&line("deep"), 1_000);
        let tickets = world.tickets(60);
        tickets.iter().for_each(|ticket| world.start(ticket));
        for owner in ["a", "b", "c"] {
            world.submit_unread(&line(owner), 5);
        }
        let order: Vec<LineId> = (0..4).flat_map(|_| world.planner.wants(1)).map(|want| want.line).collect();
        assert_eq!(order, ["a", "b", "c", "deep"].map(|owner| line(owner).id()));
    }

    #[test]
    fn an_answer_to_an_old_question_is_ignored() {
        let mut world = World::new();
        world.submit_unread(&line("a"), 5);
        let old = world.planner.wants(9).remove(0);
        world.planner.forget_all();
        world.planner.announce(line("a").id(), &line("a"));
        let new = world.planner.wants(9).remove(0);
        fill(&mut world, &old);
        assert_eq!(world.planner.windows(), 0);
        world.planner.unanswered(&new);
        world.feed();
        assert_eq!(world.planner.windows(), 5);
    }

    #[test]
    fn an_answer_from_before_a_claim_gives_no_second_ticket() {
        let mut world = World::new();
        world.submit(&line("a"), 3);
        let ticket = world.tickets(1).remove(0);
        world.planner.announce(line("a").id(), &line("a"));
        let want = world.planner.wants(9).remove(0);
        let (old, exhausted) = world.answer(&want);
        world.start(&ticket);
        world.planner.filled(&want, &old, exhausted);
        assert_eq!((old.len(), world.tickets(9).len()), (3, 2));
    }

    #[test]
    fn a_job_handed_back_from_beyond_the_cursor_is_known_once() {
        let mut world = World::new();
        let key = line("a");
        world.submit_unread(&line("older ids"), 300);
        world.ready.clear();
        let young = world.submit(&key, 64);
        let tickets = world.tickets(128);
        let ready = world.ready.get_mut(&key.id()).unwrap();
        ready.extend((1..=300).map(|old| (JobId::from_u64(old), 1)));
        world.planner.announce(key.id(), &key);
        let want = world.planner.wants(9).remove(0);
        assert!(fill(&mut world, &want) < 300, "cut off before it reaches the young ones");
        for ticket in &tickets {
            world.out.remove(&ticket.job);
            world.planner.returned(ticket.job, ticket.version);
        }
        let mut order = Vec::new();
        while let Some(ticket) = world.tickets(1).pop() {
            world.start(&ticket);
            world.feed();
            world.planner.check();
            order.push(ticket.job);
        }
        assert_eq!(order.len(), 364);
        assert!(young.iter().all(|job| order.contains(job)));
    }

    /// So many lines that each may know 16 jobs.
    fn crowd(world: &mut World) {
        for owner in 0..3_000 {
            let key = line(format!("o{owner}"));
            assert!(world.planner.announce(key.id(), &key));
        }
        assert_eq!(world.planner.lines.share(), 16);
    }

    #[test]
    fn what_does_not_fit_is_read_again() {
        let mut world = World::new();
        let cut = world.submit(&line("cut"), 60);
        let late = world.submit_unread(&line("late"), 60);
        let want = world.planner.wants(9).remove(0);
        crowd(&mut world);
        fill(&mut world, &want);
        world.planner.lines.trim();
        assert_eq!(world.planner.windows(), 32);
        world.feed();
        let mut order = Vec::new();
        while let Some(ticket) = world.tickets(1).pop() {
            world.start(&ticket);
            world.feed();
            order.push(ticket.job);
        }
        let of = |jobs: &[JobId]| order.iter().copied().filter(|job| jobs.contains(job)).collect::<Vec<_>>();
        assert_eq!((of(&cut), of(&late)), (cut, late));
    }

    #[test]
    fn windows_are_bounded_together_and_blocked_lines_do_not_hoard() {
        let mut world = World::new();
        for owner in 0..100 {
            world.submit(&line(format!("o{owner}")), 3_000);
        }
        for _ in 0..30 {
            let tickets = world.tickets(2_000);
            tickets.iter().for_each(|ticket| world.start(ticket));
            world.feed();
            assert!(world.planner.windows() <= limits::WINDOW_TOTAL);
        }
        assert!(world.planner.windows() > limits::WINDOW_TOTAL / 4);
        for owner in 0..2_000 {
            world.submit(&line(format!("late{owner}")), 100);
            assert!(world.planner.windows() <= limits::WINDOW_TOTAL);
        }
        world.planner.check();
        assert!((0..2_000).all(|owner| {
            let at = world.planner.lines.find(line(format!("late{owner}")).id()).unwrap();
            !world.planner.lines[at].window.is_empty()
        }));
    }
}
