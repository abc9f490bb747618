//! What this process used of the machine.

use std::path::Path;

/// CPU seconds of this process so far.
pub(crate) fn cpu_seconds() -> f64 {
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name in parentheses may hold spaces; user and system time are the 12th and 13th fields after it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    ticks().unwrap_or(0) as f64 / 100.0
}

/// A line of /proc/self/status, in megabytes: `VmHWM` is the peak of resident memory, `VmRSS` what it is now.
pub(crate) fn memory_mb(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kilobytes: f64 = found
        .and_then(|text| text.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0);
    kilobytes / 1024.0
}

/// Bytes of the files in a directory.
pub(crate) fn bytes_in(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|file| file.len()).sum()
}
