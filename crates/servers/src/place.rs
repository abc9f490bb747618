//! The directory of a server: everything that it keeps is in there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A directory for one server.
pub(crate) fn fresh(kind: &str) -> Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    let name = format!("turnwise-{kind}-");
    let directory = builder.prefix(&name).tempdir().context("cannot make a temporary directory")?;
    // The system names a process by its real place.
    let path = directory.keep().canonicalize().context("cannot find the temporary directory again")?;
    open(&path)?;
    Ok(path)
}

/// Makes a directory that other accounts may enter.
pub(crate) fn open(path: &Path) -> Result<()> {
    let made =
        fs::create_dir_all(path).and_then(|()| fs::set_permissions(path, PermissionsExt::from_mode(0o755)));
    made.with_context(|| format!("cannot make {}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The last lines of a file, for an error.
pub(crate) fn tail(path: &Path) -> String {
    const LINES: usize = 15;
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
