//! What the handlers did, written outside the engine: the proof that each job ran once.

use std::sync::atomic::{AtomicU8, Ordering};

/// A mark for every job.
pub(crate) struct Effects {
    marks: Vec<AtomicU8>,
}

/// What went wrong: nothing, in both.
pub(crate) struct Delivery {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
}

impl Effects {
    pub(crate) fn new(jobs: usize) -> Self {
        let marks = (0..jobs).map(|_| AtomicU8::new(0)).collect();
        Effects { marks }
    }

    /// Called by the handler of job `n`.
    pub(crate) fn mark(&self, n: usize) {
        if let Some(mark) = self.marks.get(n) {
            mark.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn check(&self) -> Delivery {
        let count = |wanted: fn(u8) -> bool| {
            self.marks.iter().filter(|mark| wanted(mark.load(Ordering::Acquire))).count()
        };
        Delivery { lost: count(|mark| mark == 0), doubled: count(|mark| mark > 1) }
    }
}
