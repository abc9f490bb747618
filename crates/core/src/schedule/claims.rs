//! What becomes of a ticket: its claim commits, is refused, or the ticket comes back or is lost.
//!
//! Every notice names the version that the ticket was for; a notice about any other ticket is ignored.

use crate::ids::{JobId, LineId};
use crate::time::Time;

use super::chain::NONE;
use super::gates::{KEY, KIND};
use super::lines::{Changed, Place, Waiting};
use super::outs::Out;
use super::planner::Planner;

impl Planner {
    /// The claim committed: the job runs, and counts for its caps.
    pub fn started(&mut self, job: JobId, version: u32) {
        let Some(out) = self.recall(job, version, false) else { return };
        self.remember_late(&out);
        self.gates.start(&self.lines[out.line].passage);
        self.lines.appraise(out.line);
    }

    /// The claim was refused because the job is no longer there as it was: the ticket is forgotten, and the
    /// line is looked at again in time.
    pub fn gone(&mut self, job: JobId, version: u32) {
        let Some(out) = self.recall(job, version, true) else { return };
        self.remember_late(&out);
        let line = &mut self.lines[out.line];
        line.changed = line.changed.max(Changed::Later);
        self.after_recall(out.line);
    }

    /// A worker handed the ticket back unclaimed: the job is in its line again, in submit order, and its
    /// owner has that turn again.
    pub fn returned(&mut self, job: JobId, version: u32) {
        let Some(out) = self.recall(job, version, true) else { return };
        self.lines.put_back(out.line, Waiting { job, version });
        self.after_recall(out.line);
        let line = &self.lines[out.line];
        if line.place == Place::Ring {
            self.rings.owe(line.group);
        }
    }

    /// The store refused the claim because of a cap or a rate that the planner did not know of: the job is in
    /// its line again, and the line rests until then. The token stays taken, so that the planner's bucket
    /// comes to agree with the store's.
    pub fn blocked(&mut self, job: JobId, version: u32, until: Time) {
        let Some(out) = self.recall(job, version, false) else { return };
        self.lines.put_back(out.line, Waiting { job, version });
        self.rest(out.line, until);
        self.after_recall(out.line);
    }

    /// A running job of this line ended: its caps have room again. False if the line is not in memory; then
    /// [`Planner::set_running`] should tell what runs, if its kind has a cap.
    pub fn ended(&mut self, line: LineId) -> bool {
        let Some(at) = self.lines.find(line) else { return false };
        self.gates.end(&self.lines[at].passage);
        self.reopen_counted(at);
        true
    }

    /// Forgets the tickets that were out for [`crate::limits::TICKET`] and has their lines read again from
    /// the start, because their jobs may still be ready. Says how many there were.
    pub fn expire(&mut self, now: Time) -> usize {
        self.now = now;
        let mut count = 0;
        while let Some(out) = self.outs.pop_old(now) {
            self.uncount(&out, false);
            self.lines[out.line].changed = Changed::Now;
            self.after_recall(out.line);
            count += 1;
        }
        count
    }

    /// A ticket for an older version of a job can no longer be claimed.
    pub(super) fn void(&mut self, job: JobId, version: u32) {
        if let Some(out) = self.recall(job, version, true) {
            self.after_recall(out.line);
        }
    }

    /// The ticket is no longer out.
    fn recall(&mut self, job: JobId, version: u32, with_token: bool) -> Option<Out> {
        let out = self.outs.remove(job, version)?;
        self.uncount(&out, with_token);
        Some(out)
    }

    /// This version is no longer ready, but an answer that was read before may still say so.
    fn remember_late(&mut self, out: &Out) {
        let line = &mut self.lines[out.line];
        if line.reading.is_some() {
            line.late.push(Waiting { job: out.job, version: out.version });
        }
    }

    fn uncount(&mut self, out: &Out, with_token: bool) {
        let line = &mut self.lines[out.line];
        line.out -= 1;
        self.gates.come_back(&line.passage, with_token);
        self.rings.pool_mut(out.pool).out -= 1;
    }

    /// A ticket that came back made room, and its line may have to be read.
    fn after_recall(&mut self, at: u32) {
        self.settle_place(at);
        self.reopen_counted(at);
    }

