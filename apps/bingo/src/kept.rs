//! Results of single runs, kept in a few bits each: ten million of them fit into memory and into a store.
//!
//! A block holds, for each team and each of points, tiles and row, the least value and the others as differences in as many
//! bits as the greatest needs. A win follows from the points, so it takes no room. Times are left out: the run can be played
//! again.

use thiserror::Error;

use crate::limits::{RESULTS_PER_BLOCK, ROWS, TEAMS, TILES};
use crate::run::{Run, TeamRun};

/// One team's result in a run, without times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamResult {
    /// Points of its complete tiles.
    pub points: u16,
    /// How many tiles are complete.
    pub tiles: u16,
    /// The last row that was unlocked, from 0.
    pub row_reached: u16,
    /// As [`TeamRun::tied`].
    pub tied: u16,
}

/// Results of runs, by ascending index; indices may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    teams: usize,
    /// First index and number of runs without a gap.
    spans: Vec<(u64, u64)>,
    results: Vec<TeamResult>,
}

/// Which runs a block keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u64,
    /// The one behind the last.
    pub(crate) end: u64,
    /// How many: fewer than there are in between, if some are missing.
    pub(crate) runs: u64,
}

/// Why a run could not be kept, or kept ones could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeepFault {
    /// A block has a limit.
    #[error("a block keeps at most {RESULTS_PER_BLOCK} results; begin another one")]
    Full,
    /// Runs come in order.
    #[error("run {0} does not come after the last one; add runs by ascending index")]
    Order(u64),
    /// All runs have the teams of the plan.
    #[error("a run of {given} teams does not belong among runs of {kept} teams")]
    Teams {
        /// Teams of the run.
        given: usize,
        /// Teams of the block.
        kept: usize,
    },
    /// The bytes are not what was encoded.
    #[error("these bytes are not kept runs: {0}")]
    Damaged(&'static str),
}

impl Runs {
    /// No runs yet, of so many teams.
    pub fn new(teams: usize) -> Runs {
        Runs { teams, spans: Vec::new(), results: Vec::new() }
    }

    /// Keeps a run with a greater index than those before.
    ///
    /// # Errors
    /// If it is out of order, has other teams, or if the block is full.
    pub fn push(&mut self, run: &Run) -> Result<(), KeepFault> {
        if run.teams.len() != self.teams {
            return Err(KeepFault::Teams { given: run.teams.len(), kept: self.teams });
        }
        if self.results.len() + self.teams > RESULTS_PER_BLOCK {
            return Err(KeepFault::Full);
        }
        match self.spans.last_mut() {
            Some((first, many)) if *first + *many == run.index => *many += 1,
            Some((first, many)) if run.index < *first + *many => return Err(KeepFault::Order(run.index)),
            _ => self.spans.push((run.index, 1)),
        }
        self.results.extend(run.teams.iter().map(TeamResult::of));
        Ok(())
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.results.len() / self.teams.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Each run's index and results.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[TeamResult])> {
        let indices = self.spans.iter().flat_map(|&(first, many)| first..first + many);
        indices.zip(self.results.chunks(self.teams.max(1)))
    }
}

impl TeamResult {
    fn of(run: &TeamRun) -> TeamResult {
        TeamResult {
            points: run.points as u16,
            tiles: run.tiles as u16,
            row_reached: run.row_reached as u16,
            tied: run.tied as u16,
        }
    }
}

/// The first byte of every block.
const VERSION: u8 = 1;

/// The columns of a team.
const COLUMNS: [fn(&mut TeamResult) -> &mut u16; 3] =
    [|result| &mut result.points, |result| &mut result.tiles, |result| &mut result.row_reached];

/// Runs as bytes.
pub fn encode_runs(runs: &Runs) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    put(&mut bytes, runs.teams as u64);
    put(&mut bytes, runs.spans.len() as u64);
    let mut end = 0;
    for &(first, many) in &runs.spans {
        put(&mut bytes, first - end);
        put(&mut bytes, many);
        end = first + many;
    }
    for team in 0..runs.teams {
        for column in COLUMNS {
            let values =
                runs.results.iter().skip(team).step_by(runs.teams).map(|result| *column(&mut { *result }));
            put_column(&mut bytes, &values.collect::<Vec<u16>>());
        }
    }
    bytes
}

/// Runs from bytes.
///
/// # Errors
/// If the bytes were not made by [`encode_runs`]; nothing large is allocated before that is known.
pub fn decode_runs(bytes: &[u8]) -> Result<Runs, KeepFault> {
    let mut bytes = bytes;
    let (teams, spans) = take_spans(&mut bytes)?;
    let all = spans.iter().map(|(_, many)| *many as usize).sum::<usize>();
    let mut results = vec![TeamResult::default(); all * teams];
    for team in 0..teams {
        for column in COLUMNS {
            let cells = results.iter_mut().skip(team).step_by(teams).map(column);
            take_column(&mut bytes, cells, all)?;
        }
    }
    if !bytes.is_empty() {
        return Err(KeepFault::Damaged("bytes behind the end"));
    }
    for run in results.chunks_mut(teams) {
        share(run);
    }
    Ok(Runs { teams, spans, results })
}

