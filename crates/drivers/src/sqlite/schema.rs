//! The tables, and how a file is opened. Illegal states are refused by the database too.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::StoreError;

/// The schema that this version reads and writes.
pub(super) const SCHEMA: u32 = 1;
/// Pages of this size; the usual one of file systems.
pub(super) const PAGE: u64 = 4_096;

/// The writer's page cache, in kB. More would be slower: whenever a tree was balanced, SQLite goes through the whole
/// cache at the end of the commit (a twentieth of the writer's time with 24 MB).
const CACHE: &str = "-8000";

const TABLES: &str = "
CREATE TABLE job (
    id        INTEGER PRIMARY KEY,
    version   INTEGER NOT NULL,
    state     INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7),
    line      INTEGER NOT NULL,
    lane      INTEGER,
    position  INTEGER,
    attempt   INTEGER NOT NULL CHECK (attempt >= 0),
    attempts  INTEGER NOT NULL CHECK (attempts > 0),
    rescues   INTEGER NOT NULL,
    fence     INTEGER NOT NULL,
    session   INTEGER,
    submitted INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    flags     INTEGER NOT NULL,
    payload   BLOB,                       -- NULL: it is long, and in the table `payload`
    CHECK ((state = 3) = (session IS NOT NULL)),
    CHECK ((lane IS NULL) = (position IS NULL))
);
CREATE INDEX job_ready   ON job (line, id, version) WHERE state = 2;
CREATE INDEX job_due     ON job (at, id)            WHERE state IN (1, 4);
CREATE INDEX job_running ON job (session, id)       WHERE state = 3;
CREATE INDEX job_dead    ON job (id)                WHERE state = 6;
CREATE UNIQUE INDEX job_waiting ON job (lane, position) WHERE state = 0 AND position > 0;

