//! Running ahead: a player whose attempts yield nothing changes nothing, so all of them up to the first that yields
//! something are played in one go.
//!
//! It is allowed for activities that one player does alone, with one line and a uniform time. His stream is his own, so the
//! numbers are the same as step by step. If the team wants something else in the meantime, he is called back: his
//! stream is put back to where it was, and his attempts are played again up to the one that is under way now.
//! `running_ahead_changes_nothing` holds both ways against each other over random scenarios.

use super::state::{NEVER, Work, key};
use super::{Game, Watch};
use crate::tiles::bits;

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    /// Ends the attempt that a player ran ahead to. If the board stays as it is and he has the time, he goes on; whoever
    /// is free instead is said.
    #[inline]
    pub(super) fn go_on(&mut self, player: usize, number: u32) -> u64 {
        let pace = self.team.paces.get(number);
        let seat = &self.state.seats[player];
        let (work, ends) = (seat.work, seat.ends);
        let outcome = self.plan.works.odds[pace.odds].pick(work.rest);
        self.hand_out(player, player, &self.plan.works.activities[pace.activity].lines[0].outcomes[outcome]);
        if !self.board_changed && self.now + pace.longest <= ends {
            self.run(player, work.rule, number);
            return 0;
        }
        self.state.busy &= !(1 << player);
        self.state.keys[player] = NEVER;
        1 << player
    }

    pub(super) fn run_ahead(&mut self, player: usize, rule: usize, number: u32) {
        self.run(player, rule, number);
        self.state.busy |= 1 << player;
    }

    #[inline]
    fn run(&mut self, player: usize, rule: usize, number: u32) {
        let pace = self.team.paces.get(number);
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
        seat.work = Work { rule, start, rest, members: 1 << player, pace: Some(number) };
        self.state.keys[player] = key(ends, player);
    }

    /// Whoever would do something else from here ends only what is under way; if he has run past this instant, he comes
    /// back to it.
    pub(super) fn call_back(&mut self) {
        for player in bits(self.state.busy) {
            let work = self.state.seats[player].work;
            let leads = self.state.keys[player] != NEVER;
            let Some(pace) = work.pace.filter(|_| leads && self.wanted_by(player) != Some(work.rule)) else {
                continue;
            };
            self.state.seats[player].work.pace = None;
            if work.start >= self.now {
                self.replay(player, pace);
            }
        }
    }

    /// Plays a player's attempts again, up to the one that is under way now.
    fn replay(&mut self, player: usize, number: u32) {
        let pace = self.team.paces.get(number);
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
        (seat.work.start, seat.work.rest) = (start, rest);
        if ends == self.now {
            // It ended just now, and yielded nothing.
            self.state.busy &= !(1 << player);
            self.state.keys[player] = NEVER;
        } else {
            self.state.keys[player] = key(ends, player);
        }
    }
}
