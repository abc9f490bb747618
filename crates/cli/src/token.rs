//! The first token: whoever has it may do everything. It is in a file that only its user may read, and is printed once, as
//! a link, when it is made.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use turnwise_server::Secret;

use crate::failure::refused;
use crate::private;

fn path(data: &Path) -> PathBuf {
    data.join("token")
}

/// Reads the token of a data directory; nothing if there is none yet.
pub(crate) fn read(data: &Path) -> anyhow::Result<Option<Secret>> {
    let path = path(data);
    let Some(text) = private::read(&path)? else { return Ok(None) };
    match Secret::parse(text.trim()) {
        Some(secret) => Ok(Some(secret)),
        None => Err(refused(format!(
            "{0} is no token: remove it, the next `turnwise up` makes a new one",
            path.display()
        ))),
    }
}

/// Reads the token of a data directory, or makes one. Whether it was made now.
pub(crate) fn read_or_make(data: &Path) -> anyhow::Result<(Secret, bool)> {
    if let Some(secret) = read(data)? {
        return Ok((secret, false));
    }
    let secret = Secret::random().ok_or_else(|| refused("the system gives no random numbers"))?;
    private::write(&path(data), secret.reveal()).context("the token cannot be kept")?;
    Ok((secret, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_read_again() {
        let home = tempfile::tempdir().unwrap();
        assert!(read(home.path()).unwrap().is_none());
        let (made, new) = read_or_make(home.path()).unwrap();
        let (again, newer) = read_or_make(home.path()).unwrap();
        assert_eq!((made.reveal(), new, newer), (again.reveal(), true, false));
        private::write(&home.path().join("token"), "short").unwrap();
        assert!(read(home.path()).err().unwrap().to_string().contains("makes a new one"));
    }
}
