//! Long strides: while a tile still needs many drops, it does not matter in which order they come.
//!
//! Between two changes of the board, drops only count down what a tile is missing. So everybody who runs ahead can be
//! played up to a common second, one player after another, with drops counted instead of handed in one by one, as long as all
//! of them together cannot complete a tile. If luck was greater than expected, everything is put back and goes on in
//! small steps. How far a stride goes is a guess: a wrong one costs time and changes nothing.

use super::state::{NEVER, PLAYER_BITS, Seat, Target, key};
use super::{Game, Watch};
use crate::plan::Pace;
use crate::tiles::bits;

/// A stride that is not likely to see so many drops is not worth its preparation.
const WORTH: u64 = 4;

/// What everybody could do until some second.
struct Stride {
    players: u64,
    /// The last second.
    until: u64,
    /// So many drops do not complete a tile.
    budget: u64,
}

/// A player before a stride, and how many drops he had in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Striding {
    player: usize,
    seat: Seat,
    key: u64,
    drops: u64,
}

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    /// Strides from now as far as it is worth while.
    pub(super) fn stride(&mut self) {
        let mut from = self.now;
        while let Some(stride) = self.prepare(from) {
            if !self.try_stride(&stride) {
                return;
            }
            from = stride.until;
        }
    }

    fn prepare(&mut self, from: u64) -> Option<Stride> {
        let mut players: u64 = 0;
        let mut until = u64::from(self.plan.duration);
        let (mut missing, mut units) = (1 << 30, 1);
        // Drops in 2³² seconds.
        let mut rate: u64 = 0;
        for player in 0..self.state.keys.len() {
            let Some((pace, (drop, many))) = self.striding(player) else {
                // Whatever else is due comes first.
                until = until.min((self.state.keys[player] >> PLAYER_BITS).saturating_sub(1));
                continue;
            };
            until = until.min(self.state.seats[player].ends.saturating_sub(pace.longest));
            rate = rate.saturating_add(pace.rate);
            players |= 1 << player;
            if let Target::Tile(tile) = self.target(drop) {
                missing = missing.min(u64::from(self.state.board.missing(tile.into())));
                units = units.max(u64::from(many));
            }
        }
        let budget = missing.div_ceil(units).saturating_sub(1);
        // Two and a half standard deviations are left, and what everybody has under way.
        let left = budget.isqrt() * 5 / 2 + u64::from(players.count_ones());
        let likely = budget.checked_sub(if self.state.careless { 0 } else { left })?;
        if likely < WORTH || rate == 0 {
            return None;
        }
        let until = until.min(from.saturating_add((likely << 32) / rate));
        let worth = until.saturating_sub(from).saturating_mul(rate) >> 32 >= WORTH;
        worth.then_some(Stride { players, until, budget })
    }

    /// How a player runs ahead, if every attempt of his gives either the same units of one drop, or nothing.
    fn striding(&self, player: usize) -> Option<(&Pace, (usize, u32))> {
        let leads = self.state.busy >> player & 1 == 1 && self.state.keys[player] != NEVER;
        let pace = self.team.paces.get(self.state.seats[player].work.pace.filter(|_| leads)?);
        Some((pace, pace.single?))
    }

    /// Says whether it came to pass; if not, nothing has changed.
    fn try_stride(&mut self, stride: &Stride) -> bool {
        let mut drops = 0;
        self.state.striding.clear();
        for player in bits(stride.players) {
            let (seat, key) = (self.state.seats[player], self.state.keys[player]);
            let more = self.walk(player, stride.until);
            self.state.striding.push(Striding { player, seat, key, drops: more });
            drops += more;
            if drops > stride.budget {
                for before in &self.state.striding {
                    self.state.seats[before.player] = before.seat;
                    self.state.keys[before.player] = before.key;
                }
                return false;
            }
        }
        for index in 0..self.state.striding.len() {
            let Striding { player, drops, .. } = self.state.striding[index];
            let Some((_, (drop, units))) = self.striding(player) else { continue };
            if let Target::Tile(tile) = self.target(drop) {
                // Within the budget, so it is less than the tile is missing.
                self.state.board.add(&self.plan.board, tile.into(), drops as u32 * units);
            }
        }
        true
    }

    /// Plays a player's attempts up to the one that ends behind a second. Says how many drops he had.
    fn walk(&mut self, player: usize, until: u64) -> u64 {
        let seat = &mut self.state.seats[player];
        let Some(number) = seat.work.pace else { return 0 };
        let pace = self.team.paces.get(number);
        let Seat { mut stream, mut before, mut work, .. } = *seat;
        let mut ends = self.state.keys[player] >> PLAYER_BITS;
        let mut drops = 0;
        while ends <= until {
            drops += u64::from(work.rest <= pace.lucky);
            (before, work.start) = ((stream, ends), ends);
            let (seconds, rest) = pace.draw(&mut stream);
            (ends, work.rest) = (ends + seconds, rest);
        }
        (seat.stream, seat.before, seat.work) = (stream, before, work);
        self.state.keys[player] = key(ends, player);
        drops
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plan, Run, Scratch, Seed, read, shipped};

    #[test]
    fn a_stride_that_went_too_far_is_taken_back() {
        let seed = Seed::new("stride");
        for scenario in &shipped()[..2] {
            let plan = Plan::new(&read(scenario.text).unwrap());
            let mut careless = Scratch::new();
            careless.state.careless = true;
            let (mut far, mut right) = (Run::default(), Run::default());
            for index in 0..200 {
                plan.run(&seed, index, &mut far, &mut careless).unwrap();
                plan.run_step_by_step(&seed, index, &mut right, &mut Scratch::new()).unwrap();
                assert_eq!(far, right, "{} run {index}", scenario.name);
            }
        }
    }
}
