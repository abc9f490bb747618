//! A private RabbitMQ server with its management interface.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::account::Account;
use crate::server::{self, Kind, Server};
use crate::{certificates, http, place, port};

const ACCOUNT: Account = Account::of("rabbitmq");
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";
const MISSING: &str =
    "RabbitMQ is not installed: sudo apt-get update && sudo apt-get install -y rabbitmq-server";
const LIMIT: Duration = Duration::from_secs(5);
/// What a client says first: version 0-9-1 of the protocol.
const GREETING: &[u8; 8] = b"AMQP\x00\x00\x09\x01";

/// A RabbitMQ server.
pub struct RabbitMq(Server<Settings>);

struct Settings {
    port: u16,
    management: u16,
    /// Of the name server that every Erlang node needs.
    names: u16,
    /// For its own command-line tools.
    tools: u16,
    /// For encrypted connections.
    encrypted: Option<u16>,
}

impl RabbitMq {
    /// Starts a server in a temporary directory. This takes several seconds.
    pub fn start() -> Result<Self> {
        server::attempt("rabbitmq", |directory| Self::once(directory, false))
    }

    /// Starts a server that can also be reached over an encrypted connection.
    pub fn start_encrypted() -> Result<Self> {
        server::attempt("rabbitmq", |directory| Self::once(directory, true))
    }

    /// Starts a server in this directory, which is made, and lets it run until [`crate::stop_in`] is called.
    /// Returns its address and that of its management interface.
    pub fn leave_in(directory: &Path) -> Result<(String, String)> {
        place::open(directory)?;
        let server = Self::once(directory.canonicalize()?, false)?;
        let urls = (server.url(), server.management_url());
        server.0.leave()?;
        Ok(urls)
    }

    /// Where it can be reached.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.0.kind().port)
    }

    /// Where it can be reached over an encrypted connection, if it was started like that, and whom to trust then.
    pub fn encrypted(&self) -> Option<(String, PathBuf)> {
        let url = format!("amqps://guest:guest@localhost:{}/%2f", self.0.kind().encrypted?);
        Some((url, certificates::authority(self.0.directory())))
    }

    /// Where its management interface is; account `guest`, password `guest`.
    pub fn management_url(&self) -> String {
        self.0.kind().management_url()
    }

    /// A virtual host that nobody else uses.
    pub fn vhost(&self) -> Result<Vhost> {
        Vhost::make(&self.url(), &self.management_url())
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

    /// Stops it in order. It can be started again with [`RabbitMq::restart`].
    pub fn stop(&mut self) -> Result<()> {
        self.0.halt(Signal::TERM)
    }

    /// Runs `rabbitmqctl` with these arguments.
    pub fn control(&self, args: &[&str]) -> Result<String> {
        let mut command = self.0.kind().program("rabbitmqctl", self.0.directory());
        let output = command.args(args).output().context("cannot start `rabbitmqctl`")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`rabbitmqctl {}` ended with {}:\n{said}",
            args.join(" "),
            output.status
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn once(directory: PathBuf, encrypted: bool) -> Result<Self> {
        ensure!(Path::new(PROGRAMS).join("rabbitmq-server").is_file(), MISSING);
        let settings = Settings {
            port: port::free()?,
            management: port::free()?,
            names: port::free()?,
            tools: port::free()?,
            encrypted: encrypted.then(port::free).transpose()?,
        };
        let config = settings.config(&directory);
        let mut server = Server::new(settings, directory)?;
        let directory = server.directory();
        for folder in ["mnesia", "log", "config"] {
            place::open(&directory.join(folder))?;
        }
        if encrypted {
            certificates::make(directory)?;
        }
        // Whoever can read the cookie may run anything as the server: nobody else may, and it must say so.
        let cookie = directory.join(".erlang.cookie");
        place::write(&cookie, &format!("{:x}{:x}", port::number(), port::number()))?;
        fs::set_permissions(&cookie, PermissionsExt::from_mode(0o400))?;
        place::write(&directory.join("enabled_plugins"), "[rabbitmq_management].\n")?;
        place::write(&directory.join("rabbitmq-env.conf"), "")?;
        place::write(&directory.join("rabbitmq.conf"), &config)?;
        ACCOUNT.own(directory)?;
        server.run()?;
        Ok(RabbitMq(server))
    }
}

impl Settings {
    fn config(&self, directory: &Path) -> String {
        let mut config = format!(
            "listeners.tcp.default = 127.0.0.1:{}\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {}\n\
             log.console = false\nvm_memory_high_watermark.relative = 0.4\ndisk_free_limit.absolute = 200MB\n",
            self.port, self.management
        );
        if let Some(port) = self.encrypted {
            let (authority, certificate) =
                (certificates::authority(directory), certificates::certificate(directory));
            config += &format!(
                "listeners.ssl.default = 127.0.0.1:{port}\nssl_options.cacertfile = {}\n\
                 ssl_options.certfile = {}\nssl_options.keyfile = {}\n",
                authority.display(),
                certificate.display(),
                certificates::key(directory).display()
            );
        }
        config
    }

    fn management_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.management)
    }

    /// One of its programs, told where everything is.
    fn program(&self, program: &str, directory: &Path) -> Command {
        let mut command = ACCOUNT.command(Path::new(PROGRAMS).join(program), directory);
        let places = [
            ("RABBITMQ_MNESIA_BASE", "mnesia"),
            ("RABBITMQ_LOG_BASE", "log"),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", "enabled_plugins"),
            ("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"),
            ("RABBITMQ_CONF_ENV_FILE", "rabbitmq-env.conf"),
            ("RABBITMQ_PID_FILE", "pid"),
            ("RABBITMQ_GENERATED_CONFIG_DIR", "config"),
        ];
        for (name, place) in places {
            command.env(name, directory.join(place));
        }
        // Named by its port: nodes of one name on one machine would disturb each other.
        command.env("RABBITMQ_NODENAME", format!("turnwise{}@localhost", self.port));
        command.env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1").env("RABBITMQ_NODE_PORT", self.port.to_string());
        command.env("RABBITMQ_DIST_PORT", self.tools.to_string());
        command.env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}");
        command.env("ERL_EPMD_PORT", self.names.to_string()).env("ERL_EPMD_ADDRESS", "127.0.0.1");
        command
    }

    /// Whether it speaks the protocol.
    fn greets(&self) -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(GREETING)?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        // A method, and not the greeting of another version.
        Ok(first == [1])
    }
}

