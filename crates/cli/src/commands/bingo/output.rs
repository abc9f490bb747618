//! A file that somebody asked for: it is there as a whole, or as it was before.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// A file that is being written.
pub(super) struct Output {
    pub(super) to: BufWriter<File>,
    /// Where it is until it is whole, and where it goes then.
    unfinished: Option<(TempPath, PathBuf)>,
}

impl Output {
    /// Begins it beside the place where it goes. What is no file, such as a pipe, is written to as it is.
    pub(super) fn open(path: &Path) -> io::Result<Output> {
        let there = std::fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let to = BufWriter::new(File::options().write(true).open(path)?);
            return Ok(Output { to, unfinished: None });
        }
        // A link stays one: what it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        // Whoever breaks it off sees what is left, and of what.
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        let begun = tempfile::Builder::new()
            .prefix(&name)
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory.unwrap_or(Path::new(".")))?;
        if let Some(there) = there {
            begun.as_file().set_permissions(there.permissions())?;
        }
        let (file, begun) = begun.into_parts();
        Ok(Output { to: BufWriter::new(file), unfinished: Some((begun, path)) })
    }

    /// It is whole.
    pub(super) fn keep(mut self) -> io::Result<()> {
        self.to.flush()?;
        match self.unfinished {
            Some((begun, path)) => begun.persist(path).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_when_it_is_whole_and_not_before() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("runs.csv");
        std::fs::write(&path, "old").unwrap();
        let mut given_up = Output::open(&path).unwrap();
        given_up.to.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        let mut whole = Output::open(&path).unwrap();
        whole.to.write_all(b"new").unwrap();
        whole.keep().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_no_file_stays_what_it_is() {
        let nowhere = Path::new("/dev/null");
        let mut out = Output::open(nowhere).unwrap();
        out.to.write_all(b"gone").unwrap();
        out.keep().unwrap();
        assert!(!std::fs::metadata(nowhere).unwrap().is_file());
    }
}
