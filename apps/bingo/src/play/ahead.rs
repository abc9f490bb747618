//! Running ahead: a player whose attempts yield nothing changes nothing, so all of them up to the first that yields
//! something are played in one go.
//!
//! It is allowed for activities that one player does alone, with one line and a uniform time. His stream is his own, so the
//! numbers are the same as step by step. If the team wants something else in the meantime, he is called back: his
//! stream is put back to where it was, and his attempts are played again up to the one that is under way now.
//! `running_ahead_changes_nothing` holds both ways against each other over random scenarios.

use super::state::{NEVER, Work, key};
use super::{Game, Watch};
use crate::luck::{Stream, split};
use crate::plan::TimePlan;
use crate::scenario::MILLION;
use crate::tiles::bits;

/// A player's attempts by one plain rule, as a few numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rule: usize,
    activity: usize,
    /// The time: whole seconds from `least`, `many` of them, scaled by millionths.
    least: i64,
    many: u64,
    scale: u64,
    longest: u64,
    /// The odds, and the last number that may yield something.
    odds: usize,
    lucky: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            rule: usize::MAX,
            activity: 0,
            least: 1,
            many: 1,
            scale: MILLION,
            longest: 1,
            odds: 0,
            lucky: 0,
        }
    }
}

impl Pace {
    /// The seconds of an attempt, and what is left of the draw for its roll.
    #[inline(always)]
    fn draw(&self, stream: &mut Stream) -> (u64, u64) {
        let (choice, rest) = split(stream.next(), self.many);
        let seconds = (self.least + choice as i64).max(1) as u64;
        ((seconds * self.scale / MILLION).max(1), rest)
    }
}

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    /// Ends the attempt that a player ran ahead to. If the board stays as it is and he has the time, he goes on; whoever
    /// is free instead is said.
    #[inline]
    pub(super) fn go_on(&mut self, player: usize) -> u64 {
        let seat = &self.state.seats[player];
        let (pace, rest, ends) = (seat.pace, seat.work.rest, seat.ends);
        let outcome = self.plan.works.odds[pace.odds].pick(rest);
        self.hand_out(player, player, &self.plan.works.activities[pace.activity].lines[0].outcomes[outcome]);
        if !self.board_changed && self.now + pace.longest <= ends {
            self.run(player, &pace);
            return 0;
        }
        self.state.busy &= !(1 << player);
        self.state.keys[player] = NEVER;
        1 << player
    }

    pub(super) fn run_ahead(&mut self, player: usize, rule: usize) {
        let pace = self.pace(player, rule);
        self.run(player, &pace);
        self.state.busy |= 1 << player;
    }

    #[inline]
    fn run(&mut self, player: usize, pace: &Pace) {
        let seat = &mut self.state.seats[player];
        // Behind this second no other attempt is begun without a look around.
        let horizon = u64::from(self.plan.duration).min(seat.ends.saturating_sub(pace.longest));
        let mut stream = seat.stream;
        seat.before = (stream, self.now);
        let mut start = self.now;
        let (ends, rest) = loop {
            let (seconds, rest) = pace.draw(&mut stream);
            let ends = start + seconds;
            if rest <= pace.lucky || ends > horizon {
                break (ends, rest);
            }
            start = ends;
        };
        seat.stream = stream;
        seat.work = Work { rule: pace.rule, start, rest, members: 1 << player, ahead: true };
        self.state.keys[player] = key(ends, player);
    }

    /// Whether a player may begin a plain attempt before he has to leave.
    #[inline]
    pub(super) fn fits_plainly(&mut self, player: usize, rule: usize) -> bool {
        let ends = self.state.seats[player].ends;
        ends > u64::from(self.plan.duration) || self.now + self.pace(player, rule).longest <= ends
    }

    /// Whoever would do something else from here ends only what is under way; if he has run past this instant, he comes
    /// back to it.
    pub(super) fn call_back(&mut self) {
        for player in bits(self.state.busy) {
            let work = self.state.seats[player].work;
            let leads = self.state.keys[player] != NEVER;
            if leads && work.ahead && self.wanted_by(player) != Some(work.rule) {
                self.state.seats[player].work.ahead = false;
                if work.start >= self.now {
                    self.replay(player, work);
                }
            }
        }
    }

    /// Plays a player's attempts again, up to the one that is under way now.
    fn replay(&mut self, player: usize, work: Work) {
        let pace = self.pace(player, work.rule);
        let seat = &mut self.state.seats[player];
        let (mut stream, mut start) = seat.before;
        // He may have gone on in this very second, before the change: then nothing is under way.
        let (mut ends, mut rest) = (start, 0);
        while ends < self.now {
            start = ends;
            let (seconds, left) = pace.draw(&mut stream);
            (ends, rest) = (start + seconds, left);
        }
        seat.stream = stream;
        seat.work = Work { start, rest, ahead: false, ..work };
        if ends == self.now {
            // It ended just now, and yielded nothing.
            self.state.busy &= !(1 << player);
            self.state.keys[player] = NEVER;
        } else {
            self.state.keys[player] = key(ends, player);
        }
    }

    #[inline]
    fn pace(&mut self, player: usize, rule: usize) -> Pace {
        let known = self.state.seats[player].pace;
        if known.rule == rule {
            return known;
        }
        let pace = self.new_pace(player, rule);
        self.state.seats[player].pace = pace;
        pace
    }

    #[cold]
    fn new_pace(&self, player: usize, rule: usize) -> Pace {
        let (plan, activity) = self.work(rule);
        let line = &activity.lines[0];
        let (least, many) = match &line.time {
            TimePlan::Uniform { least, many } => (*least, *many),
            // Plain activities have a uniform time.
            TimePlan::Normal { .. } | TimePlan::Custom { .. } => (1, 1),
        };
        let scale = self.scale(1 << player, rule).0;
        let longest = (activity.longest * scale / MILLION).max(1);
        let odds = plan.odds(activity, 0, self.held(player, rule), activity.band(1));
        // To stop at an attempt that yields nothing does no harm, so the last number need not be exact.
        let lucky = self.plan.works.odds[odds].up_to(line.granting.saturating_sub(1)).saturating_sub(1);
        let lucky = if line.granting == line.outcomes.len() { u64::MAX } else { lucky };
        Pace { rule, activity: plan.activity, least, many, scale, longest, odds, lucky }
    }
}
