//! Files that are wrong: every fault is told, with its place.
