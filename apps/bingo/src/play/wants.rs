//! What everybody wants to work on, by the team's strategy and by who is there.
//!
//! A player wants the best-ranked tile that he may work on, by its quickest rule. Work that only a group can do is
//! wanted only while enough players who are online want the same; so whoever waits for a group knows that it will come
//! together as soon as the others have ended what they are doing. If several such wishes cannot come true, the one that
//! lacks the most players is given up first, because whoever gave it up may complete another.

use super::state::Target;
use super::{Game, Watch};
use crate::board::Board;
use crate::tiles::bits;

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    pub(super) fn choose_wants(&mut self) {
        self.rank();
        if self.team.needs_crowds {
            self.state.excluded.fill(false);
        }
        loop {
            for class in 0..self.team.classes.len() {
                self.state.wants[class] = self.best(class, |_| true);
            }
            match self.hopeless() {
                Some(rule) if self.team.needs_crowds => self.state.excluded[rule] = true,
                _ => return,
            }
        }
    }

    /// The best-ranked work of a class that fits, with its tile's quickest rule that does.
    pub(super) fn best(&self, class: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let options = &self.team.classes[class].options;
        let mut best = None;
        let mut least = u64::MAX;
        for tile in self.state.board.open().iter() {
            let rank = self.state.ranks.work[tile];
            if rank < least {
                let open = |rule: &&usize| !self.state.excluded[**rule] && fits(**rule);
                if let Some(rule) = options[tile].iter().find(open) {
                    (best, least) = (Some(*rule), rank);
                }
            }
        }
        best
    }

    /// The rule for a group that lacks the most of those who are online.
    fn hopeless(&self) -> Option<usize> {
        let mut worst = None;
        let mut most = 0;
        for player in bits(self.state.online) {
            let Some(rule) = self.wanted_by(player) else { continue };
            let activity = &self.plan.works.activities[self.plan.works.rules[rule].activity];
            let Some((least, _)) = activity.group.filter(|_| !activity.solo) else { continue };
            let there = bits(self.state.online).filter(|other| self.wanted_by(*other) == Some(rule)).count();
            let lacking = (least as usize).saturating_sub(there);
            if lacking > most {
                (worst, most) = (Some(rule), lacking);
            }
        }
        worst
    }

    #[inline]
    pub(super) fn wanted_by(&self, player: usize) -> Option<usize> {
        self.state.wants[self.team.players[player].class]
    }

    /// Makes sure that the ranks are those of the board as it is.
    pub(super) fn rank(&mut self) {
        if !self.state.ranked {
            let board = Board { plan: &self.plan.board, state: &self.state.board };
            self.team.strategy.rank(&board, &mut self.state.ranks);
            self.state.targets.fill(Target::NotAsked);
            self.state.ranked = true;
        }
    }
}