CREATE TABLE payload (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE result  (id INTEGER PRIMARY KEY, body BLOB NOT NULL);

CREATE TABLE line (
    id        INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL,
    owner     TEXT NOT NULL,
    priority  INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    batch     INTEGER,
    limit_key TEXT
);
CREATE INDEX line_batch ON line (batch) WHERE batch IS NOT NULL;

CREATE TABLE lane (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    next     INTEGER NOT NULL CHECK (next > 0),
    head     INTEGER,
    waiting  INTEGER NOT NULL CHECK (waiting >= 0),
    on_dead  INTEGER NOT NULL,
    halted   INTEGER NOT NULL,
    paused   INTEGER NOT NULL
);

CREATE TABLE batch (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    owner     TEXT NOT NULL,
    opened    INTEGER NOT NULL,
    settled   INTEGER NOT NULL,
    phase     INTEGER NOT NULL CHECK (phase BETWEEN 0 AND 3),
    total     INTEGER NOT NULL,
    done      INTEGER NOT NULL,
    dead      INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    repaired  INTEGER NOT NULL,
    then_job  INTEGER,
    then_when INTEGER,
    cancel    INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    first     INTEGER NOT NULL,
    CHECK (done + dead + cancelled <= total),
    CHECK (phase < 2 OR done + dead + cancelled = total)
);

CREATE TABLE account (
    owner   TEXT PRIMARY KEY,
    weight  INTEGER NOT NULL CHECK (weight > 0),
    quota   INTEGER NOT NULL,
    backlog INTEGER NOT NULL CHECK (backlog >= 0)
) WITHOUT ROWID;

CREATE TABLE tally (
    owner TEXT NOT NULL, kind TEXT NOT NULL,
    waiting INTEGER NOT NULL, scheduled INTEGER NOT NULL, ready INTEGER NOT NULL, running INTEGER NOT NULL,
    retrying INTEGER NOT NULL, done INTEGER NOT NULL, dead INTEGER NOT NULL, cancelled INTEGER NOT NULL,
    PRIMARY KEY (owner, kind)
) WITHOUT ROWID;

CREATE TABLE unique_key (
    kind TEXT NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX unique_key_until ON unique_key (until);
CREATE INDEX unique_key_job   ON unique_key (job) WHERE until = 9223372036854775807;

CREATE TABLE step (
    number INTEGER PRIMARY KEY, job INTEGER NOT NULL, name TEXT NOT NULL, output BLOB NOT NULL,
    UNIQUE (job, name)
);

CREATE TABLE error (
    job INTEGER NOT NULL, fence INTEGER NOT NULL, attempt INTEGER NOT NULL,
    started INTEGER NOT NULL, ended INTEGER NOT NULL, failure TEXT NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (job, fence)
) WITHOUT ROWID;

CREATE TABLE session (
    id INTEGER PRIMARY KEY, node TEXT NOT NULL, number INTEGER NOT NULL,
    pools TEXT NOT NULL, kinds TEXT NOT NULL, opened INTEGER NOT NULL, until INTEGER NOT NULL
);

CREATE TABLE lease (
    name TEXT PRIMARY KEY, holder TEXT NOT NULL, term INTEGER NOT NULL CHECK (term > 0), until INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE secret (name TEXT PRIMARY KEY, sealed BLOB NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE message (
    queue TEXT NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (queue, number)
) WITHOUT ROWID;

-- Small things that are only ever read whole: kinds, schedules, tokens, pauses, gauges, buckets, progress, queues.
CREATE TABLE record (
    space TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;

CREATE TABLE event (block INTEGER PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL);
";

/// Opens the file to write, and makes the tables if it is new.
pub(super) fn open(path: &Path, most_bytes: Option<u64>) -> Result<Connection, StoreError> {
    let unusable = |error: rusqlite::Error| match fault(&error) {
        StoreError::Failed(why) => StoreError::Unusable { path: path.display().to_string(), why },
        other => other,
    };
    let connection = Connection::open(path).map_err(unusable)?;
    private(path)?;
    // synchronous=FULL: every commit is on the disk before it is answered. No automatic checkpoints: they
    // would happen inside somebody's commit.
    let setting = |name: &str, value: &str| {
        connection.pragma_update(None, name, value).map_err(|error| match fault(&error) {
            StoreError::Failed(why) => StoreError::Unusable { path: path.display().to_string(), why },
            other => other,
        })
    };
    setting("page_size", "4096")?;
    setting("journal_mode", "wal")?;
    setting("synchronous", "full")?;
    setting("wal_autocheckpoint", "0")?;
    setting("cache_size", CACHE)?;
    setting("temp_store", "memory")?;
    if let Some(bytes) = most_bytes {
        setting("max_page_count", &(bytes / PAGE).max(64).to_string())?;
    }
    connection.set_prepared_statement_cache_capacity(128);
    keep_plans(&connection).map_err(unusable)?;
    match version(&connection).map_err(unusable)? {
        0 => {
            let make = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;");
            connection.execute_batch(&make).map_err(unusable)?;
        }
        SCHEMA => {}
        found => {
            let path = path.display().to_string();
            return Err(StoreError::Newer { path, found, known: SCHEMA });
        }
    }
    Ok(connection)
}

/// The schema that a file has; 0 if it is new.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Opens the file to read.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(&error))?;
    connection.set_prepared_statement_cache_capacity(64);
    keep_plans(&connection).map_err(|error| fault(&error))?;
    connection.pragma_update(None, "cache_size", "-4000").map_err(|error| fault(&error))?;
    Ok(connection)
}

/// A plan is made once for a statement. Without this SQLite looks at the bound values to judge the partial indexes,
/// and prepares the statement again whenever one differs: the reader's thread did little else in a profile.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Opens the file to checkpoint it.
pub(super) fn open_checkpointer(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path).map_err(|error| fault(&error))?;
    connection.pragma_update(None, "wal_autocheckpoint", "0").map_err(|error| fault(&error))?;
    connection.pragma_update(None, "synchronous", "full").map_err(|error| fault(&error))?;
    connection.pragma_update(None, "cache_size", "-256").map_err(|error| fault(&error))?;
    Ok(connection)
}

/// Nobody but its user may look into the file.
fn private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| StoreError::Unusable { path: path.display().to_string(), why: error.to_string() })
}

/// What a fault of SQLite means for the caller.
pub(super) fn fault(error: &rusqlite::Error) -> StoreError {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        // The index of the log found no room to grow.
        Some(ErrorCode::SystemIoFailure) if extended == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
            StoreError::Full
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Broken(format!("the database file is damaged ({error})"))
        }
        Some(ErrorCode::ConstraintViolation) => {
            StoreError::Broken(format!("a state that must not be was refused by the database ({error})"))
        }
        Some(ErrorCode::SystemIoFailure) => StoreError::Failed(format!("{error}, SQLite's code {extended}")),
        _ => StoreError::Failed(error.to_string()),
    }
}
