//! Giving a free player work: alone, in a group, or something short before he has to leave.

use super::state::{NEVER, Work, key};
use super::{Game, Sight, Watch};
use crate::plan::{ActivityPlan, RulePlan, scaled};
use crate::scenario::Decimal;
use crate::tiles::bits;

impl<'a, W: Watch, const AHEAD: bool> Game<'a, W, AHEAD> {
    pub(super) fn place(&mut self, player: usize) {
        let Some(rule) = self.wanted_by(player) else { return self.idle(player) };
        let activity = self.work(rule).1;
        if AHEAD
            && let Some(pace) = self.team.paces.of(player, rule)
            && self.fits(player, rule, 1 << player)
        {
            return self.run_ahead(player, rule, pace);
        }
        if let Some((least, most)) = activity.group {
            while self.state.busy & (1 << player) == 0 {
                let members = self.gather(rule, least, most);
                if members == 0 {
                    break;
                }
                self.begin_attempt(members, rule);
            }
            if self.state.busy & (1 << player) != 0 {
                return;
            }
        }
        if activity.solo && self.fits(player, rule, 1 << player) {
            return self.begin_attempt(1 << player, rule);
        }
        if !activity.solo && self.could_join(player, rule) {
            return self.idle(player);
        }
        self.place_before_leaving(player);
    }

    /// The want takes longer than the player is there: the best thing that he can do alone and in time.
    fn place_before_leaving(&mut self, player: usize) {
        let fits = |rule: usize| self.work(rule).1.solo && self.fits(player, rule, 1 << player);
        match self.best(self.team.players[player].class, fits) {
            Some(rule) => self.begin_attempt(1 << player, rule),
            None => self.idle(player),
        }
    }

    /// Nothing to do until something changes, or the session ends.
    fn idle(&mut self, player: usize) {
        let ends = self.state.seats[player].ends;
        self.state.keys[player] =
            if ends > u64::from(self.plan.duration) { NEVER } else { key(ends, player) };
    }

    /// A group of free players who want this, as large as may be; none if they are too few. Whoever has to leave before
    /// the group could be done is not asked.
    fn gather(&self, rule: usize, least: u32, most: u32) -> u64 {
        let mut leavers = 0;
        loop {
            let free = self.state.online & !self.state.busy & !leavers;
            let mut members = 0_u64;
            for player in
                bits(free).filter(|player| self.wanted_by(*player) == Some(rule)).take(most as usize)
            {
                members |= 1 << player;
            }
            if members.count_ones() < least {
                return 0;
            }
            let late: u64 =
                bits(members).filter(|p| !self.fits(*p, rule, members)).map(|player| 1 << player).sum();
            if late == 0 {
                return members;
            }
            leavers |= late;
        }
    }

    /// Whether a player may wait for the smallest group.
    fn could_join(&self, player: usize, rule: usize) -> bool {
        let (plan, activity) = self.work(rule);
        let Some((least, _)) = activity.group else { return false };
        let held = self.held(player, rule);
        let scale = self.team.players[player].skill.times(plan.scale(held, activity.band(least)));
        self.now + scaled(activity.longest, scale) <= self.state.seats[player].ends
    }

    /// Whether these members are sure to be done before the player leaves.
    fn fits(&self, player: usize, rule: usize, members: u64) -> bool {
        let ends = self.state.seats[player].ends;
        if ends > u64::from(self.plan.duration) {
            return true;
        }
        let longest = scaled(self.work(rule).1.longest, self.scale(members, rule));
        self.now + longest <= ends
    }

    pub(super) fn begin_attempt(&mut self, members: u64, rule: usize) {
        let leader = members.trailing_zeros() as usize;
        let scale = self.scale(members, rule);
        let activity = self.work(rule).1;
        let (seconds, rest) = super::attempt::draw_time(activity, &mut self.state.seats[leader].stream);
        let ends = self.now + scaled(seconds, scale);
        self.state.seats[leader].work = Work { rule, start: self.now, rest, members, pace: None };
        for member in bits(members) {
            self.state.keys[member] = NEVER;
        }
        self.state.keys[leader] = key(ends, leader);
        self.state.busy |= members;
        self.watch.see(self.now, Sight::Begun { members, rule, ends });
    }

    pub(super) fn work(&self, rule: usize) -> (&'a RulePlan, &'a ActivityPlan) {
        let plan = &self.plan.works.rules[rule];
        (plan, &self.plan.works.activities[plan.activity])
    }

    /// What the members do to the time: the slowest one's skill, the band of their number, and the modifiers that anybody
    /// of them holds.
    pub(super) fn scale(&self, members: u64, rule: usize) -> Decimal {
        let (plan, activity) = self.work(rule);
        let mut skill = Decimal(0);
        let mut held = 0;
        for member in bits(members) {
            skill = skill.max(self.team.players[member].skill);
            held |= self.held(member, rule);
        }
        skill.times(plan.scale(held, activity.band(members.count_ones())))
    }

    pub(super) fn held(&self, player: usize, rule: usize) -> usize {
        self.team.classes[self.team.players[player].class].held[rule]
    }
}
