//! Every limit of a scenario and of its simulation, in one place.

/// Largest scenario file.
pub const FILE_BYTES: usize = 4 << 20;
/// Faults that are told at once; the others are counted.
pub const FAULTS: usize = 50;
/// Longest key.
pub const KEY_BYTES: usize = 64;
/// Longest display name, in characters.
pub const NAME_CHARS: usize = 100;
/// Longest event: a year.
pub const DURATION_SECONDS: u64 = 366 * 24 * 3600;
/// Most rows on a board.
pub const ROWS: usize = 64;
/// Tiles in each row, one for each number of points from 1 to 4.
pub const TILES_PER_ROW: usize = 4;
/// Most tiles on a board.
pub const TILES: usize = ROWS * TILES_PER_ROW;
/// Points of a whole row.
pub const ROW_POINTS: u32 = 1 + 2 + 3 + 4;
/// Most units that a tile may ask for, and that one grant may give.
pub const UNITS: u64 = 1_000_000_000;
/// Most ways to work on one tile.
pub const RULES_PER_TILE: usize = 16;
/// Most drop keys that one rule accepts, and most capabilities that it asks for.
pub const KEYS_PER_RULE: usize = 64;
/// Most modifiers of one rule: every combination of them is worked out before the first run.
pub const MODIFIERS_PER_RULE: usize = 4;
/// Most activities.
pub const ACTIVITIES: usize = 256;
/// Most attempt lines of one activity.
pub const LINES_PER_ACTIVITY: usize = 16;
/// Most outcomes of one line: a set of them has 64 bits.
pub const OUTCOMES_PER_LINE: usize = 64;
/// Most grants of one outcome.
pub const GRANTS_PER_OUTCOME: usize = 16;
/// Most bands of one activity.
pub const BANDS_PER_ACTIVITY: usize = 8;
/// Most entries in a custom distribution of seconds.
pub const CUSTOM_TIMES: usize = 256;
/// Longest time of one attempt as written, and its largest variance: a week.
pub const ATTEMPT_SECONDS: u64 = 7 * 24 * 3600;
/// Largest numerator and denominator of a weight.
pub const WEIGHT: u64 = 1_000_000_000;
/// Largest common denominator of the weights of one line, so that odds are exact in 128 bits.
pub const COMMON_DENOMINATOR: u64 = 1_000_000_000_000;
/// Largest skill, multiplier and decimal parameter.
pub const DECIMAL: u64 = 1_000;
/// Most players.
pub const PLAYERS: usize = 1_024;
/// Most players in one team: a set of them has 64 bits.
pub const PLAYERS_PER_TEAM: usize = 64;
/// Most capabilities of one player.
pub const CAPABILITIES_PER_PLAYER: usize = 256;
/// Most sessions in a player's week.
pub const SESSIONS_PER_WEEK: usize = 70;
/// Longest session: a week.
pub const SESSION_MINUTES: u64 = 7 * 24 * 60;
/// Most teams.
pub const TEAMS: usize = 64;
/// Most runs that a drill may name.
pub const TROUBLED_RUNS: usize = 1_000;
/// Most attempts of a run that a drill may fail.
pub const TROUBLED_ATTEMPTS: u64 = 1_000;
/// Longest delay of a run for demonstrations.
pub const DELAY_MS: u64 = 60_000;
/// Most attempts that one run may need, by the shortest attempt and the number of players.
pub const ATTEMPTS_PER_RUN: u64 = 100_000_000;
/// Most moments that a timeline tells; the rest is counted.
pub const MOMENTS: usize = 200_000;
/// Most results in one block of kept runs: runs times teams.
pub const RESULTS_PER_BLOCK: usize = 1 << 22;

const _: () = assert!(TILES <= 256, "a set of tiles has 256 bits");
const _: () = assert!(OUTCOMES_PER_LINE <= 64 && PLAYERS_PER_TEAM <= 64, "sets of 64 bits");
// A weight in units of the common denominator, times a multiplier in millionths, summed over a line.
const _: () = assert!(
    (WEIGHT as u128) * (COMMON_DENOMINATOR as u128) * ((DECIMAL * 1_000_000) as u128)
        < (1 << 127) / OUTCOMES_PER_LINE as u128,
    "odds are exact in 128 bits"
);
