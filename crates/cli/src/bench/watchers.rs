//! What those who watch cost: the same drain with nobody watching, and beside thousands who follow one batch each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turnwise::{BatchId, Raw, RawBatch};

use super::api::Site;
use super::effects::Effects;
use super::{Bench, Noop, Options};
use turnwise::Job;

/// Who watches.
pub(super) const WATCHERS: usize = 5_000;
/// Jobs of each batch.
const EACH: usize = 20;

/// Drain rates: alone, and watched. Each is measured twice in turn, and the better one counts, because the machine's speed
/// varies.
pub(super) async fn run(options: &Options) -> anyhow::Result<(f64, f64)> {
    allow_many_files()?;
    let (mut alone, mut watched) = (0.0_f64, 0.0_f64);
    for _ in 0..2 {
        alone = alone.max(drained(options, false).await?);
        watched = watched.max(drained(options, true).await?);
    }
    Ok((alone, watched))
}

/// Both ends of each connection are in this process.
fn allow_many_files() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = (2 * WATCHERS + 1_000) as u64;
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).map_err(|error| {
            anyhow::anyhow!("{wanted} files cannot be opened ({error}): raise `ulimit -n`")
        })?;
    }
    Ok(())
}

async fn drained(options: &Options, watch: bool) -> anyhow::Result<f64> {
    let bench = Bench::open(options).await?;
    let engine = &bench.engine;
    let site = Site::open(engine).await?;
    let mut batches: Vec<BatchId> = Vec::with_capacity(WATCHERS);
    for batch in 0..WATCHERS {
        let jobs =
            (0..EACH).map(|n| Ok(Raw::job(Noop::KIND, serde_json::to_value(Noop::new(batch * EACH + n))?)));
        let jobs = jobs.collect::<anyhow::Result<Vec<_>>>()?;
        let new = RawBatch { name: format!("b{batch}"), owner: None, jobs, then: None, open: false };
        batches.push(engine.submit_raw_batch(new).await?.id);
    }
    let heard = Arc::new(AtomicUsize::new(0));
    let mut watching = Vec::new();
    if watch {
        for batch in &batches {
            watching.push(tokio::spawn(follow(site_stream(&site, *batch).await?, heard.clone())));
        }
    }
    let jobs = WATCHERS * EACH;
    let effects = Arc::new(Effects::new(jobs));
    bench.work(options.slots, &effects);
    let began = Instant::now();
    let running = engine.start().await?;
    engine.drain().await?;
    let rate = jobs as f64 / began.elapsed().as_secs_f64();
    if watch {
        // Everybody hears of the end of his batch.
        while heard.load(Ordering::Acquire) < WATCHERS {
            anyhow::ensure!(began.elapsed().as_secs() < 120, "only {heard:?} watchers heard the end");
            engine.next_commit().await;
        }
    }
    running.stop().await;
    watching.iter().for_each(tokio::task::JoinHandle::abort);
    site.close().await;
    let delivery = effects.check();
    anyhow::ensure!(
        delivery.lost == 0 && delivery.doubled == 0,
        "jobs were lost or ran twice: this is a fault"
    );
    Ok(rate)
}

/// A stream that has begun.
async fn site_stream(site: &Site, batch: BatchId) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(site.address).await?;
    let path = format!("/api/v1/events?batch={batch}");
    stream.write_all(site.head("GET", &path, "accept: text/event-stream\r\n\r\n").as_bytes()).await?;
    let mut buffer = Vec::with_capacity(2_048);
    while !buffer.windows(5).any(|bytes| bytes == b"retry") {
        anyhow::ensure!(stream.read_buf(&mut buffer).await? > 0, "the server hung up");
    }
    Ok(stream)
}

/// Reads until the batch has settled.
async fn follow(mut stream: TcpStream, heard: Arc<AtomicUsize>) {
    const END: &[u8] = b"batch_settled";
    let mut buffer = Vec::with_capacity(4_096);
    while let Ok(1..) = stream.read_buf(&mut buffer).await {
        if buffer.windows(END.len()).any(|bytes| bytes == END) {
            heard.fetch_add(1, Ordering::Release);
            return;
        }
        // What may be the beginning of the word is kept.
        let cut = buffer.len().saturating_sub(END.len());
        buffer.drain(..cut);
    }
}
