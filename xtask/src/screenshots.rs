//! `cargo xtask screenshots`: the pictures of the dashboard in the documents, taken anew.
//!
//! The program is the debug build, and the browser is driven by `system-tests`, as in its tests: this tool stays light.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::{cargo, packages};

/// Where the documents look for them.
const FOLDER: &str = "docs/images";

/// Larger pictures make every clone of the repository slower.
const MOST_BYTES: u64 = 300_000;

pub(crate) fn run(root: &Path) -> Result<()> {
    packages::ensure_installed()?;
    cargo::run(root, &["build", "-p", "turnwise-cli"])?;
    cargo::run(root, &["run", "-p", "system-tests", "--bin", "screenshots", "--", FOLDER])?;
    for entry in std::fs::read_dir(root.join(FOLDER))? {
        let path = entry?.path();
        let bytes = path.metadata()?.len();
        let name = path.file_name().context("a file has a name")?.display();
        ensure!(bytes <= MOST_BYTES, "{name} has {bytes} bytes: show less, at most {MOST_BYTES}");
        println!("{FOLDER}/{name}: {} kB", bytes / 1000);
    }
    Ok(())
}