impl Kind for Settings {
    const NAME: &'static str = "RabbitMQ";
    const SIGNAL: (&'static str, Signal) = ("TERM", Signal::TERM);

    fn command(&self, directory: &Path) -> Result<Command> {
        Ok(self.program("rabbitmq-server", directory))
    }

    fn is_ready(&self, _directory: &Path) -> bool {
        let overview = || http::ask("GET", &self.management_url(), "/api/overview", "");
        matches!(self.greets(), Ok(true)) && matches!(overview(), Ok((200, _)))
    }

    fn names(&self) -> Option<u16> {
        Some(self.names)
    }
}

/// A virtual host: exchanges and queues that nobody else sees. It is removed with its value.
pub struct Vhost {
    url: String,
    management: String,
    path: String,
}

impl Vhost {
    /// Makes one on a server.
    pub(crate) fn make(server: &str, management: &str) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}-{:x}", std::process::id(), port::number());
        let (base, _) =
            server.rsplit_once('/').context("the address of RabbitMQ must end with a virtual host")?;
        let path = format!("/api/vhosts/{name}");
        let vhost = Vhost { url: format!("{base}/{name}"), management: management.to_owned(), path };
        vhost.ask("PUT", &vhost.path, "")?;
        vhost.allow(".*", ".*", ".*")?;
        Ok(vhost)
    }

    /// What the account may make, write to and read from there: patterns of names.
    pub fn allow(&self, configure: &str, write: &str, read: &str) -> Result<()> {
        let rights = format!(r#"{{"configure":"{configure}","write":"{write}","read":"{read}"}}"#);
        let path = self.path.replace("/api/vhosts/", "/api/permissions/");
        self.ask("PUT", &format!("{path}/guest"), &rights)
    }

    /// Where it can be reached.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<()> {
        let (status, said) = http::ask(method, &self.management, path, body)?;
        ensure!((200..300).contains(&status), "RabbitMQ answered {method} {path} with {status}: {said}");
        Ok(())
    }
}

impl Drop for Vhost {
    fn drop(&mut self) {
        // A server of its own may be gone already.
        let _ = self.ask("DELETE", &self.path, "");
    }
}
