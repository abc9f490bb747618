//! Every file that is, or is about to be, committed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::mask::mask;

/// The committed files, by path relative to the root.
pub(crate) struct Tree {
    files: Vec<File>,
    places: BTreeSet<String>,
}

/// One text file. What is not text is known to the tree by its path only.
pub(crate) struct File {
    /// With forward slashes, relative to the root.
    pub(crate) path: String,
    /// The whole content.
    pub(crate) text: String,
    /// The content with comments and literals blanked, same length; empty if this is not Rust.
    pub(crate) code: String,
}

impl Tree {
    /// Reads what git would commit: tracked and new files, not the ignored ones.
    pub(crate) fn load(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        let mut places = BTreeSet::new();
        for path in listed(root)? {
            // A tracked file that was deleted is still listed, and a link may lead to a folder.
            let full = root.join(&path);
            if full.is_file() {
                let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
                add_places(&mut places, &path);
                files.extend(String::from_utf8(bytes).ok().map(|text| File::new(path, text)));
            }
        }
        Ok(Tree { files, places })
    }

    /// A tree from texts, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let mut places = BTreeSet::new();
        files.iter().for_each(|(path, _)| add_places(&mut places, path));
        let files = files.iter().map(|(path, text)| File::new((*path).to_owned(), (*text).to_owned()));
        Tree { files: files.collect(), places }
    }

    /// All text files.
    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// The Rust sources.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.with_suffix(".rs")
    }

    /// The text files whose path ends like this.
    pub(crate) fn with_suffix(&self, suffix: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    /// The text file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The paths of all files and folders, pictures included.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(String::as_str)
    }

    /// Is there a file or a folder at this path?
    pub(crate) fn has(&self, path: &str) -> bool {
        self.places.contains(path.trim_end_matches('/'))
    }
}

impl File {
    fn new(path: String, text: String) -> File {
        let code = if path.ends_with(".rs") { mask(&text) } else { String::new() };
        File { path, text, code }
    }

    /// The folder that the file lies in; empty at the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Remembers a file and every folder above it.
fn add_places(places: &mut BTreeSet<String>, path: &str) {
    places.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
    places.insert(path.to_owned());
}

fn listed(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().context("cannot start git, which lists the files to check")?;
    ensure!(
        output.status.success(),
        "git cannot list the files to check: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let listing =
        String::from_utf8(output.stdout).context("a file name is no valid UTF-8: rename the file")?;
    Ok(listing.split_terminator('\0').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_places_too() {
        let tree = Tree::of(&[("crates/core/src/lib.rs", "")]);
        assert!(tree.has("crates/core") && tree.has("crates/core/") && tree.has("crates/core/src/lib.rs"));
        assert!(!tree.has("crates/cor") && !tree.has("lib.rs"));
        assert_eq!(tree.files()[0].folder(), "crates/core/src");
    }

    #[test]
    fn this_workspace_is_read_without_its_build_output() {
        let tree = Tree::load(&crate::root().unwrap()).unwrap();
        assert!(tree.file("xtask/src/source/tree.rs").is_some());
        assert!(!tree.has("target"));
    }
}
