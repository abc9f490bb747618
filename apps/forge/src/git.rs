//! One repository for each service, changed with git's plumbing alone.
//!
//! Objects are named by their content, so writing them again changes nothing: they are what the phases leave for each
//! other. The commit of a request is a function of its tree, its parent and its id. The branch is moved by
//! `update-ref` with the old and the new value: of two that try, one wins, and the other finds its request in the history.

mod command;

use std::path::{Path, PathBuf};

use command::Git;
use serde::{Deserialize, Serialize};

use crate::fault::{Class, Fault};
use crate::generate::Files;
use crate::lock::Lock;
use crate::request::Description;

const BRANCH: &str = "refs/heads/main";
/// What `update-ref` takes for a branch that is not there yet.
const NOTHING: &str = "0000000000000000000000000000000000000000";
const REQUEST: &str = "Turnwise-Request";
const SEQUENCE: &str = "Turnwise-Sequence";
/// What a kill in the middle of a change may leave behind. Nobody else works here while the lock is held.
const LEFTOVERS: [&str; 3] = ["refs/heads/main.lock", "HEAD.lock", "packed-refs.lock"];

/// The repository of a service. As long as this value lives, nobody else changes it.
pub(crate) struct Repository {
    git: Git,
    lock: Lock,
}

/// A commit of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Its id.
    pub commit: String,
    /// Which commit of the service it is, from 1. It orders what follows from commits elsewhere.
    pub sequence: u64,
}

/// Something at the root of a tree: mode, type, id and name as git prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    line: String,
    name: String,
}

/// What is committed, and in whose name.
pub(crate) struct Change<'a> {
    /// The id of the request.
    pub(crate) request: &'a str,
    /// What its log lines carry.
    pub(crate) trace: &'a str,
    /// The first line of the message.
    pub(crate) subject: String,
    /// When the request was accepted, in seconds since 1970.
    pub(crate) at: i64,
    /// The trees of the parts that were made.
    pub(crate) made: Vec<String>,
    /// Root entries of parts that were not asked for: they stay as they are.
    pub(crate) kept: Vec<&'static str>,
    /// Files at the root.
    pub(crate) about: Files,
}

impl Repository {
    /// Opens the repository of a service, and makes it if it is not there.
    pub(crate) fn open(folder: &Path, service: &str) -> Result<Repository, Fault> {
        std::fs::create_dir_all(folder)
            .map_err(Fault::internal(format_args!("make {}", folder.display())))?;
        let lock = Lock::take(&folder.join(format!("{service}.lock")))?;
        let path = folder.join(format!("{service}.git"));
        if !path.join("HEAD").exists() {
            make(&path)?;
        }
        for leftover in LEFTOVERS {
            // Usually there is none.
            let _ = std::fs::remove_file(path.join(leftover));
        }
        Ok(Repository { git: Git::new(path), lock })
    }

    /// Writes files as one tree; its id.
    pub(crate) fn write(&self, files: &Files) -> Result<String, Fault> {
        let mut listing = String::new();
        for (path, text) in files {
            let blob = self.git.run(&["hash-object", "-w", "--no-filters", "--stdin"], text)?;
            listing.push_str(&format!("100644 {blob}\t{path}\n"));
        }
        let index = tempfile::tempdir().map_err(Fault::internal("make a folder for an index"))?;
        let git = self.git.with_index(&index.path().join("index"));
        git.run(&["update-index", "--add", "--index-info"], listing.as_bytes())?;
        git.run(&["write-tree"], b"")
    }

    /// The head of the branch, if there is one.
    fn head(&self) -> Result<Option<String>, Fault> {
        let found = self.git.run(&["for-each-ref", "--format=%(objectname)", BRANCH], b"")?;
        Ok((!found.is_empty()).then_some(found))
    }

    /// The service as it was last described.
    pub(crate) fn described(&self) -> Result<Option<Description>, Fault> {
        let Some(head) = self.head()? else { return Ok(None) };
        let text = self.git.run(&["cat-file", "blob", &format!("{head}:forge.json")], b"")?;
        let read = serde_json::from_str(&text);
        read.map(Some)
            .map_err(|error| Fault::new(Class::Git, format!("forge.json at {head} cannot be read: {error}")))
    }

