//! What all servers have in common: a process in a directory, which ends when nobody needs it any more.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::guard::Guard;
use crate::{place, poll};

/// How long a server may take to start, and to stop before it is killed.
const START: Duration = Duration::from_secs(90);
const STOP: Duration = Duration::from_secs(30);
/// How often a server is started on other ports, because somebody was faster.
const ATTEMPTS: usize = 3;

/// Starts a server in a temporary directory, and again on other ports if it did not come up.
pub(crate) fn attempt<T>(kind: &str, start: impl Fn(PathBuf) -> Result<T>) -> Result<T> {
    let once = || {
        let directory = place::fresh(kind)?;
        // Nothing is left of what did not start.
        start(directory.clone()).inspect_err(|_| drop(fs::remove_dir_all(directory)))
    };
    let mut started = once();
    for _ in 1..ATTEMPTS {
        if started.is_ok() {
            break;
        }
        started = once();
    }
    started
}

/// How a kind of server is started and stopped.
pub(crate) trait Kind {
    /// How it is called in errors.
    const NAME: &'static str;
    /// What ends it in order, as `kill` calls it.
    const SIGNAL: (&'static str, Signal);

    /// The command that becomes the server, or that runs as long as it does.
    fn command(&self, directory: &Path) -> Result<Command>;

    /// Asks it a real question; `true` when it has answered.
    fn is_ready(&self, directory: &Path) -> bool;

    /// The port of a name server that it brings along.
    fn names(&self) -> Option<u16> {
        None
    }
}

/// A server that was started here.
pub(crate) struct Server<K: Kind> {
    kind: K,
    directory: PathBuf,
    child: Option<Child>,
    guard: Option<Guard>,
}

impl<K: Kind> Server<K> {
    /// A server that is not started yet, in a directory that can be prepared for it. From now on nothing of it stays
    /// behind.
    pub(crate) fn new(kind: K, directory: PathBuf) -> Result<Self> {
        let guard = Guard::post(&directory, K::SIGNAL.0, kind.names())?;
        Ok(Server { kind, directory, child: None, guard: Some(guard) })
    }

    pub(crate) fn kind(&self) -> &K {
        &self.kind
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts what was prepared or stopped, and waits until it answers.
    pub(crate) fn run(&mut self) -> Result<()> {
        let log = self.directory.join("output");
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = self.kind.command(&self.directory)?;
        // A group of its own: what a terminal sends to ours does not reach it.
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", K::NAME))?;
        let own = self.directory.join("pid");
        if !self.brings_pid() {
            place::write(&own, &child.id().to_string())?;
        }
        let ready = poll::until(&format!("starting {}", K::NAME), START, || {
            if let Some(status) = child.try_wait()? {
                bail!("{} ended with {status}:\n{}", K::NAME, place::tail(&log));
            }
            Ok((own.exists() && self.kind.is_ready(&self.directory)).then_some(()))
        });
        self.child = Some(child);
        ready
    }

    /// Stops it, and keeps its directory.
    pub(crate) fn halt(&mut self, signal: Signal) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        match living(&self.directory) {
            Some(pid) => {
                kill_process(pid, signal)?;
                let what = format!("stopping {}", K::NAME);
                let gone = || Ok(child.try_wait()?.filter(|_| !lives(pid, &self.directory)));
                if poll::until(&what, STOP, gone).is_err() {
                    let _ = kill_process(pid, Signal::KILL);
                    let _ = child.kill();
                    child.wait()?;
                }
            }
            // It ended by itself, or before it was there at all.
            None => {
                let _ = child.kill();
                child.wait()?;
            }
        }
        if let Some(port) = self.kind.names() {
            stop_names(port);
        }
        // A number that somebody else may have tomorrow.
        let _ = fs::remove_file(self.directory.join("pid"));
        Ok(())
    }

    /// Lets it run on when this process ends. [`stop_in`] stops it.
    pub(crate) fn leave(mut self) -> Result<()> {
        place::write(&self.directory.join("signal"), K::SIGNAL.0)?;
        if let Some(port) = self.kind.names() {
            place::write(&self.directory.join("names"), &port.to_string())?;
        }
        self.guard = None;
        self.child = None;
        Ok(())
    }

    /// A server behind a script says itself which process it is.
    fn brings_pid(&self) -> bool {
        self.kind.names().is_some()
    }
}

impl<K: Kind> Drop for Server<K> {
    fn drop(&mut self) {
        // Without a guard it was left to itself.
        if let Some(guard) = self.guard.take() {
            let _ = self.halt(K::SIGNAL.1);
            drop(guard);
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Stops the server that was left in a directory, removes the directory, and says whether one was running.
pub fn stop_in(directory: &Path) -> Result<bool> {
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
    let running = living(directory);
    if let Some(pid) = running {
        let signal = if read("signal") == "INT" { Signal::INT } else { Signal::TERM };
        kill_process(pid, signal)?;
        poll::until("stopping a server", STOP, || Ok((!lives(pid, directory)).then_some(())))?;
    }
    if let Ok(port) = read("names").parse() {
        stop_names(port);
    }
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(running.is_some())
}

/// The server's process, if it still runs.
fn living(directory: &Path) -> Option<Pid> {
    let text = fs::read_to_string(directory.join("pid")).ok()?;
    let pid = Pid::from_raw(text.trim().parse().ok()?)?;
    lives(pid, directory).then_some(pid)
}

/// A process that works elsewhere is another one with the same number, and one that works nowhere has ended.
fn lives(pid: Pid, directory: &Path) -> bool {
    let place = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
    place.is_ok_and(|place| place.starts_with(directory))
}

/// Ends the name server of a RabbitMQ server. It refuses while somebody is registered, and it may be gone already.
fn stop_names(port: u16) {
    let mut command = Command::new("epmd");
    command.args(["-port", &port.to_string(), "-kill"]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status();
}