    fn reopen_counted(&mut self, at: u32) {
        let passage = self.lines[at].passage;
        for gate in [passage[KIND], passage[KEY]] {
            if gate != NONE {
                self.reopen(gate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::model::{World, line, name, urgent};
    use crate::limits;

    #[test]
    fn what_is_handed_back_comes_again_once_and_first() {
        let mut world = World::new();
        let jobs = world.submit(&line("a"), 5);
        let tickets = world.tickets(3);
        world.out.clear();
        // In any order; twice does no harm; a notice about another version is ignored.
        for at in [1, 0, 2, 1] {
            world.planner.returned(tickets[at].job, tickets[at].version + 1);
            world.planner.returned(tickets[at].job, tickets[at].version);
        }
        let again: Vec<_> = world.tickets(9).iter().map(|ticket| ticket.job).collect();
        assert_eq!(again, jobs);
        world.planner.check();
    }

    #[test]
    fn a_turn_is_given_again_when_its_ticket_is_handed_back() {
        let mut world = World::new();
        for owner in ["a", "b", "c"] {
            world.submit(&line(owner), 10);
        }
        world.submit(&line("single"), 1);
        let first = world.tickets(4);
        let single = &first[3];
        for ticket in [&first[1], single] {
            world.out.remove(&ticket.job);
            world.planner.returned(ticket.job, ticket.version);
        }
        let again = world.tickets(3);
        let owners: Vec<&str> = again.iter().map(|ticket| &*world.keys[&ticket.line].owner).collect();
        assert_eq!(owners, ["b", "single", "a"]);
        assert_eq!((again[0].job, again[1].job), (first[1].job, single.job));
    }

    #[test]
    fn a_line_that_the_store_refused_rests() {
        let mut world = World::new();
        let jobs = world.submit(&line("a"), 2);
        world.submit(&line("b"), 1);
        let ticket = world.tickets(1).remove(0);
        world.out.clear();
        let until = world.now + Duration::from_millis(500);
        world.planner.blocked(ticket.job, ticket.version, until);
        assert_eq!(world.tickets(9).len(), 1, "only the other owner");
        assert_eq!(world.planner.plan(world.now, 9).wake_at, Some(until));
        world.pass(500);
        let again: Vec<_> = world.tickets(9).iter().map(|ticket| ticket.job).collect();
        assert_eq!(again, jobs);
    }

    #[test]
    fn a_lost_ticket_is_planned_again_once() {
        let mut world = World::new();
        let jobs = world.submit(&line("a"), 600);
        let lost = world.tickets(1).remove(0);
        assert_eq!(world.planner.plan(world.now, 0).wake_at, Some(world.now + limits::TICKET));
        world.pass(1_999);
        assert_eq!(world.planner.expire(world.now), 0);
        world.pass(1);
        assert_eq!(world.planner.expire(world.now), 1);
        world.out.clear();
        world.feed();
        let mut order = Vec::new();
        while let [ticket] = world.tickets(1).as_slice() {
            order.push(ticket.job);
            world.start(ticket);
            world.feed();
        }
        assert_eq!(lost.job, jobs[0]);
        assert_eq!(order, jobs, "each once, and the lost one first");
    }

    #[test]
    fn a_clock_that_steps_back_gives_tickets_up() {
        let mut world = World::new();
        world.submit(&line("a"), 1);
        world.tickets(1);
        let back = world.now - Duration::from_secs(3_600);
        assert_eq!(world.planner.expire(back), 1);
    }

    #[test]
    fn a_job_that_changed_meanwhile_comes_in_its_new_version() {
        let mut world = World::new();
        let key = line("a");
        let job = world.submit(&key, 1)[0];
        let old = world.tickets(1).remove(0);
        world.out.clear();
        world.ready.get_mut(&key.id()).unwrap().insert(job, 5);
        world.planner.announce(key.id(), &key);
        world.feed();
        let new = world.tickets(9);
        assert_eq!(new.iter().map(|ticket| (ticket.job, ticket.version)).collect::<Vec<_>>(), [(job, 5)]);
        world.planner.gone(old.job, old.version);
        assert_eq!(world.planner.outstanding(), 1, "the news of the old ticket does not touch the new one");
    }

    #[test]
    fn a_job_that_changed_its_line_has_one_ticket_at_a_time() {
        let mut world = World::new();
        let (from, to) = (line("a"), urgent("a", 9));
        let job = world.submit(&from, 1)[0];
        world.ready.get_mut(&from.id()).unwrap().clear();
        world.submit_unread(&to, 0);
        world.ready.get_mut(&to.id()).unwrap().insert(job, 2);
        world.feed();
        world.planner.set_free(&name("main"), 9);
        let tickets = world.planner.plan(world.now, 9).tickets;
        assert_eq!(tickets.iter().map(|ticket| ticket.version).collect::<Vec<_>>(), [2]);
        // The other way round: the old line's ticket is out first, and gives way.
        world.planner.gone(job, 2);
        world.ready.get_mut(&from.id()).unwrap().insert(job, 3);
        world.planner.announce(from.id(), &from);
        world.ready.get_mut(&to.id()).unwrap().clear();
        world.feed();
        let low = world.planner.plan(world.now, 1).tickets;
        world.ready.get_mut(&to.id()).unwrap().insert(job, 4);
        world.planner.announce(to.id(), &to);
        world.feed();
        let high = world.planner.plan(world.now, 9).tickets;
        assert_eq!((low[0].version, high[0].version, high.len()), (3, 4, 1));
        assert_eq!(world.planner.outstanding(), 1);
        world.planner.check();
    }

    #[test]
    fn a_refused_claim_has_the_line_looked_at_again() {
        let mut world = World::new();
        let key = line("a");
        let job = world.submit(&key, 1)[0];
        let ticket = world.tickets(1).remove(0);
        world.out.clear();
        world.ready.get_mut(&key.id()).unwrap().insert(job, 5);
        world.planner.gone(ticket.job, ticket.version);
        world.feed();
        assert_eq!(world.tickets(9)[0].version, 5);
    }

    #[test]
    fn an_unknown_line_is_told_apart() {
        let mut world = World::new();
        world.submit(&line("a"), 1);
        assert!(world.planner.ended(line("a").id()));
        assert!(!world.planner.ended(line("b").id()));
    }
}
