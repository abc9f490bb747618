//! Stops a server when the process that started it has ended without doing so.
//!
//! The guard is a shell that reads from a pipe which only our process holds open. However we end, the pipe closes;
//! then the guard stops the server and removes its directory. It has a process group of its own: what is sent to
//! ours, by a terminal or by a test runner, does not reach it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// `$1` is the directory, `$2` the signal, `$3` the port of a name server to stop as well, if there is one. A process
/// that works elsewhere is not the server, but has got the number of one that ended.
const SCRIPT: &str = r#"
cat >/dev/null
P=$(cat "$1/pid" 2>/dev/null)
lives() { case "$(readlink "/proc/$P/cwd" 2>/dev/null)" in "$1"|"$1"/*) return 0;; *) return 1;; esac; }
if [ -n "$P" ] && lives "$1"; then
  kill -s "$2" "$P"
  N=0
  while lives "$1" && [ $N -lt 300 ]; do sleep 0.1; N=$((N + 1)); done
  if lives "$1"; then kill -s KILL "$P"; fi
fi
if [ -n "$3" ]; then epmd -port "$3" -kill >/dev/null 2>&1; fi
rm -rf "$1"
"#;

/// A guard on its post. Dropping it sends it away, and it does nothing.
pub(crate) struct Guard(Child);

impl Guard {
    /// Watches over the server in a directory.
    pub(crate) fn post(directory: &Path, signal: &str, names: Option<u16>) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "guard"]).arg(directory).arg(signal);
        command.arg(names.map(|port| port.to_string()).unwrap_or_default());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Not in a directory that is to be removed.
        command.current_dir("/").process_group(0);
        Ok(Guard(command.spawn().context("cannot start the shell that watches over a server")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The pipe is still open: it is waiting, and has no other process but the one that reads.
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
