//! What some runs of a batch gave, as it is kept in the result of a job: their sum, and each of them in a few bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::limits::PIECE_BYTES;
use crate::kept::{Extent, extent_of};
use crate::{Aggregate, Runs, decode_runs, encode_runs};

/// What some runs gave.
pub(crate) struct Piece {
    /// Their sum.
    pub(crate) aggregate: Aggregate,
    /// Each of them.
    pub(crate) runs: Runs,
    /// Processor time that the simulation took.
    pub(crate) nanos: u64,
}

/// A piece that was kept. Its single runs stay packed until somebody asks for them: whoever adds up pieces does not.
pub(crate) struct Opened {
    pub(crate) aggregate: Aggregate,
    pub(crate) nanos: u64,
    /// Which runs it has, if any.
    pub(crate) extent: Option<Extent>,
    runs: Vec<u8>,
}

/// A piece as text.
#[derive(Serialize, Deserialize)]
pub(crate) struct Packed(String);

impl Piece {
    /// The piece as text; how many bytes it has, if these are more than a result holds.
    pub(crate) fn pack(&self) -> Result<Packed, usize> {
        let bytes = self.encoded();
        if bytes.len() > PIECE_BYTES { Err(bytes.len()) } else { Ok(Packed(STANDARD.encode(bytes))) }
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.encoded().len()
    }

    fn encoded(&self) -> Vec<u8> {
        // Numbers and lists only: nothing in it can fail to be written.
        postcard::to_stdvec(&(&self.aggregate, self.nanos, encode_runs(&self.runs))).unwrap_or_default()
    }
}

impl Packed {
    /// The piece; what is wrong with the text otherwise.
    pub(crate) fn open(&self) -> Result<Opened, String> {
        let bytes = STANDARD.decode(&self.0).map_err(damaged)?;
        let (aggregate, nanos, runs): (Aggregate, u64, Vec<u8>) =
            postcard::from_bytes(&bytes).map_err(damaged)?;
        let extent = extent_of(&runs).map_err(damaged)?;
        Ok(Opened { aggregate, nanos, extent, runs })
    }
}

impl Opened {
    /// Its single runs; what is wrong with them otherwise.
    pub(crate) fn runs(&self) -> Result<Runs, String> {
        decode_runs(&self.runs).map_err(damaged)
    }
}

fn damaged(why: impl std::fmt::Display) -> String {
    format!("what a range gave cannot be read: {why}")
}
