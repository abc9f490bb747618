//! A phase as a process group: it is killed as a whole when its time is over, when its job is cancelled, when its claim is
//! lost, and when the handler is dropped for any other reason.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use crate::fault::{Class, Fault};
use crate::phase::{Answer, Order};
use crate::settings::Program;

/// What is read of an answer.
const ANSWER_BYTES: u64 = 64 << 10;
/// What an error quotes of what a phase complained about.
const QUOTED: u64 = 2 << 10;

/// A phase at work.
struct Group {
    child: Child,
    /// Held open: the phase ends when this is closed.
    input: Option<ChildStdin>,
}

impl Group {
    fn start(program: &Program) -> std::io::Result<Group> {
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let input = child.stdin.take();
        Ok(Group { child, input })
    }

    /// Kills everything that the phase started, and itself. Its number is its own until it is collected, and nobody has it
    /// afterwards.
    fn kill(&self) {
        if let Some(id) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            // There may be nothing left to kill.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a phase to its end. Dropping this kills all of it.
pub(crate) async fn run(program: &Program, order: &Order) -> Answer {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Fault::new(Class::Internal, format!("{what} {}: {error}", order.phase.word()))
    };
    let mut text = serde_json::to_vec(order).map_err(|error| failed("cannot write the order of", &error))?;
    text.push(b'\n');
    let mut group = Group::start(program).map_err(|error| failed("cannot start", &error))?;
    if let Some(input) = &mut group.input {
        // A phase that ended before it had read everything says why.
        let _ = input.write_all(&text).await;
        let _ = input.flush().await;
    }
    let (out, err) = (group.child.stdout.take(), group.child.stderr.take());
    let (answer, complaint) = tokio::join!(read(out, ANSWER_BYTES), read(err, QUOTED));
    // It has said everything, or was killed itself; what it started has pipes of its own and may still be at work, with the
    // lock of the repository in its hands.
    group.kill();
    let status = group.child.wait().await.map_err(|error| failed("cannot wait for", &error))?;
    match serde_json::from_str::<Answer>(&answer) {
        Ok(answer) => answer,
        Err(_) => Err(failed("no answer from", &format!("it ended with {status} {}", complaint.trim_end()))),
    }
}

/// Reads to the end, and keeps the beginning.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> String {
    let mut kept = Vec::new();
    if let Some(mut from) = from {
        // An output that cannot be read has ended.
        let _ = (&mut from).take(most).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&kept).into_owned()
}
