//! Fairness: who started when, written down by the handlers.

use std::sync::{Arc, Mutex, PoisonError};

use turnwise::{Context, Job, Outcome};

use super::{Bench, Noop, Options};

const OWNERS: usize = 100;

pub(super) struct Fairness {
    /// Jain's index over starts until the first owner ran dry.
    pub(super) jain: f64,
    /// The longest that a small owner waited between two of its starts: other owners' starts ÷ active owners.
    pub(super) worst_wait_turns: f64,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<Fairness> {
    // Very different backlogs: from 50 to 2,500 jobs.
    let sizes: Vec<usize> = (0..OWNERS).map(|owner| 50 + owner * owner / 4).collect();
    let order = starts(options, &sizes).await?;
    let jain = jain(&order, &sizes);
    let mut sizes = vec![10; OWNERS];
    sizes[0] = 100_000.min(options.jobs);
    let order = starts(options, &sizes).await?;
    Ok(Fairness { jain, worst_wait_turns: worst_wait(&order, &sizes) })
}

/// The owners, in the order of their starts.
async fn starts(options: &Options, sizes: &[usize]) -> anyhow::Result<Vec<usize>> {
    let bench = Bench::open(options).await?;
    // The largest first: whoever came early must not be served first for that.
    for (owner, size) in sizes.iter().enumerate() {
        let jobs = (0..*size).map(|_| Noop::new(owner).owner(format!("owner-{owner:03}")));
        bench.engine.submit_all(jobs).await?;
    }
    let order = Arc::new(Mutex::new(Vec::with_capacity(sizes.iter().sum())));
    let written = order.clone();
    let handler = move |job: Noop, _ctx: Context| {
        written.lock().unwrap_or_else(PoisonError::into_inner).push(job.n);
        std::future::ready(Outcome::Ok(()))
    };
    bench.engine.worker(handler).slots(options.slots);
    let running = bench.engine.start().await?;
    bench.engine.drain().await?;
    running.stop().await;
    let order = std::mem::take(&mut *order.lock().unwrap_or_else(PoisonError::into_inner));
    anyhow::ensure!(order.len() == sizes.iter().sum::<usize>(), "not every job started");
    Ok(order)
}

/// (Σx)² ÷ (n · Σx²) over the starts of each owner, until the first of them has none left.
fn jain(order: &[usize], sizes: &[usize]) -> f64 {
    let mut starts = vec![0_usize; sizes.len()];
    for owner in order {
        starts[*owner] += 1;
        if starts[*owner] == sizes[*owner] {
            break;
        }
    }
    let sum: f64 = starts.iter().map(|n| *n as f64).sum();
    let squares: f64 = starts.iter().map(|n| (*n as f64).powi(2)).sum();
    sum * sum / (starts.len() as f64 * squares)
}

/// For every start of a small owner: the starts of others since its last one, by the owners that had work left
/// when that wait began.
fn worst_wait(order: &[usize], sizes: &[usize]) -> f64 {
    let mut left = sizes.to_vec();
    let mut active = sizes.len();
    let mut last = vec![(0_usize, active); sizes.len()];
    let mut worst: f64 = 0.0;
    for (place, owner) in order.iter().enumerate() {
        let (since, rivals) = last[*owner];
        if sizes[*owner] <= 10 {
            worst = worst.max((place - since) as f64 / rivals as f64);
        }
        left[*owner] -= 1;
        if left[*owner] == 0 {
            active -= 1;
        }
        last[*owner] = (place + 1, active);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_told_from_crowding_out() {
        let sizes = [4, 4];
        assert!(jain(&[0, 1, 0, 1, 0, 1, 0, 1], &sizes) > 0.97, "turn by turn");
        assert!(jain(&[0, 0, 0, 0, 1, 1, 1, 1], &sizes) < 0.51, "one after the other");
    }

    #[test]
    fn a_wait_is_counted_by_the_owners_that_were_there() {
        assert!((worst_wait(&[0, 1, 0, 1], &[2, 2]) - 0.5).abs() < 1e-9);
        assert!((worst_wait(&[0, 0, 0, 1], &[3, 1]) - 1.5).abs() < 1e-9);
    }
}
