//! What the disk does by itself, as the measure of everything that waits for it: as many bytes as the commit of one
//! small job writes, over bytes that are there already, and a sync.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::Options;

/// Five pages: a job, its place in the index of ready jobs, its event, and two counts.
const BYTES: usize = 5 * 4_120;
const FILE_BYTES: usize = 8 << 20;
const SYNCS: usize = 1_000;
/// At the pace of the start latency: a disk and a processor that may rest in between answer more slowly.
const PACED: usize = 200;
const PACE: Duration = Duration::from_millis(5);

pub(super) struct Disk {
    pub(super) per_s: f64,
    pub(super) paced_p50_ms: f64,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<Disk> {
    let directory = options.throw_away()?;
    let file = File::create(directory.path().join("syncs"))?;
    file.write_all_at(&vec![0; FILE_BYTES], 0)?;
    file.sync_all()?;
    let begin = Instant::now();
    for n in 0..SYNCS {
        sync(&file, n)?;
    }
    let per_s = SYNCS as f64 / begin.elapsed().as_secs_f64();
    let mut spans = Vec::with_capacity(PACED);
    let begin = Instant::now();
    for n in 0..PACED {
        tokio::time::sleep_until((begin + PACE * n as u32).into()).await;
        let call = Instant::now();
        sync(&file, n)?;
        spans.push(call.elapsed());
    }
    spans.sort_unstable();
    Ok(Disk { per_s, paced_p50_ms: spans[PACED / 2].as_secs_f64() * 1_000.0 })
}

fn sync(file: &File, n: usize) -> std::io::Result<()> {
    let at = n * BYTES % (FILE_BYTES - BYTES);
    file.write_all_at(&[n as u8; BYTES], at as u64)?;
    file.sync_data()
}
