//! What a doctor looks at. Nothing here changes anything, except for a file that is made and removed to see
//! whether that is possible.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Check;
use crate::client::{Client, with_data};
use crate::failure::Failure;
use crate::private;
use crate::span;

/// Below this much room a warning, below that a failure.
const ROOM_WARN: u64 = 1 << 30;
const ROOM_FAIL: u64 = 64 << 20;
/// No clock is right before this: 2025-01-01, where ids begin.
const EARLIEST: Duration = Duration::from_secs(1_735_689_600);
/// Clocks of this machine that differ by more are not the same clock.
const DRIFT: Duration = Duration::from_secs(5);

/// Whether the directory can be used.
pub(super) fn directory(data: &Path) -> Check {
    const WHAT: &str = "directory";
    let shown = data.display();
    match fs::metadata(data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::ok(WHAT, format!("{shown} is not there yet: `turnwise up` makes it"));
        }
        Err(error) => return Check::fail(WHAT, format!("{shown} cannot be looked at: {error}")),
        Ok(found) if !found.is_dir() => {
            return Check::fail(WHAT, format!("{shown} is not a directory: choose another with --data"));
        }
        Ok(_) => {}
    }
    let probe = data.join(format!(".doctor-{}", std::process::id()));
    match File::options().create_new(true).write(true).open(&probe).and_then(|_| fs::remove_file(&probe)) {
        Ok(()) => Check::ok(WHAT, format!("{shown} can be written to")),
        Err(error) => Check::fail(
            WHAT,
            format!("{shown} cannot be written to: {error}. Check who owns it: ls -ld {shown}"),
        ),
    }
}

/// Whether there is room.
pub(super) fn space(data: &Path) -> Check {
    const WHAT: &str = "space";
    // The directory may not be there yet; what holds it is.
    let place = data.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("."));
    match rustix::fs::statvfs(place) {
        Err(error) => Check::warn(WHAT, format!("free space cannot be read: {error}")),
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let text = format!("{} MiB free on the disk", free >> 20);
            if free < ROOM_FAIL {
                Check::fail(WHAT, format!("{text}: free some, new work will be refused"))
            } else if free < ROOM_WARN {
                Check::warn(WHAT, format!("{text}: free some before it is full"))
            } else {
                Check::ok(WHAT, text)
            }
        }
    }
}

/// Whether anybody else may read what is secret.
pub(super) fn modes(data: &Path) -> Check {
    const WHAT: &str = "modes";
    let open: Vec<String> = ["token", "server.json", "vault.key", "turnwise.db"]
        .into_iter()
        .map(|name| data.join(name))
        .filter(|path| fs::metadata(path).is_ok_and(|file| private::is_open_to_others(&file)))
        .map(|path| path.display().to_string())
        .collect();
    match open.is_empty() {
        true => Check::ok(WHAT, "nobody else may read the token, the vault's key and the database"),
        false => Check::fail(WHAT, format!("others may read {0}: chmod 600 {0}", open.join(" "))),
    }
}

/// Whether the database can be read by this version.
pub(super) fn schema(data: &Path) -> Check {
    const WHAT: &str = "database";
    match turnwise::inspect(data) {
        Err(error) => Check::fail(WHAT, error.to_string()),
        Ok(seen) => match seen.schema {
            None => Check::ok(WHAT, "there is none yet: `turnwise up` makes it"),
            Some(schema) if schema > seen.known => {
                let known = seen.known;
                Check::fail(
                    WHAT,
                    format!("schema {schema} is newer than this version ({known}): upgrade Turnwise"),
                )
            }
            Some(schema) => {
                Check::ok(WHAT, format!("{} can be read (schema {schema})", seen.database.display()))
            }
        },
    }
}

/// Whether an engine runs, and answers.
pub(super) fn engine(data: &Path) -> Vec<Check> {
    const WHAT: &str = "engine";
    let health = Client::open(data).and_then(|client| {
        let kinds = client.get("/api/v1/kinds", &[])?;
        Ok((client.get("/health", &[])?, kinds, client.address()))
    });
    let (health, kinds, address) = match health {
        Ok(answered) => answered,
        Err(error) => return vec![silent(data, &error)],
    };
    let version = health["version"].as_str().unwrap_or_default();
    let mut checks =
        vec![Check::ok(WHAT, format!("runs (pid {}) and answers at http://{address}", health["pid"]))];
    if version != env!("CARGO_PKG_VERSION") {
        let text = format!(
            "the engine is version {version}, this program {}: restart it",
            env!("CARGO_PKG_VERSION")
        );
        checks.push(Check::warn("version", text));
    }
    let kinds = kinds["kinds"].as_array().into_iter().flatten();
    let lonely: Vec<&str> =
        kinds.filter(|kind| kind["alarm"] == true).filter_map(|kind| kind["name"].as_str()).collect();
    if !lonely.is_empty() {
        let text = format!(
            "jobs wait, but nobody has a handler for: {}. Start a worker for them",
            lonely.join(", ")
        );
        checks.push(Check::warn("workers", text));
    }
    let theirs = Duration::from_micros(health["time"].as_u64().unwrap_or(0));
    let ours = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if ours.abs_diff(theirs) > DRIFT {
        let apart = span::rough(ours.abs_diff(theirs));
        checks.push(Check::warn(
            "clock",
            format!("the engine's clock is {apart} apart from ours: was it set?"),
        ));
    }
    checks
}

/// Why nobody answers.
fn silent(data: &Path, error: &anyhow::Error) -> Check {
    const WHAT: &str = "engine";
    let in_use = turnwise::inspect(data).is_ok_and(|seen| seen.in_use);
    match (in_use, Failure::exit_code(error)) {
        (true, _) => {
            Check::fail(WHAT, format!("one has the directory open, but its server cannot be used: {error:#}"))
        }
        (false, 3) => {
            Check::ok(WHAT, format!("none runs; start one with `{}`", with_data("turnwise up", data)))
        }
        (false, _) => Check::fail(WHAT, format!("{error:#}")),
    }
}

/// Whether the clock can be right.
pub(super) fn clock(data: &Path) -> Check {
    const WHAT: &str = "clock";
    let now = SystemTime::now();
    if now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since < EARLIEST) {
        return Check::fail(WHAT, "this machine's clock is before 2025: set it");
    }
    let written = fs::metadata(data.join("turnwise.db")).and_then(|file| file.modified());
    match written.ok().and_then(|written| written.duration_since(now).ok()).filter(|ahead| *ahead > DRIFT) {
        Some(ahead) => {
            let text = format!(
                "the database was written {} in the future: was the clock set back?",
                span::rough(ahead)
            );
            Check::warn(WHAT, text)
        }
        None => Check::ok(WHAT, "this machine's clock makes sense"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use turnwise::Health;

    use super::*;

    #[test]
    fn a_fresh_directory_is_fine() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("not/yet");
        let checks = [directory(&data), modes(&data), schema(&data), clock(&data)];
        assert!(checks.iter().all(|check| check.verdict == Health::Ok), "{checks:?}");
        assert!(engine(&data)[0].says.contains("turnwise up"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(directory(&file).says.contains("not a directory"));
        let token = home.path().join("token");
        fs::write(&token, "x").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
        let check = modes(home.path());
        assert_eq!(check.verdict, Health::Fail);
        assert!(check.says.contains("chmod 600") && check.says.contains("token"));
        fs::write(home.path().join("turnwise.db"), "this is no database, it is a long text").unwrap();
        assert_eq!(schema(home.path()).verdict, Health::Fail);
    }
}
