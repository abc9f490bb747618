//! Every single run of a batch, in order, piece after piece: what is written is never in memory as a whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turnwise::{BatchId, Engine, Error, Filter, JobId, Refusal, State};
use utoipa::ToSchema;

use crate::kept::Extent;
use crate::work::limits::JOBS_PER_LOOK;
use crate::work::{Bingo, Event, has_runs, piece_of};
use crate::{Run, Runs, TeamRun, csv_header, csv_lines, json_lines};

/// How runs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A line for each team in each run, below a line with the names of the columns.
    #[default]
    Csv,
    /// A line for each run, which is a JSON object.
    Json,
}

impl Format {
    /// What a server says that it is.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv; charset=utf-8",
            Format::Json => "application/x-ndjson",
        }
    }

    /// How files of it end.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "jsonl",
        }
    }
}

/// Where some of the runs are: the first, the one behind the last, how many in between, and the job that simulated them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    first: u64,
    end: u64,
    runs: u64,
    job: JobId,
}

/// The runs of a batch, to be written one part after the other.
#[derive(Debug)]
pub struct Export {
    engine: Arc<Engine>,
    batch: BatchId,
    event: Arc<Event>,
    format: Format,
    pieces: std::iter::Peekable<std::vec::IntoIter<Entry>>,
    begun: bool,
}

impl Bingo {
    /// Every single run of a batch that has ended.
    pub async fn export(&self, batch: BatchId, format: Format) -> Result<Export, Error> {
        let results = self.results(batch).await?;
        let event = self.known.event(&self.engine, batch).await?;
        let pieces = pieces(&self.engine, batch).await?;
        // Whoever asks too late should know before the first line.
        if pieces.iter().map(|piece| piece.runs).sum::<u64>() < results.simulated {
            return Err(not_kept(batch));
        }
        let pieces = pieces.into_iter().peekable();
        Ok(Export { engine: self.engine.clone(), batch, event, format, pieces, begun: false })
    }
}

impl Export {
    /// The next part of the text; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<String>, Error> {
        let mut text = Vec::new();
        // Nothing that is written to memory fails.
        let written = |result: std::io::Result<()>| result.map_err(|error| Error::Config(error.to_string()));
        if !std::mem::replace(&mut self.begun, true) && self.format == Format::Csv {
            written(csv_header(&mut text))?;
        } else {
            let Some(entry) = self.pieces.next() else { return Ok(None) };
            let mut runs = self.runs(entry).await?;
            // Runs that failed in their range and went well on their own lie between its others.
            while let Some(inside) = self.pieces.next_if(|next| next.first < entry.end) {
                let more = self.runs(inside).await?;
                runs = merged(&runs, &more).ok_or_else(|| not_kept(self.batch))?;
            }
            let plan = &self.event.plan;
            match self.format {
                Format::Csv => written(csv_lines(plan, &runs, &mut text))?,
                Format::Json => written(json_lines(plan, &runs, &mut text))?,
            }
        }
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    async fn runs(&self, entry: Entry) -> Result<Runs, Error> {
        let view = self.engine.job(entry.job).await?;
        let piece = view.and_then(|view| piece_of(&view).ok().flatten());
        piece.and_then(|piece| piece.runs().ok()).ok_or_else(|| not_kept(self.batch))
    }
}

/// Looks for the runs of a batch among its jobs, and puts them in order. An index in the results would save the look, but
/// it would have no bound: a range may be divided any number of times.
async fn pieces(engine: &Engine, batch: BatchId) -> Result<Vec<Entry>, Error> {
    let mut pieces = Vec::new();
    let mut filter = Filter { batch: Some(batch), limit: JOBS_PER_LOOK, ..Filter::default() };
    loop {
        let (rows, before) = engine.jobs(filter.clone()).await?;
        for row in rows.iter().filter(|row| has_runs(row) && row.header.state == State::Done) {
            let Some(view) = engine.job(row.header.id).await? else { continue };
            let piece = piece_of(&view).ok().flatten();
            if let Some(Extent { first, end, runs }) = piece.and_then(|piece| piece.extent) {
                pieces.push(Entry { first, end, runs, job: view.id });
            }
        }
        match before {
            Some(before) => filter.before = Some(before),
            None => break,
        }
    }
    pieces.sort_unstable();
    Ok(pieces)
}

/// Two blocks in the order of their runs.
fn merged(one: &Runs, other: &Runs) -> Option<Runs> {
    let mut all: Vec<_> = one.iter().chain(other.iter()).collect();
    all.sort_by_key(|(index, _)| *index);
    let mut runs = Runs::new(all.first()?.1.len());
    for (index, results) in all {
        let team = |result: &crate::TeamResult| TeamRun {
            points: result.points.into(),
            tiles: result.tiles.into(),
            row_reached: result.row_reached.into(),
            tied: result.tied.into(),
            ..TeamRun::default()
        };
        runs.push(&Run { index, teams: results.iter().map(team).collect() }).ok()?;
    }
    Some(runs)
}

fn not_kept(batch: BatchId) -> Error {
    let why = format!(
        "the single runs of batch {batch} are not kept any more: they stay as long as finished jobs do (`keep_finished`). \
         Its aggregates and its seed are there: run it again"
    );
    Refusal::Invalid(why).into()
}
