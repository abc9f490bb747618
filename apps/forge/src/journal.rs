//! What a job said on its way, line by line: beside the repositories, for whoever looks at the job later.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use turnwise::JobId;
use utoipa::ToSchema;

/// The largest journal of a job. A job that says more is cut short there.
const JOURNAL_BYTES: u64 = 256 << 10;
/// The longest line.
const LINE: usize = 2 << 10;
/// Journals that are kept.
const JOURNALS: usize = 1_000;

/// The journal of one job.
pub(crate) struct Journal {
    path: PathBuf,
}

/// A line of a journal.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Line {
    /// When it was said, in microseconds since 1970.
    pub(crate) at: i64,
    /// The phase, if it was said in one.
    #[serde(default)]
    pub(crate) phase: Option<String>,
    /// What was said.
    pub(crate) text: String,
}

impl Journal {
    pub(crate) fn of(folder: &Path, job: JobId) -> Journal {
        Journal { path: folder.join("logs").join(format!("{job}.jsonl")) }
    }

    /// Adds a line. A journal that cannot be written costs nothing but the journal.
    pub(crate) fn say(&self, phase: Option<&str>, text: &str) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let text: String = text.chars().take(LINE).collect();
        let line = Line { at: now.as_micros() as i64, phase: phase.map(str::to_owned), text };
        if let Err(error) = self.add(&line) {
            tracing::warn!(%error, path = %self.path.display(), "a line of a journal was lost");
        }
    }

    fn add(&self, line: &Line) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.exists()) {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        if file.metadata()?.len() < JOURNAL_BYTES {
            // One write for the whole line: two processes never mix theirs.
            file.write_all(format!("{}\n", serde_json::to_string(line)?).as_bytes())?;
        }
        Ok(())
    }

    /// All lines. A job without a journal has none.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Removes the oldest journals, when there are more than are kept. Names of jobs sort by time.
pub(crate) fn tidy(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder.join("logs")) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    if paths.len() <= JOURNALS {
        return;
    }
    paths.sort();
    for path in &paths[..paths.len() - JOURNALS] {
        // Another process may have been faster.
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_back_and_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::of(folder.path(), JobId::from_u64(7));
        assert!(journal.lines().is_empty());
        journal.say(None, "begins");
        journal.say(Some("DNS_UPDATE"), &"x".repeat(10_000));
        let lines = journal.lines();
        assert_eq!(
            (lines.len(), lines[1].text.len(), lines[1].phase.as_deref()),
            (2, LINE, Some("DNS_UPDATE"))
        );
        for _ in 0..200 {
            journal.say(None, &"x".repeat(LINE));
        }
        let size = std::fs::metadata(&journal.path).unwrap().len();
        assert!((JOURNAL_BYTES..JOURNAL_BYTES + 3 * LINE as u64).contains(&size), "{size}");
    }

    #[test]
    fn the_oldest_journals_go() {
        let folder = tempfile::tempdir().unwrap();
        for job in 1..=JOURNALS as u64 + 5 {
            Journal::of(folder.path(), JobId::from_u64(job)).say(None, "x");
        }
        tidy(folder.path());
        assert!(Journal::of(folder.path(), JobId::from_u64(5)).lines().is_empty());
        assert_eq!(Journal::of(folder.path(), JobId::from_u64(6)).lines().len(), 1);
    }
}
