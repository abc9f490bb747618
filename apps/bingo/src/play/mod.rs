//! Playing a run: discrete events, one team after another.
//!
//! Each player has one event ahead of him: the end of his attempt, the end of his session if he is free, or the start of
//! his next session. At every instant that has events,
//!
//! 1. attempts that end are completed, in the order of the players who lead them, and their drops go to tiles;
//! 2. players whose session ends leave;
//! 3. if the board or who is online has changed, the strategy is asked again;
//! 4. whoever is free is given work, alone or in a group, at once.
//!
//! So nobody waits for a queue to run dry. Teams never touch each other, which is why each has a generator of its own and
//! is played on its own.

mod ahead;
mod attempt;
mod place;
mod state;
mod stride;
mod wants;
mod watch;

pub use state::Scratch;
pub(crate) use watch::{Sight, Watch};

use crate::limits::{ATTEMPTS_PER_RUN, PLAYERS_PER_TEAM};
use crate::luck::Seed;
use crate::plan::{Plan, TeamPlan};
use crate::run::{Run, RunFault, TeamRun, share_win};
use crate::tiles::bits;
use state::{NEVER, PLAYER_BITS, Seat, State, Target, key};
use watch::Nobody;

impl Plan {
    /// Plays one run into `into`, which may have held another run before. Nothing is allocated once both have been used
    /// for this plan.
    ///
    /// # Errors
    /// Only if the program itself is wrong: see [`RunFault`].
    pub fn run(
        &self,
        seed: &Seed,
        index: u64,
        into: &mut Run,
        scratch: &mut Scratch,
    ) -> Result<(), RunFault> {
        self.play::<_, true>(seed, index, into, scratch, |_| Nobody)
    }

    /// The same without running ahead: slower, and nothing is left out. Tests hold [`run`](Plan::run) against it.
    ///
    /// # Errors
    /// As [`run`](Plan::run).
    pub fn run_step_by_step(
        &self,
        seed: &Seed,
        index: u64,
        into: &mut Run,
        scratch: &mut Scratch,
    ) -> Result<(), RunFault> {
        self.play::<_, false>(seed, index, into, scratch, |_| Nobody)
    }

    pub(crate) fn play<W: Watch, const AHEAD: bool>(
        &self,
        seed: &Seed,
        index: u64,
        into: &mut Run,
        scratch: &mut Scratch,
        mut watch: impl FnMut(usize) -> W,
    ) -> Result<(), RunFault> {
        into.index = index;
        into.teams.resize_with(self.teams.len(), TeamRun::default);
        for (number, (team, out)) in self.teams.iter().zip(&mut into.teams).enumerate() {
            let state = &mut scratch.state;
            let watch = &mut watch(number);
            let game = Game::<W, AHEAD> {
                plan: self,
                team,
                state,
                out,
                watch,
                now: 0,
                board_changed: true,
                crowd_changed: true,
            };
            game.play(seed, index).map_err(|stuck| {
                let team = self.teams()[number].key.clone();
                match stuck {
                    Stuck::At(second) => RunFault::TimeStandsStill { run: index, team, second },
                    Stuck::Endless => RunFault::TooManyEvents { run: index, team, most: ATTEMPTS_PER_RUN },
                }
            })?;
        }
        share_win(&mut into.teams);
        Ok(())
    }
}

/// Events of one team that one second may have: a player comes, ends an attempt or leaves, and is never looked at more
/// often.
const AT_ONCE: usize = 3 * PLAYERS_PER_TEAM;

enum Stuck {
    At(u64),
    Endless,
}

/// One team in one run.
struct Game<'a, W, const AHEAD: bool> {
    plan: &'a Plan,
    team: &'a TeamPlan,
    state: &'a mut State,
    out: &'a mut TeamRun,
    watch: &'a mut W,
    now: u64,
    /// Since the strategy was asked: a tile was completed or a row unlocked; somebody came or left.
    board_changed: bool,
    crowd_changed: bool,
}

