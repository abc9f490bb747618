//! `backup`: a consistent copy of the database, also while an engine runs on it.

use std::path::{Path, PathBuf};

use crate::failure::refused;
use crate::show;

/// Copy the database to a new file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "To restore: stop the engine and copy the file to DIR/turnwise.db of a fresh directory, \
                        together with the vault.key of the old one."
)]
pub(crate) struct Args {
    /// The file to write. One that exists is never written over.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, data: &Path) -> anyhow::Result<()> {
    turnwise::backup(data, &args.file).map_err(refused)?;
    let bytes = std::fs::metadata(&args.file)?.len();
    show::line(format!("{} holds everything as of now ({} kB).", args.file.display(), bytes.div_ceil(1_024)));
    let key = data.join("vault.key");
    show::line(format!("The vault's key is not in it: keep a copy of {} at another place.", key.display()));
    Ok(())
}
