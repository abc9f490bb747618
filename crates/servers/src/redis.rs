//! A private Redis server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::account::Account;
use crate::server::{self, Kind, Server};
use crate::{certificates, place, port};

const ACCOUNT: Account = Account::of("redis");
const PROGRAM: &str = "/usr/bin/redis-server";
const MISSING: &str = "Redis is not installed: sudo apt-get update && sudo apt-get install -y redis-server";
const LIMIT: Duration = Duration::from_secs(5);

/// A Redis server that keeps a log of what it was told, and evicts nothing.
pub struct Redis(Server<Settings>);

struct Settings {
    port: u16,
    /// For encrypted connections.
    encrypted: Option<u16>,
}

impl Redis {
    /// Starts a server in a temporary directory.
    pub fn start() -> Result<Self> {
        server::attempt("redis", |directory| Self::once(directory, false))
    }

    /// Starts a server that can also be reached over an encrypted connection.
    pub fn start_encrypted() -> Result<Self> {
        server::attempt("redis", |directory| Self::once(directory, true))
    }

    /// Starts a server in this directory, which is made, and lets it run until [`crate::stop_in`] is called.
    /// Returns its address.
    pub fn leave_in(directory: &Path) -> Result<String> {
        place::open(directory)?;
        let server = Self::once(directory.canonicalize()?, false)?;
        let url = server.url();
        server.0.leave()?;
        Ok(url)
    }

    /// Where it can be reached.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.0.kind().port)
    }

    /// Where it can be reached over an encrypted connection, if it was started like that, and whom to trust then.
    pub fn encrypted(&self) -> Option<(String, PathBuf)> {
        let url = format!("rediss://localhost:{}/", self.0.kind().encrypted?);
        Some((url, certificates::authority(self.0.directory())))
    }

    /// Lets it forget everything.
    pub fn flush(&self) -> Result<()> {
        self.tell("FLUSHALL")
    }

    /// Sends it one command of plain words, such as `CONFIG SET maxmemory-policy allkeys-lru`, which it must answer
    /// with OK.
    pub fn tell(&self, command: &str) -> Result<()> {
        let answer = ask(self.0.kind().port, command)?;
        ensure!(answer.starts_with("+OK"), "Redis answered `{command}` with {answer}");
        Ok(())
    }

    /// Where everything is that it keeps, its log included.
    pub fn directory(&self) -> &Path {
        self.0.directory()
    }

    /// Stops it in order and starts it again at the same address.
    pub fn restart(&mut self) -> Result<()> {
        self.0.halt(Signal::TERM)?;
        self.0.run()
    }

    /// Stops it in order. It can be started again with [`Redis::restart`].
    pub fn stop(&mut self) -> Result<()> {
        self.0.halt(Signal::TERM)
    }

    fn once(directory: PathBuf, encrypted: bool) -> Result<Self> {
        ensure!(Path::new(PROGRAM).is_file(), MISSING);
        let settings = Settings { port: port::free()?, encrypted: encrypted.then(port::free).transpose()? };
        let mut server = Server::new(settings, directory)?;
        if encrypted {
            certificates::make(server.directory())?;
        }
        ACCOUNT.own(server.directory())?;
        server.run()?;
        Ok(Redis(server))
    }
}

fn ask(port: u16, command: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("Redis cannot be reached")?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(stream, "{command}\r\n")?;
    let mut answer = [0; 256];
    let length = stream.read(&mut answer).context("Redis does not answer")?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

impl Kind for Settings {
    const NAME: &'static str = "Redis";
    const SIGNAL: (&'static str, Signal) = ("TERM", Signal::TERM);

    fn command(&self, directory: &Path) -> Result<Command> {
        let mut command = ACCOUNT.command(PROGRAM, directory);
        command.args(["--bind", "127.0.0.1", "--port", &self.port.to_string(), "--daemonize", "no", "--dir"]);
        command.arg(directory).args(["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]);
        command.args(["--maxmemory-policy", "noeviction"]);
        if let Some(port) = self.encrypted {
            command.args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no", "--tls-ca-cert-file"]);
            command.arg(certificates::authority(directory)).arg("--tls-cert-file");
            command.arg(certificates::certificate(directory)).arg("--tls-key-file");
            command.arg(certificates::key(directory));
        }
        Ok(command)
    }

    fn is_ready(&self, _directory: &Path) -> bool {
        ask(self.port, "PING").is_ok_and(|answer| answer.starts_with("+PONG"))
    }
}