impl<W: Watch, const AHEAD: bool> Game<'_, W, AHEAD> {
    fn play(mut self, seed: &Seed, run: u64) -> Result<(), Stuck> {
        self.begin(seed, run);
        let (mut events, mut at_once): (u64, usize) = (0, 0);
        let mut next = self.least_key();
        let last = u64::from(self.plan.duration);
        while next >> PLAYER_BITS <= last {
            let second = next >> PLAYER_BITS;
            at_once = if second == self.now { at_once + 1 } else { 0 };
            if second < self.now || at_once > AT_ONCE {
                return Err(Stuck::At(second));
            }
            events += 1;
            if events > ATTEMPTS_PER_RUN {
                return Err(Stuck::Endless);
            }
            self.now = second;
            let free = self.happen((next & ((1 << PLAYER_BITS) - 1)) as usize);
            if free != 0 {
                self.look_around(free);
                if self.state.board.is_complete(&self.plan.board) {
                    break;
                }
            }
            next = self.least_key();
        }
        self.out.points = self.state.board.points;
        self.out.tiles = self.state.board.done;
        self.out.row_reached = self.state.board.unlocked().saturating_sub(1) as u32;
        Ok(())
    }

    fn begin(&mut self, seed: &Seed, run: u64) {
        let (plan, state) = (self.plan, &mut *self.state);
        state.board.reset(&plan.board);
        state.targets.clear();
        state.targets.resize(plan.works.accepts.len(), Target::NotAsked);
        state.ranked = false;
        state.wants.clear();
        state.wants.resize(self.team.classes.len(), None);
        state.excluded.clear();
        state.excluded.resize(plan.works.rules.len(), false);
        (state.online, state.busy) = (0, 0);
        let luck = self.team.luck.in_run(seed, run);
        state.keys.clear();
        state.seats.clear();
        for (number, player) in self.team.players.iter().enumerate() {
            state.seats.push(Seat { stream: luck.stream(number), ..Seat::default() });
            state.keys.push(player.hours.first().map_or(NEVER, |hours| key(hours.0.into(), number)));
        }
        self.out.row_unlocks.clear();
        self.out.row_unlocks.resize(plan.board.rows, None);
        self.out.tile_times.clear();
        self.out.tile_times.resize(plan.board.tiles.len(), None);
        self.unlock_rows();
        let mut free = 0;
        for player in 0..self.team.players.len() {
            if self.state.keys[player] >> PLAYER_BITS == 0 {
                free |= self.happen(player);
            }
        }
        self.settle(free);
    }

    /// Plays an instant to its end, after its first event.
    fn look_around(&mut self, free: u64) {
        let mut free = free;
        let mut next = self.least_key();
        while next >> PLAYER_BITS == self.now {
            free |= self.happen((next & ((1 << PLAYER_BITS) - 1)) as usize);
            next = self.least_key();
        }
        for player in bits(free) {
            if self.state.seats[player].ends <= self.now {
                self.leave(player);
            }
        }
        if !self.state.board.is_complete(&self.plan.board) {
            self.settle(free & self.state.online);
        }
    }

    /// The event that a player has ahead of him. Says who is free now; nobody is, if he just goes on.
    #[inline]
    fn happen(&mut self, player: usize) -> u64 {
        let bit = 1 << player;
        if self.state.busy & bit != 0 {
            if AHEAD && let Some(pace) = self.state.seats[player].work.pace {
                return self.go_on(player, pace);
            }
            self.state.keys[player] = NEVER;
            return self.complete(player);
        }
        self.state.keys[player] = NEVER;
        if self.state.online & bit == 0 {
            self.arrive(player);
        }
        bit
    }

    fn arrive(&mut self, player: usize) {
        let seat = &mut self.state.seats[player];
        seat.ends = self.team.players[player].hours[seat.session].1;
        self.state.online |= 1 << player;
        self.crowd_changed = true;
        self.watch.see(self.now, Sight::Online { player });
    }

    fn leave(&mut self, player: usize) {
        let seat = &mut self.state.seats[player];
        seat.session += 1;
        let hours = self.team.players[player].hours.get(seat.session);
        self.state.keys[player] = hours.map_or(NEVER, |hours| key(hours.0.into(), player));
        self.state.online &= !(1 << player);
        self.crowd_changed = true;
        self.watch.see(self.now, Sight::Offline { player });
    }

    /// Everybody who can be given something to do is given it.
    fn settle(&mut self, free: u64) {
        let mut free = free;
        if self.board_changed || (self.crowd_changed && self.team.needs_crowds) {
            self.choose_wants();
            if AHEAD {
                self.call_back();
            }
            free = self.state.online & !self.state.busy;
        }
        (self.board_changed, self.crowd_changed) = (false, false);
        for player in bits(free) {
            if self.state.busy & (1 << player) == 0 {
                self.place(player);
            }
        }
        if AHEAD {
            self.stride();
        }
    }

    fn unlock_rows(&mut self) {
        while let Some(row) = self.state.board.unlock(&self.plan.board) {
            self.out.row_unlocks[row] = Some(self.now as u32);
            self.watch.see(self.now, Sight::Row { row });
        }
    }

    #[inline]
    fn least_key(&self) -> u64 {
        self.state.keys.iter().copied().min().unwrap_or(NEVER)
    }
}
