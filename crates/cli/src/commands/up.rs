//! `up`: an engine in this process, its built-in kinds, and its server.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use turnwise::{Engine, Error, Running, StoreError};
use turnwise_server::{Admission, Options, Secret, Server, Setting};

use crate::Home;
use crate::apps::{self, Apps};
use crate::builtin::{self, Allowed};
use crate::client::{link, with_data};
use crate::failure::refused;
use crate::place::Place;
use crate::private;
use crate::settings::{Flags, Settings};
use crate::{log, show, token, traces};

/// How long the server may take to give its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How long the engine may take to say farewell to the store.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long the collector may take for the last traces.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// How long threads that will not stop may keep the process.
const LAST_THREADS: Duration = Duration::from_secs(2);

/// Run an engine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the server listens; port 0 takes a free one [default: 127.0.0.1:7700, or TURNWISE_LISTEN].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Let jobs of kind `shell` run commands on this machine.
    #[arg(long)]
    allow_shell: bool,
    /// Let jobs of kind `http` send requests from this machine.
    #[arg(long)]
    allow_http: bool,
    /// How many jobs of each built-in kind run at once here; single kinds by name, and with the most in the whole fleet:
    /// 8,shell=1,http=2..16 [default: 8, or TURNWISE_SLOTS].
    #[arg(long, value_name = "SLOTS")]
    slots: Option<String>,
    /// What the engine stands on: embedded or fleet [default: embedded, or TURNWISE_PROFILE].
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// What this process does: api, scheduler, worker [default: all three, or TURNWISE_ROLES].
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,
    /// How log lines on standard error look [default: text, or TURNWISE_LOG].
    #[arg(long, value_enum)]
    log: Option<log::Format>,
}

impl Args {
    fn flags(&self, mut flags: Flags) -> Flags {
        let texts = [
            ("listen", self.listen.clone()),
            ("slots", self.slots.clone()),
            ("profile", self.profile.clone()),
            ("roles", self.roles.clone()),
            ("log", self.log.map(|format| format.word().to_owned())),
            ("allow_shell", self.allow_shell.then(|| "true".to_owned())),
            ("allow_http", self.allow_http.then(|| "true".to_owned())),
        ];
        flags.extend(texts.into_iter().filter_map(|(key, text)| Some((key, text?))));
        flags
    }
}

