//! An attempt: how long it takes, what it yields, and which tile takes it.

use super::state::Target;
use super::{Game, Sight, Watch};
use crate::luck::{Stream, split};
use crate::plan::{ActivityPlan, TimePlan};
use crate::scenario::Roll;
use crate::tiles::bits;

/// The time of the longest line, before skill, bands and modifiers; and what the first draw left for the first roll.
pub(super) fn draw_time(activity: &ActivityPlan, stream: &mut Stream) -> (u64, u64) {
    let mut longest = 1;
    let mut rest = 0;
    for (index, line) in activity.lines.iter().enumerate() {
        let seconds = match &line.time {
            TimePlan::Uniform { least, many } => {
                let (choice, left) = split(stream.next(), *many);
                if index == 0 {
                    rest = left;
                }
                (least + choice as i64).max(1) as u64
            }
            TimePlan::Normal { seconds, variance } => normal(*seconds, *variance, stream),
            TimePlan::Custom { odds, seconds } => seconds[odds.pick(stream.next())].into(),
        };
        longest = longest.max(seconds);
    }
    (longest, rest)
}

/// Nearly normal: twelve numbers of 16 bits, added up. Three standard deviations are the variance of the file, and what
/// lies beyond is moved to the edge.
fn normal(seconds: i64, variance: i64, stream: &mut Stream) -> u64 {
    let mut sum = 0;
    for _ in 0..3 {
        let number = stream.next();
        sum += (0..4).map(|part| (number >> (16 * part) & 0xFFFF) as i64).sum::<i64>();
    }
    // The mean of the sum is 6 · 65535, its standard deviation 65536.
    let offset = ((sum - 6 * 65_535) * variance).div_euclid(3 * 65_536);
    (seconds + offset.clamp(-variance, variance)).max(1) as u64
}

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    /// Ends the attempt that a player leads. Says who is free now.
    pub(super) fn complete(&mut self, leader: usize) -> u64 {
        let work = self.state.seats[leader].work;
        self.state.busy &= !work.members;
        self.watch.see(self.now, Sight::Ended { members: work.members, rule: work.rule });
        let (plan, activity) = self.work(work.rule);
        let band = activity.band(work.members.count_ones());
        for (index, line) in activity.lines.iter().enumerate() {
            let mut rest = match &line.time {
                TimePlan::Uniform { .. } if index == 0 => Some(work.rest),
                _ => None,
            };
            let rollers = if line.roll == Roll::PerPlayer { work.members } else { 1 << leader };
            for roller in bits(rollers) {
                let held = match line.roll {
                    Roll::PerPlayer => self.held(roller, work.rule),
                    Roll::PerGroup => {
                        bits(work.members).fold(0, |all, member| all | self.held(member, work.rule))
                    }
                };
                let number = rest.take().unwrap_or_else(|| self.state.seats[leader].stream.next());
                let odds = &self.plan.works.odds[plan.odds(activity, index, held, band)];
                self.hand_out(leader, roller, &line.outcomes[odds.pick(number)]);
            }
        }
        work.members
    }

    /// The grants of an outcome, one after another.
    #[inline]
    pub(super) fn hand_out(&mut self, leader: usize, roller: usize, grants: &[(usize, u32, u32)]) {
        for &(drop, least, most) in grants {
            let units = if least == most {
                least
            } else {
                let many = u64::from(most - least) + 1;
                least + split(self.state.seats[leader].stream.next(), many).0 as u32
            };
            self.hand_in(roller, drop, units);
        }
    }

    /// Gives units to the best-ranked open tile that accepts the drop, and what is left over to the next.
    #[inline]
    fn hand_in(&mut self, player: usize, drop: usize, units: u32) {
        let mut units = units;
        loop {
            let target = self.target(drop);
            let Target::Tile(tile) = target else {
                self.watch.see(self.now, Sight::Drop { player, drop, units, tile: None });
                return;
            };
            let tile = usize::from(tile);
            let (left, done) = self.state.board.add(&self.plan.board, tile, units);
            self.watch.see(self.now, Sight::Drop { player, drop, units: units - left, tile: Some(tile) });
            if !done {
                return;
            }
            self.state.ranked = false;
            self.board_changed = true;
            self.out.tile_times[tile] = Some(self.now as u32);
            self.watch.see(self.now, Sight::Tile { tile });
            self.unlock_rows();
            units = left;
            if units == 0 {
                return;
            }
        }
    }

    #[inline]
    pub(super) fn target(&mut self, drop: usize) -> Target {
        let Some(&known) = self.state.targets.get(drop) else { return Target::Nowhere };
        if self.state.ranked && known != Target::NotAsked {
            return known;
        }
        self.rank();
        let eligible = self.plan.works.accepts[drop].and(self.state.board.open());
        let best = eligible.iter().min_by_key(|tile| self.state.ranks.grants[*tile]);
        let target = best.map_or(Target::Nowhere, |tile| Target::Tile(tile as u16));
        self.state.targets[drop] = target;
        target
    }
}