    /// The commit of a request, if it is in the history.
    pub(crate) fn find(&self, request: &str) -> Result<Option<Committed>, Fault> {
        if self.head()?.is_none() {
            return Ok(None);
        }
        let format = format!(
            "--format=%H %(trailers:key={REQUEST},valueonly,separator=%x2C) %(trailers:key={SEQUENCE},valueonly,separator=%x2C)"
        );
        let log = self.git.run(&["log", &format, BRANCH], b"")?;
        for line in log.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let [commit, found, sequence] = words.as_slice()
                && *found == request
                && let Ok(sequence) = sequence.parse()
            {
                return Ok(Some(Committed { commit: (*commit).to_owned(), sequence }));
            }
        }
        Ok(None)
    }

    /// Whether there is an entry of this name at the root of the branch.
    pub(crate) fn has(&self, name: &str) -> Result<bool, Fault> {
        match self.head()? {
            Some(head) => Ok(self.entries(&head)?.iter().any(|entry| entry.name == name)),
            None => Ok(false),
        }
    }

    /// Commits a change, once: a request that is in the history already is answered with its commit.
    pub(crate) fn commit(&self, change: &Change<'_>) -> Result<Committed, Fault> {
        if let Some(found) = self.find(change.request)? {
            return Ok(found);
        }
        let head = self.head()?;
        let committed = self.prepare(change, head.as_deref())?;
        self.advance(&committed, head.as_deref())?;
        Ok(committed)
    }

    /// Writes the commit of a change, which nothing leads to yet.
    fn prepare(&self, change: &Change<'_>, head: Option<&str>) -> Result<Committed, Fault> {
        let tree = self.root(change, head)?;
        let sequence = match head {
            Some(head) => self.sequence(head)? + 1,
            None => 1,
        };
        let message = format!(
            "{}\n\n{REQUEST}: {}\n{SEQUENCE}: {sequence}\nTurnwise-Trace: {}\n",
            change.subject, change.request, change.trace
        );
        let mut arguments = vec!["commit-tree", &tree];
        arguments.extend(head.iter().flat_map(|head| ["-p", head]));
        let commit = self.git.at(change.at).run(&arguments, message.as_bytes())?;
        Ok(Committed { commit, sequence })
    }

    /// Moves the branch from where it was seen. If somebody else moved it meanwhile, this is refused.
    fn advance(&self, committed: &Committed, from: Option<&str>) -> Result<(), Fault> {
        let (commit, old) = (committed.commit.as_str(), from.unwrap_or(NOTHING));
        self.git.run_holding(&["update-ref", BRANCH, commit, old], &self.lock)
    }

    fn sequence(&self, commit: &str) -> Result<u64, Fault> {
        let format = format!("--format=%(trailers:key={SEQUENCE},valueonly,separator=%x2C)");
        let found = self.git.run(&["log", "-1", &format, commit], b"")?;
        found.parse().map_err(|_| {
            let text = format!("the commit {commit} has no sequence: somebody else wrote to this repository");
            Fault::new(Class::Git, text)
        })
    }

    /// The tree of a change: what was made, what stays, and what belongs to no part.
    fn root(&self, change: &Change<'_>, head: Option<&str>) -> Result<String, Fault> {
        let mut entries = Vec::new();
        for tree in &change.made {
            entries.extend(self.entries(tree)?);
        }
        if let Some(head) = head {
            let kept = self.entries(head)?;
            entries.extend(kept.into_iter().filter(|entry| change.kept.contains(&entry.name.as_str())));
        }
        entries.extend(self.entries(&self.write(&change.about)?)?);
        let listing: String = entries.iter().map(|entry| format!("{}\n", entry.line)).collect();
        self.git.run(&["mktree"], listing.as_bytes())
    }

    fn entries(&self, tree: &str) -> Result<Vec<Entry>, Fault> {
        let listing = self.git.run(&["ls-tree", tree], b"")?;
        let entry = |line: &str| {
            let (_, name) = line.split_once('\t')?;
            Some(Entry { line: line.to_owned(), name: name.to_owned() })
        };
        Ok(listing.lines().filter_map(entry).collect())
    }
}

/// Makes a repository beside its place and moves it there, so that half of one is never found.
fn make(path: &Path) -> Result<(), Fault> {
    let unfinished: PathBuf = path.with_extension("git.new");
    // One may be left from a process that was killed.
    let _ = std::fs::remove_dir_all(&unfinished);
    let git = Git::new(unfinished.clone());
    git.init(&unfinished)?;
    std::fs::rename(&unfinished, path).map_err(Fault::internal(format_args!("make {}", path.display())))?;
    let folder = path.parent().unwrap_or(path);
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(Fault::internal(format_args!("keep {}", folder.display())))
}

#[cfg(test)]
mod tests;
