//! Running ahead: a player whose attempts yield nothing changes nothing, so all of them up to the first that yields
//! something are played in one go.
//!
//! It is allowed for activities that one player does alone, with one line and a uniform time. His stream is his own, so the
//! numbers are the same as step by step. If the team wants something else in the meantime, he is called back: his
//! stream is put back to where it was, and his attempts are played again up to the one that is under way now.
//! `running_ahead_changes_nothing` holds both ways against each other over random scenarios.

use super::place::scaled;
use super::state::{NEVER, Work, key};
use super::{Game, Watch};
use crate::luck::{Stream, split};
use crate::plan::{RulePlan, TimePlan};
use crate::scenario::Decimal;
use crate::tiles::bits;

/// A plain attempt as a few numbers.
#[derive(Clone, Copy)]
struct Pace {
    least: i64,
    many: u64,
    scale: Decimal,
}

impl Pace {
    /// The seconds of an attempt, and what is left of the draw for its roll.
    #[inline]
    fn draw(&self, stream: &mut Stream) -> (u64, u64) {
        let (choice, rest) = split(stream.next(), self.many);
        (scaled((self.least + choice as i64).max(1) as u64, self.scale), rest)
    }
}

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    #[inline]
    pub(super) fn run_ahead(&mut self, player: usize, rule: usize, plan: &RulePlan) {
        let activity = &self.plan.works.activities[plan.activity];
        let pace = self.pace(player, rule);
        let held = self.held(player, rule);
        let odds = &self.plan.works.odds[plan.odds(activity, 0, held, activity.band(1))];
        let line = &activity.lines[0];
        // Numbers up to this one yield something.
        let lucky = if line.granting == line.outcomes.len() {
            Some(u64::MAX)
        } else {
            line.granting.checked_sub(1).and_then(|last| odds.up_to(last).checked_sub(1))
        };
        let seat = &mut self.state.seats[player];
        // Behind this second no other attempt is begun without a look around.
        let horizon = u64::from(self.plan.duration).min(seat.ends - scaled(activity.longest, pace.scale));
        let mut stream = seat.stream;
        seat.before = (stream, self.now);
        let mut start = self.now;
        let (ends, rest) = loop {
            let (seconds, rest) = pace.draw(&mut stream);
            let ends = start + seconds;
            if lucky.is_some_and(|lucky| rest <= lucky) || ends > horizon {
                break (ends, rest);
            }
            start = ends;
        };
        seat.stream = stream;
        seat.work = Work { rule, start, rest, members: 1 << player };
        self.state.keys[player] = key(ends, player);
        self.state.busy |= 1 << player;
    }

    /// Whoever has run past this instant, and would do something else from here, comes back.
    pub(super) fn call_back(&mut self) {
        for player in bits(self.state.busy) {
            let work = self.state.seats[player].work;
            let leads = self.state.keys[player] != NEVER;
            if !leads || work.start < self.now || self.wanted_by(player) == Some(work.rule) {
                continue;
            }
            let pace = self.pace(player, work.rule);
            let seat = &mut self.state.seats[player];
            let (mut stream, mut start) = seat.before;
            let (ends, rest) = loop {
                let (seconds, rest) = pace.draw(&mut stream);
                if start + seconds >= self.now {
                    break (start + seconds, rest);
                }
                start += seconds;
            };
            seat.stream = stream;
            seat.work = Work { start, rest, ..work };
            if ends == self.now {
                // It ended just now, with nothing.
                self.state.busy &= !(1 << player);
                self.state.keys[player] = NEVER;
            } else {
                self.state.keys[player] = key(ends, player);
            }
        }
    }

    fn pace(&self, player: usize, rule: usize) -> Pace {
        let scale = self.scale(1 << player, rule);
        match &self.work(rule).1.lines[0].time {
            TimePlan::Uniform { least, many } => Pace { least: *least, many: *many, scale },
            // Plain activities have a uniform time.
            TimePlan::Normal { .. } | TimePlan::Custom { .. } => Pace { least: 1, many: 1, scale },
        }
    }
}
