//! A private PostgreSQL server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::account::Account;
use crate::server::{self, Kind, Server};
use crate::{place, port};

const ACCOUNT: Account = Account::of("postgres");
const MISSING: &str =
    "PostgreSQL is not installed: sudo apt-get update && sudo apt-get install -y postgresql";

/// A PostgreSQL server with a database of its own. It writes to the disk as it does in production.
pub struct Postgres(Server<Settings>);

struct Settings {
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    /// Starts a server in a temporary directory.
    pub fn start() -> Result<Self> {
        server::attempt("postgres", Self::once)
    }

    /// Starts a server in this directory, which is made, and lets it run until [`crate::stop_in`] is called.
    /// Returns its address.
    pub fn leave_in(directory: &Path) -> Result<String> {
        place::open(directory)?;
        let server = Self::once(directory.canonicalize()?)?;
        let url = server.url();
        server.0.leave()?;
        Ok(url)
    }

    /// Where it can be reached.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.0.kind().port)
    }

    /// Where everything is that it keeps, its log included.
    pub fn directory(&self) -> &Path {
        self.0.directory()
    }

    /// Stops it in order and starts it again at the same address.
    pub fn restart(&mut self) -> Result<()> {
        self.0.halt(Signal::INT)?;
        self.0.run()
    }

    /// Stops it in order. It can be started again with [`Postgres::restart`].
    pub fn stop(&mut self) -> Result<()> {
        self.0.halt(Signal::INT)
    }

    /// Lets it end as if the power had failed, and starts it again at the same address.
    pub fn crash(&mut self) -> Result<()> {
        // PostgreSQL's own word for it: every process ends at once, nothing is flushed.
        self.0.halt(Signal::QUIT)?;
        self.0.run()
    }

    fn once(directory: PathBuf) -> Result<Self> {
        let settings = Settings { programs: programs().context(MISSING)?, port: port::free()? };
        let mut server = Server::new(settings, directory)?;
        let directory = server.directory();
        place::open(&directory.join("sockets"))?;
        ACCOUNT.own(directory)?;
        let mut init = ACCOUNT.command(server.kind().programs.join("initdb"), directory);
        // Only the making of the empty database is not synced; the server itself syncs.
        init.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"]);
        let output = init.arg(directory.join("data")).output().context("cannot start `initdb`")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`initdb` ended with {}:\n{said}", output.status);
        server.run()?;
        Ok(Postgres(server))
    }
}

/// The programs of the newest version that is installed. They are not on the path.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter_map(|entry| Some((number(&entry.path())?, entry.path()))).max()?.1;
    Some(newest.join("bin")).filter(|programs| programs.join("postgres").is_file())
}

impl Kind for Settings {
    const NAME: &'static str = "PostgreSQL";
    // Its fast shutdown, which does not wait for those who are connected.
    const SIGNAL: (&'static str, Signal) = ("INT", Signal::INT);

    fn command(&self, directory: &Path) -> Result<Command> {
        let mut command = ACCOUNT.command(self.programs.join("postgres"), directory);
        command.arg("-D").arg(directory.join("data")).arg("-k").arg(directory.join("sockets"));
        command.args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-N", "200"]);
        Ok(command)
    }

    fn is_ready(&self, directory: &Path) -> bool {
        let mut ask = Command::new(self.programs.join("psql"));
        ask.env("PGCONNECT_TIMEOUT", "2").current_dir(directory).stdin(Stdio::null());
        ask.args([
            "-X",
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            "postgres",
            "-Atc",
            "select 7",
        ]);
        ask.output().is_ok_and(|output| output.stdout == b"7\n")
    }
}