/// Which runs the bytes keep, without looking at what became of them.
pub(crate) fn extent_of(bytes: &[u8]) -> Result<Option<Extent>, KeepFault> {
    let mut bytes = bytes;
    let (_, spans) = take_spans(&mut bytes)?;
    Ok(spans.first().zip(spans.last()).map(|(&(first, _), &(last, many))| {
        let runs = spans.iter().map(|(_, many)| many).sum();
        Extent { first, end: last + many, runs }
    }))
}

/// The beginning of a block: how many teams, and which runs.
fn take_spans(bytes: &mut &[u8]) -> Result<(usize, Vec<(u64, u64)>), KeepFault> {
    if take_byte(bytes)? != VERSION {
        return Err(KeepFault::Damaged("another version"));
    }
    let teams = take(bytes)?;
    let many_spans = take(bytes)?;
    if teams == 0 || teams > TEAMS as u64 || many_spans > bytes.len() as u64 {
        return Err(KeepFault::Damaged("numbers beyond the limits"));
    }
    let mut spans = Vec::new();
    let (mut end, mut all) = (0_u64, 0_u64);
    for _ in 0..many_spans {
        let first = end.checked_add(take(bytes)?).ok_or(KeepFault::Damaged("indices beyond 64 bits"))?;
        let many = take(bytes)?;
        end = first.checked_add(many).ok_or(KeepFault::Damaged("indices beyond 64 bits"))?;
        all = all.saturating_add(many);
        spans.push((first, many));
    }
    if all.saturating_mul(teams) > RESULTS_PER_BLOCK as u64 {
        return Err(KeepFault::Damaged("more results than a block keeps"));
    }
    Ok((teams as usize, spans))
}

/// The teams with the most points share the win.
fn share(run: &mut [TeamResult]) {
    let most = run.iter().map(|team| team.points).max().unwrap_or(0);
    let tied = run.iter().filter(|team| team.points == most).count() as u16;
    for team in run {
        team.tied = if team.points == most { tied } else { 0 };
    }
}

fn put_column(bytes: &mut Vec<u8>, values: &[u16]) {
    let least = values.iter().copied().min().unwrap_or(0);
    let most = values.iter().copied().max().unwrap_or(0);
    let width = 16 - (most - least).leading_zeros();
    put(bytes, least.into());
    bytes.push(width as u8);
    let (mut waiting, mut bits) = (0_u32, 0);
    for value in values.iter().filter(|_| width > 0) {
        waiting |= u32::from(value - least) << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(waiting as u8);
            waiting >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(waiting as u8);
    }
}

fn take_column<'r>(
    bytes: &mut &[u8],
    cells: impl Iterator<Item = &'r mut u16>,
    many: usize,
) -> Result<(), KeepFault> {
    let least = take(bytes)?;
    let width = u32::from(take_byte(bytes)?);
    if width > 16 || least > (ROWS * TILES) as u64 {
        return Err(KeepFault::Damaged("a column beyond the limits"));
    }
    let length = (many * width as usize).div_ceil(8);
    let Some((packed, behind)) = bytes.split_at_checked(length) else {
        return Err(KeepFault::Damaged("it ends too early"));
    };
    *bytes = behind;
    let mut packed = packed.iter();
    let (mut waiting, mut bits) = (0_u32, 0);
    for cell in cells {
        while bits < width {
            waiting |= u32::from(*packed.next().unwrap_or(&0)) << bits;
            bits += 8;
        }
        let value = least as u32 + (waiting & ((1 << width) - 1));
        *cell = u16::try_from(value).map_err(|_| KeepFault::Damaged("a value beyond the limits"))?;
        waiting >>= width;
        bits -= width;
    }
    Ok(())
}

/// Seven bits to a byte, the least first; the eighth says that more follow.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, KeepFault> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        let part = u64::from(byte & 0x7F);
        if shift == 63 && part > 1 {
            break;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(KeepFault::Damaged("a number beyond 64 bits"))
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, KeepFault> {
    let (first, behind) = bytes.split_first().ok_or(KeepFault::Damaged("it ends too early"))?;
    *bytes = behind;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_runs_there_are_is_known_without_unpacking_them() {
        let mut runs = Runs::new(1);
        assert_eq!(extent_of(&encode_runs(&runs)), Ok(None));
        for index in [3, 4, 9] {
            runs.push(&Run { index, teams: vec![TeamRun::default()] }).unwrap();
        }
        let bytes = encode_runs(&runs);
        let extent = Some(Extent { first: 3, end: 10, runs: 3 });
        assert_eq!(extent_of(&bytes), Ok(extent));
        assert!(extent_of(&bytes[..4]).is_err(), "it ends too early");
    }
}
