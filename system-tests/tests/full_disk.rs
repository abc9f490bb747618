//! A disk that is really full, in the middle of the work: refused, reported, and the engine goes on when there is room.

use std::process::Command;

#[test]
fn a_full_disk_is_an_answer_and_not_an_end() {
    let directory = tempfile::tempdir().unwrap();
    // A small disk that exists for this process alone, and goes with it. No rights are needed for it beyond those that
    // every user has in a namespace of his own.
    let script = "mount -t tmpfs -o size=24m tmpfs \"$1\" && exec \"$2\" \"$1\"";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(env!("CARGO_BIN_EXE_crowded"))
        .output()
        .expect("unshare (of util-linux) is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
