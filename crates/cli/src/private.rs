//! Files that only their user may read: the token, and where the server is.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::Context as _;

use crate::failure::refused;

/// More than any of these files holds.
const MOST_BYTES: u64 = 64 << 10;

/// Makes a directory that nobody else may look into, if it is not there.
pub(crate) fn directory(path: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make {}: choose another directory with --data", path.display()))
}

/// Writes a file as a whole or not at all: whoever reads it sees the old one or the new one.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let part = path.with_extension("part");
    let write = || -> std::io::Result<()> {
        // What an interrupted start left is begun anew, so that its mode is ours.
        match fs::remove_file(&part) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().create_new(true).write(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a file that nobody else may read; nothing if there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if is_open_to_others(&file.metadata()?) {
        return Err(refused(format!("{0} can be read by others: chmod 600 {0}", path.display())));
    }
    let mut text = String::new();
    std::io::Read::take(&mut file, MOST_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(text))
}

/// Whether anybody but the owner may do anything with a file.
pub(crate) fn is_open_to_others(file: &fs::Metadata) -> bool {
    file.permissions().mode() & 0o077 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_user_may_read_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("token");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("chmod 600"));
    }
}