pub(crate) fn run(args: &Args, home: &Home) -> anyhow::Result<()> {
    let settings = Settings::load(home.config.as_deref(), args.flags(home.flags()))?;
    log::start(settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(stay_up(&settings))?;
    // The database is closed when the last task is gone. A request under way must not keep the process for
    // long.
    runtime.shutdown_timeout(LAST_THREADS);
    show::aside("Stopped.");
    Ok(())
}

async fn stay_up(settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    turnwise_server::record_metrics();
    let data = &settings.data;
    let (tracer, sending) = match settings.traces.clone().map(traces::start).transpose()? {
        Some((tracer, sending)) => (Some(tracer), Some(sending)),
        None => (None, None),
    };
    let config = tracer.into_iter().fold(settings.engine(), turnwise::Config::tracer);
    let engine = Engine::open(config).await.map_err(|error| explained(&error, data))?;
    let allowed = Allowed { shell: settings.allow_shell, http: settings.allow_http };
    builtin::register(&engine, allowed, &settings.slots);
    let apps = Apps::register(&engine, settings);
    let (close, closing) = watch::channel(false);
    let opened = match settings.roles.api || settings.fleet.is_none() {
        true => Some(open(settings, &engine, allowed, &apps, closing).await?),
        false => None,
    };
    let running = engine.start().await?;
    let serving = match opened {
        Some(Opened { server, listener, address, first }) => {
            Place::of(address).write(data)?;
            greet(address, data, allowed, first.as_ref());
            tracing::info!(%address, data = %data.display(), version = env!("CARGO_PKG_VERSION"), "up");
            if !settings.stats_interval.is_zero() {
                tokio::spawn(turnwise_server::diagnose(server.clone(), settings.stats_interval));
            }
            Some(tokio::spawn(turnwise_server::serve(server, listener)))
        }
        None => {
            show::aside(format!("Turnwise {} is up, without a server.", env!("CARGO_PKG_VERSION")));
            tracing::info!(version = env!("CARGO_PKG_VERSION"), "up");
            None
        }
    };
    signals.next().await;
    tracing::info!("stopping");
    show::aside("Stopping: running jobs may end, the others go on with the next start. Again stops at once.");
    tokio::select! {
        () = stop(engine, running, apps, &close, serving) => {}
        () = signals.next() => {
            Place::remove(data);
            tracing::warn!("stopped at once: what ran is taken up again with the next start");
            std::process::exit(130);
        }
    }
    Place::remove(data);
    if let Some(sending) = sending {
        sending.finish(LAST_TRACES);
    }
    Ok(())
}

/// A server that is ready for requests.
struct Opened {
    server: Server,
    listener: TcpListener,
    address: SocketAddr,
    /// The token, if it was made now.
    first: Option<Secret>,
}

/// Makes everything ready for requests.
async fn open(
    settings: &Settings,
    engine: &Engine,
    allowed: Allowed,
    apps: &Apps,
    closing: watch::Receiver<bool>,
) -> anyhow::Result<Opened> {
    let listener = bind(settings.listen).await?;
    let address = listener.local_addr()?;
    // An embedded engine has made its directory; a fleet's keeps only the token there.
    private::directory(&settings.data)?;
    let (root, new) = token::read_or_make(&settings.data)?;
    let first = new.then(|| root.clone());
    let shown = settings.shown.iter().cloned();
    let options = Options {
        engine: engine.clone(),
        root,
        address,
        hosts: settings.hosts.clone(),
        admission: Admission { off: allowed.kinds().1, check: apps::check },
        settings: shown.map(|(name, value, from)| Setting { name: name.into(), value, from }).collect(),
        profile: if settings.fleet.is_some() { "fleet" } else { "embedded" },
        applications: apps.applications(engine, settings),
        closing,
    };
    Ok(Opened { server: Server::new(options), listener, address, first })
}

/// The server closes and the engine stops, side by side. Then the session ends, so that other nodes see at once that this
/// one has gone.
async fn stop(
    engine: Engine,
    running: Running,
    apps: Apps,
    close: &watch::Sender<bool>,
    serving: Option<tokio::task::JoinHandle<std::io::Result<()>>>,
) {
    close.send_replace(true);
    running.stop().await;
    if let Some(mut serving) = serving
        && tokio::time::timeout(LAST_ANSWERS, &mut serving).await.is_err()
    {
        serving.abort();
    }
    drop(apps);
    // A request that will not end holds the engine too; then the session runs out by itself.
    let _ = tokio::time::timeout(FAREWELL, engine.close()).await;
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => refused(format!(
            "{address} is in use by another program: choose another with --listen, or {}:0 for a free port",
            address.ip()
        )),
        _ => refused(format!("cannot listen on {address}: {error}. Choose another address with --listen")),
    })
}

/// What is wrong with a data directory, and what helps.
fn explained(error: &Error, data: &Path) -> anyhow::Error {
    match error {
        Error::Store(StoreError::Locked(_)) => {
            let jobs = with_data("turnwise jobs", data);
            refused(format!("{error}. To talk to the engine that runs there: `{jobs}`"))
        }
        _ if data.exists() && !data.is_dir() => {
            refused(format!("{} is not a directory: choose another with --data", data.display()))
        }
        _ => refused(error),
    }
}

fn greet(address: SocketAddr, data: &Path, allowed: Allowed, first: Option<&Secret>) {
    let (on, off) = allowed.kinds();
    let off: Vec<String> = off.iter().map(|(kind, flag)| format!("{kind} is off, {flag}")).collect();
    let off = if off.is_empty() { String::new() } else { format!(" ({})", off.join("; ")) };
    let full = std::fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    show::aside(format!("Turnwise {} listens on http://{address}", env!("CARGO_PKG_VERSION")));
    match first {
        Some(token) => {
            show::aside(format!("  open   {}  (printed once)", link(Place::of(address).address, token)));
        }
        None => show::aside(format!(
            "  open   {} prints the link that logs in",
            with_data("turnwise tokens link", data)
        )),
    }
    show::aside(format!("  data   {}", full.display()));
    show::aside(format!("  kinds  {}{off}", on.join(", ")));
    show::aside(format!(
        "  try    {} '{{\"hello\":\"world\"}}' --wait",
        with_data("turnwise submit echo", data)
    ));
    show::aside(format!("         {}", with_data("turnwise jobs", data)));
    show::aside(format!("         {}", with_data("turnwise watch", data)));
    if !address.ip().is_loopback() {
        let warning =
            "other machines can reach this address: the token, sent in the clear, is the only protection";
        tracing::warn!(%address, "{warning}");
        show::aside(format!("WARNING: {warning}."));
    }
    show::aside("Ctrl-C stops it gracefully.");
}

/// The signals that ask for an end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
