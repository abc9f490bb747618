//! `turnwise bench api`: what the HTTP API takes and how soon it answers, over connections that stay open. Client and server
//! share one process, so what the client costs is in the figures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use turnwise::{Engine, Job};
use turnwise_server::{Admission, Options as ServerOptions, Secret, Server};

use super::{Bench, Noop, Options, watchers};

/// Connections that submit.
const CONNECTIONS: usize = 64;
/// How long submits are counted.
const SUBMITTING: Duration = Duration::from_secs(8);
/// Questions for each filter.
const QUESTIONS: usize = 300;

#[derive(Debug, Default, Serialize)]
struct Figures {
    api_submit_per_s: f64,
    list_jobs_stored: usize,
    list_p50_ms: f64,
    list_p99_ms: f64,
    list_slowest_filter: String,
    watchers: usize,
    drain_alone_per_s: f64,
    drain_watched_per_s: f64,
    drain_watched_share: f64,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    eprintln!("measuring: submits over HTTP");
    let bench = Bench::open(options).await?;
    let site = Site::open(&bench.engine).await?;
    figures.api_submit_per_s = submits(&site).await?;
    eprintln!("measuring: lists with {} jobs stored", options.jobs);
    let owners = (0..options.jobs).map(|n| Noop::new(n).owner(format!("owner-{}", n % 100)));
    bench.engine.submit_all(owners).await?;
    figures.list_jobs_stored = options.jobs;
    lists(&site, &mut figures).await?;
    site.close().await;
    drop(bench);
    eprintln!("measuring: drain beside {} watchers", watchers::WATCHERS);
    let drained = watchers::run(options).await?;
    figures.watchers = watchers::WATCHERS;
    (figures.drain_alone_per_s, figures.drain_watched_per_s) = drained;
    figures.drain_watched_share = drained.1 / drained.0;
    print(&figures, options.json)
}

/// A server for an engine, on a free port.
pub(super) struct Site {
    pub(super) address: SocketAddr,
    pub(super) token: Secret,
    close: watch::Sender<bool>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Site {
    pub(super) async fn open(engine: &Engine) -> anyhow::Result<Site> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (close, closing) = watch::channel(false);
        let token = Secret::random().ok_or_else(|| anyhow::anyhow!("no random numbers"))?;
        let server = Server::new(ServerOptions {
            engine: engine.clone(),
            root: token.clone(),
            address,
            hosts: Vec::new(),
            admission: Admission::default(),
            settings: Vec::new(),
            profile: "embedded",
            applications: Vec::new(),
            closing,
        });
        let serving = tokio::spawn(turnwise_server::serve(server, listener));
        Ok(Site { address, token, close, serving })
    }

    pub(super) async fn close(self) {
        self.close.send_replace(true);
        // However it ended, it has.
        let _ = self.serving.await;
    }

    /// The head of a request.
    pub(super) fn head(&self, method: &str, path: &str, more: &str) -> String {
        let (address, token) = (self.address, self.token.reveal());
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{more}")
    }
}

/// Submits one job at a time over each of many connections. Jobs per second.
async fn submits(site: &Site) -> anyhow::Result<f64> {
    let body = serde_json::json!({"kind": Noop::KIND, "payload": Noop::new(0), "owner": "api"}).to_string();
    let request = site.head("POST", "/api/v1/jobs", &format!("content-length: {}\r\n\r\n{body}", body.len()));
    let (request, done) = (Arc::new(request), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..CONNECTIONS {
        let (request, done, address) = (request.clone(), done.clone(), site.address);
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(address).await?;
            while began.elapsed() < SUBMITTING {
                let (status, _) = connection.ask(&request).await?;
                anyhow::ensure!(status == 201, "a submit was answered {status}");
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}

/// Lists by each filter, one question after the other.
async fn lists(site: &Site, figures: &mut Figures) -> anyhow::Result<()> {
    let filters = [
        "",
        "state=ready",
        "state=dead",
        "state=done",
        "kind=noop",
        "owner=owner-7",
        "owner=nobody",
        "lane=none",
        "since=4000000000000000",
        "until=1000000",
        "state=ready&owner=owner-42",
        "kind=noop&state=running",
    ];
    let mut all = Histogram::<u64>::new(3)?;
    let mut worst = 0;
    let mut connection = Connection::open(site.address).await?;
    for filter in filters {
        let request = site.head("GET", &format!("/api/v1/jobs?limit=100&{filter}"), "\r\n");
        let mut times = Histogram::<u64>::new(3)?;
        for _ in 0..QUESTIONS {
            let began = Instant::now();
            let (status, _) = connection.ask(&request).await?;
            anyhow::ensure!(status == 200, "{filter} was answered {status}");
            times.record(began.elapsed().as_micros() as u64)?;
        }
        all.add(&times)?;
        if times.value_at_quantile(0.99) > worst {
            worst = times.value_at_quantile(0.99);
            figures.list_slowest_filter = format!("{filter} ({:.1} ms)", worst as f64 / 1_000.0);
        }
    }
    let ms = |quantile: f64| all.value_at_quantile(quantile) as f64 / 1_000.0;
    (figures.list_p50_ms, figures.list_p99_ms) = (ms(0.5), ms(0.99));
    Ok(())
}

/// A connection that stays open.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(64 << 10) })
    }

    /// Status and length of the answer.
    async fn ask(&mut self, request: &str) -> anyhow::Result<(u16, usize)> {
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            anyhow::ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the server hung up");
            let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.buffer[..end])?;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.unwrap_or("0").parse()?;
            if self.buffer.len() >= end + 4 + length {
                let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
                return Ok((status, length));
            }
        }
    }
}

fn print(figures: &Figures, json: bool) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    let rows = [
        ("submit over HTTP, 64 connections", format!("{:.0} jobs/s", figures.api_submit_per_s)),
        ("list jobs, p50", format!("{:.1} ms", figures.list_p50_ms)),
        ("list jobs, p99", format!("{:.1} ms", figures.list_p99_ms)),
        ("slowest filter, p99", figures.list_slowest_filter.clone()),
        ("drain alone", format!("{:.0} jobs/s", figures.drain_alone_per_s)),
        ("drain beside 5,000 watchers", format!("{:.0} jobs/s", figures.drain_watched_per_s)),
        ("of the rate alone", format!("{:.2}", figures.drain_watched_share)),
    ];
    for (what, figure) in rows {
        println!("{what:<34} {figure:>16}");
    }
    Ok(())
}
