//! What happened, in words: hashed whole, so that two runs can be compared; the end of it kept, to be shown.

use std::collections::VecDeque;
use std::fmt::{Arguments, Write as _};

use turnwise_core::time::Time;

use crate::executor::BEGINNING;

/// Lines that are kept to be shown after a failure.
const KEPT: usize = 120;

/// A trace.
pub struct Trace {
    hash: u64,
    lines: u64,
    last: VecDeque<String>,
    print: bool,
}

impl Trace {
    /// An empty one, printed as it goes or not.
    pub fn new(print: bool) -> Self {
        Trace { hash: 0xcbf2_9ce4_8422_2325, lines: 0, last: VecDeque::new(), print }
    }

    /// One more line.
    #[allow(clippy::print_stdout, reason = "a trace that is asked for goes to the terminal")]
    pub fn line(&mut self, now: Time, process: usize, what: Arguments<'_>) {
        let mut line =
            if self.last.len() >= KEPT { self.last.pop_front().unwrap_or_default() } else { String::new() };
        line.clear();
        let passed = now.as_micros() - BEGINNING.as_micros();
        // A string takes everything.
        let _ = write!(line, "{:>5}.{:06} n{process} {what}", passed / 1_000_000, passed % 1_000_000);
        for byte in line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self.lines += 1;
        if self.print {
            println!("{line}");
        }
        self.last.push_back(line);
    }

    /// The hash of every line (FNV-1a).
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many lines there were.
    pub fn count(&self) -> u64 {
        self.lines
    }

    /// The last lines.
    pub fn last(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(String::as_str)
    }
}
