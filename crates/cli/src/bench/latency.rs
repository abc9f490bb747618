//! Start latency: from the call of submit to the first line of the handler, at a steady rate.

use std::sync::Mutex;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use turnwise::{Context, Outcome};

use super::{Bench, Noop, Options};

const PER_SECOND: u64 = 200;
const SECONDS: u64 = 5;

/// p50 and p99 in milliseconds.
pub(super) async fn run(options: &Options) -> anyhow::Result<(f64, f64)> {
    let bench = Bench::open(options).await?;
    let jobs = (PER_SECOND * SECONDS) as usize;
    let starts: Arc<Mutex<Vec<Option<Instant>>>> = Arc::new(Mutex::new(vec![None; jobs]));
    let written = starts.clone();
    let handler = move |job: Noop, _ctx: Context| {
        let now = Instant::now();
        written.lock().unwrap_or_else(PoisonError::into_inner)[job.n] = Some(now);
        std::future::ready(Outcome::Ok(()))
    };
    bench.engine.worker(handler).slots(options.slots);
    let running = bench.engine.start().await?;
    let begin = Instant::now() + Duration::from_millis(50);
    let mut calls = Vec::with_capacity(jobs);
    let mut submits = Vec::with_capacity(jobs);
    for n in 0..jobs {
        // Open loop: the next call does not wait for the last one's answer.
        let at = begin + Duration::from_micros(n as u64 * 1_000_000 / PER_SECOND);
        tokio::time::sleep_until(at.into()).await;
        calls.push(Instant::now());
        let engine = bench.engine.clone();
        submits.push(tokio::spawn(async move { engine.submit(Noop::new(n)).await }));
    }
    for submit in submits {
        submit.await??;
    }
    bench.engine.drain().await?;
    running.stop().await;
    let mut histogram = Histogram::<u64>::new(3)?;
    let starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
    for (call, start) in calls.iter().zip(starts.iter()) {
        if let Some(start) = start {
            histogram.record(start.duration_since(*call).as_micros() as u64)?;
        }
    }
    anyhow::ensure!(histogram.len() == jobs as u64, "not every job started");
    let ms = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
    Ok((ms(0.5), ms(0.99)))
}
