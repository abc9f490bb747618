//! A process that ends with ours, together with everything that it started.
//!
//! It has a process group of its own, which is killed when its value is dropped. If our process is killed before that, a
//! guard does it: a shell that reads from a pipe which only our process holds open.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A process on a leash.
pub(crate) struct Leash {
    child: Child,
    guard: Child,
    id: Pid,
    ended: bool,
}

impl Leash {
    /// Starts it and waits until a line of its output is what somebody looks for.
    pub(crate) fn start<T>(
        command: &mut Command,
        mut look: impl FnMut(&str) -> Option<T>,
    ) -> Result<(Self, T)> {
        let name = command.get_program().display().to_string();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let id = Pid::from_child(&child);
        let output = BufReader::new(child.stdout.take().context("its output is not piped")?);
        let guard = Command::new("sh")
            .args(["-c", "cat >/dev/null; kill -s KILL -- \"-$1\"", "guard", &id.to_string()])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        let leash = Leash { child, guard, id, ended: false };
        let mut lines = output.lines();
        for line in lines.by_ref() {
            if let Some(found) = look(&line?) {
                // What it says later is read too, so that it never waits for a reader.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok((leash, found));
            }
        }
        bail!("{name} ended before it was ready")
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<ExitStatus> {
        kill_process(self.id, Signal::TERM).context("it has ended already")?;
        let status = self.child.wait()?;
        self.ended = true;
        Ok(status)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Whatever it has started may still be there when it has ended itself; if not, this finds nobody.
        let _ = kill_process_group(self.id, Signal::KILL);
        if !self.ended {
            let _ = self.child.wait();
        }
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}
