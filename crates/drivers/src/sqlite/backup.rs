//! A copy of the database, and a look at it from outside: for tools, whether or not an engine runs on it.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{DATABASE, lock, schema};
use crate::store::StoreError;

/// What a directory holds, as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The database file.
    pub database: PathBuf,
    /// Its schema, if there is a database.
    pub schema: Option<u32>,
    /// The schema that this version reads and writes.
    pub known: u32,
    /// Whether an engine has the directory open.
    pub in_use: bool,
}

/// Looks at a directory without changing anything in it.
pub fn inspect(directory: &Path) -> Result<Inspection, StoreError> {
    let database = directory.join(DATABASE);
    let in_use = lock::is_held(directory)?;
    let schema = match database.exists() {
        true => Some(schema::version(&reader(&database)?).map_err(|error| schema::fault(&error))?),
        false => None,
    };
    Ok(Inspection { database, schema, known: schema::SCHEMA, in_use })
}

/// Writes a consistent copy of the database to a new file, also while an engine runs on it. The file is
/// complete or not there; one that exists is never written over.
pub fn backup(directory: &Path, file: &Path) -> Result<(), StoreError> {
    let database = directory.join(DATABASE);
    if !database.exists() {
        return Err(unusable(&database, "there is no database in it"));
    }
    if file.exists() {
        return Err(unusable(file, "it exists already; a backup never writes over a file"));
    }
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let copied = copy(&database, &part).and_then(|()| put_in_place(&part, file));
    if copied.is_err() {
        // The first error is what the caller must know.
        let _ = fs::remove_file(&part);
    }
    copied
}

fn copy(database: &Path, part: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| unusable(part, &error.to_string());
    // Made by us, so that nobody else may read it at any moment. What an interrupted backup left is begun
    // anew.
    let made = File::options().create(true).truncate(true).write(true).mode(0o600).open(part).map_err(io)?;
    let name = part.to_str().ok_or_else(|| unusable(part, "its name is no text"))?;
    let connection = reader(database)?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| schema::fault(&error))?;
    made.sync_all().map_err(io)
}

fn put_in_place(part: &Path, file: &Path) -> Result<(), StoreError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, part, CWD, file, RenameFlags::NOREPLACE)
        .map_err(|error| unusable(file, &error.to_string()))?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(|error| unusable(parent, &error.to_string()))
}

fn reader(database: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(database, flags).map_err(|error| unusable(database, &error.to_string()))
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::Unusable { path: path.display().to_string(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::sqlite::{SqliteOptions, SqliteStore};

    fn store(directory: &Path) -> SqliteStore {
        let options = SqliteOptions { directory: directory.into(), most_bytes: None };
        SqliteStore::open(&options, Arc::new(SystemClock)).unwrap()
    }

    #[test]
    fn a_copy_can_be_opened_and_nothing_is_written_over() {
        let home = tempfile::tempdir().unwrap();
        let (data, file) = (home.path().join("data"), home.path().join("copy.db"));
        assert!(backup(&data, &file).unwrap_err().to_string().contains("no database"));
        let running = store(&data);
        backup(&data, &file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(backup(&data, &file).unwrap_err().to_string().contains("exists already"));
        drop(running);
        backup(&data, &home.path().join("stopped.db")).unwrap();
        let restored = home.path().join("restored");
        fs::create_dir(&restored).unwrap();
        fs::copy(&file, restored.join(DATABASE)).unwrap();
        drop(store(&restored));
        let names: Vec<_> =
            fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{names:?}");
    }

    #[test]
    fn seen_from_outside() {
        let home = tempfile::tempdir().unwrap();
        let none = inspect(home.path()).unwrap();
        assert_eq!((none.schema, none.in_use), (None, false));
        let running = store(home.path());
        let seen = inspect(home.path()).unwrap();
        assert_eq!((seen.schema, seen.in_use), (Some(seen.known), true));
        drop(running);
        assert!(!inspect(home.path()).unwrap().in_use);
    }
}
