//! The tables, and how a database gets them. Illegal states are refused by the database too.

use super::link::Link;
use crate::store::StoreError;

/// The schema that this version makes.
pub(super) const SCHEMA: i32 = 1;
/// The oldest program, by the schema that it makes, that can work with this one. Nodes of neighbouring versions run side
/// by side while a fleet is upgraded: a migration first only adds what an older program need not know, and what became
/// useless goes one version later, when nobody who needs it is left.
const SERVES: i32 = 1;

/// What brings a database from one version to the next: the first makes it from nothing.
const MIGRATIONS: [&str; SCHEMA as usize] =
    [concat!(include_str!("migrations/1.sql"), include_str!("migrations/1_submit.sql"))];

/// Brings the schema up to this version. Safe when many nodes start together: one does it, the others wait.
pub(super) fn migrate(link: &mut Link) -> Result<(), StoreError> {
    link.pin()?;
    let migrated = link.batch("BEGIN").and_then(|()| steps(link)).and_then(|()| link.batch("COMMIT"));
    if migrated.is_err() {
        // The error that matters is the first one.
        let _ = link.batch("ROLLBACK");
    }
    link.unpin();
    migrated
}

fn steps(link: &mut Link) -> Result<(), StoreError> {
    let lock = link.lock_key();
    link.rows("SELECT pg_advisory_xact_lock($1)", &[&lock])?;
    let schema = link.schema().to_owned();
    // Whoever may use the schema but not make one is fine as soon as somebody has made it. Under the lock: two who
    // make it at once would get in each other's way, `IF NOT EXISTS` or not.
    if link.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&schema])?.is_empty() {
        link.batch(&format!("CREATE SCHEMA {}", quoted(&schema)))?;
    }
    let Version { number, serves } = version(link)?;
    if serves > SCHEMA {
        let (found, known) = (number.unsigned_abs(), SCHEMA.unsigned_abs());
        let path = format!("schema `{}` of the database", link.schema());
        return Err(StoreError::Newer { path, found, known });
    }
    for sql in MIGRATIONS.iter().skip(number.unsigned_abs() as usize) {
        link.batch(sql)?;
    }
    // A newer number stays: its owner has added what this version need not know.
    if number < SCHEMA {
        let noted = format!("INSERT INTO version (number, serves) VALUES ({SCHEMA}, {SERVES})");
        link.batch(&format!("DELETE FROM version; {noted}"))?;
    }
    Ok(())
}

/// What a schema says of itself.
struct Version {
    number: i32,
    serves: i32,
}

/// The version that a schema has; 0 if it is empty.
fn version(link: &mut Link) -> Result<Version, StoreError> {
    let schema = link.schema().to_owned();
    let known = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'version'";
    if link.rows(known, &[&schema])?.is_empty() {
        return Ok(Version { number: 0, serves: 0 });
    }
    let rows = link.rows("SELECT number, serves FROM version", &[])?;
    let half = "the schema is half made: no version is written down. Drop it, or restore a backup";
    let found = rows.first().map(|row| Version { number: row.get(0), serves: row.get(1) });
    found.ok_or_else(|| StoreError::Broken(half.into()))
}

/// A name as SQL takes it, whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
