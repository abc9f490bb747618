//! `shell` runs a command with `sh -c`. Off unless allowed: whoever may submit jobs may then do what the
//! engine's user may do.
//!
//! The command runs in a process group of its own, and nothing of the group outlives the job: it is killed
//! when the command ends, when the job is cancelled and when its time is over.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use turnwise::{Context, Job, Outcome, Stop};

/// The longest run, and how long one may take unless it says.
const LONGEST: Duration = Duration::from_secs(3_600);
const USUAL: Duration = Duration::from_secs(60);
/// What is kept of each output.
const OUTPUT_BYTES: usize = 64 << 10;
/// What an error quotes of the error output: its end, where the reason usually is.
const QUOTED: usize = 2 << 10;

/// A command.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shell {
    command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// What the command said.
#[derive(Serialize, Deserialize)]
pub(crate) struct Output {
    exit: i32,
    stdout: String,
    stderr: String,
    /// Whether more was said than is kept.
    cut: bool,
}

impl Job for Shell {
    const KIND: &'static str = "shell";
    type Output = Output;
}

impl Shell {
    /// How long it may take, if the job makes sense.
    pub(super) fn limit(&self) -> Result<Duration, String> {
        if self.command.is_empty() || self.command.contains('\0') {
            return Err("`command` is empty or no text: say what to run".into());
        }
        match self.timeout_ms {
            None => Ok(USUAL),
            Some(0) => Err("`timeout_ms` is 0: give the command some time".into()),
            Some(millis) => super::within("timeout_ms", millis, LONGEST),
        }
    }
}

pub(crate) async fn shell(job: Shell, ctx: Context) -> Outcome<Output> {
    let limit = job.limit().map_err(Stop::never)?;
    let mut group =
        Group::start(&job.command).map_err(|error| Stop::retry(format!("cannot start sh: {error}")))?;
    let (out, err) = (group.child.stdout.take(), group.child.stderr.take());
    // Both outputs are read while it runs, or it would stand still when a pipe is full.
    let ended = async { tokio::join!(group.ended(), read(out), read(err)) };
    let (ended, (stdout, cut_out), (stderr, cut_err)) = tokio::select! {
        ended = ended => ended,
        // A cancelled job ends as cancelled; at a shutdown it begins again later, and no attempt is burnt.
        () = ctx.cancelled() => return Err(Stop::snooze(Duration::ZERO)),
        () = tokio::time::sleep(limit) => {
            let limit = limit.as_millis();
            return Err(Stop::retry(format!("the command took longer than {limit} ms and was killed")));
        }
    };
    ended.map_err(Stop::retry)?;
    let status = group.child.wait().await.map_err(Stop::retry)?;
    group.reaped = true;
    if status.success() {
        return Ok(Output { exit: 0, stdout, stderr, cut: cut_out || cut_err });
    }
    let quote = end_of(stderr.trim_end());
    Err(Stop::retry(if quote.is_empty() { status.to_string() } else { format!("{status}: {quote}") }))
}

/// The command and whatever it started. Dropping it kills all of it, also when the engine drops the handler
/// because a deadline passed.
struct Group {
    child: Child,
    id: Pid,
    /// The leader was collected: its number may belong to somebody else by now.
    reaped: bool,
}

impl Group {
    fn start(command: &str) -> std::io::Result<Group> {
        let child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let id = id.ok_or_else(|| std::io::Error::other("it ended before it began"))?;
        Ok(Group { child, id, reaped: false })
    }

    /// Ends when the command has ended; then nothing else of its group is left either. The command is not
    /// collected yet, so its number still names this group and no other.
    async fn ended(&self) -> std::io::Result<()> {
        let id = self.id;
        let look = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options))
        };
        tokio::task::spawn_blocking(look).await.map_err(std::io::Error::other)??;
        self.kill();
        Ok(())
    }

    fn kill(&self) {
        // There may be nothing left to kill.
        let _ = kill_process_group(self.id, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
        }
    }
}

/// Reads to the end, and keeps the beginning. Whether something was left out.
async fn read(from: Option<impl AsyncRead + Unpin>) -> (String, bool) {
    let mut kept = Vec::new();
    let mut cut = false;
    if let Some(mut from) = from {
        let mut buffer = [0; 8 << 10];
        // An output that cannot be read has ended.
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let room = OUTPUT_BYTES - kept.len();
            cut |= count > room;
            kept.extend_from_slice(&buffer[..count.min(room)]);
        }
    }
    (String::from_utf8_lossy(&kept).into_owned(), cut)
}

fn end_of(text: &str) -> &str {
    let mut begin = text.len().saturating_sub(QUOTED);
    while !text.is_char_boundary(begin) {
        begin += 1;
    }
    let end = &text[begin..];
    // Half a line at the beginning confuses, unless it is a long one and most of what there is.
    match end.find('\n').filter(|&at| begin > 0 && at < QUOTED / 4) {
        Some(at) => &end[at + 1..],
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use turnwise::{Config, Engine, JobView, State, secs};

    async fn ran(command: &str, timeout_ms: Option<u64>) -> JobView {
        let engine = Engine::open(Config::memory()).await.unwrap();
        engine.worker(shell);
        let running = engine.start().await.unwrap();
        let job = turnwise::Submit::from(Shell { command: command.into(), timeout_ms }).attempts(1);
        let id = engine.submit(job).await.unwrap();
        let view = engine.wait(id).await.unwrap();
        running.stop().await;
        view
    }

    #[tokio::test]
    async fn the_output_is_the_result() {
        let view = ran("echo hello; echo oops >&2", None).await;
        let output = view.result::<Shell>().unwrap().unwrap();
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str(), output.cut),
            ("hello\n", "oops\n", false)
        );
    }

    #[tokio::test]
    async fn a_bad_end_quotes_the_errors() {
        let view = ran("echo no such thing >&2; exit 7", None).await;
        assert_eq!(view.state, State::Dead);
        assert!(view.errors[0].error.contains('7') && view.errors[0].error.contains("no such thing"));
    }

    #[tokio::test]
    async fn a_flood_is_cut_and_does_not_block() {
        let output =
            ran("head -c 300000 /dev/zero | tr '\\0' x", None).await.result::<Shell>().unwrap().unwrap();
        assert_eq!((output.stdout.len(), output.cut), (OUTPUT_BYTES, true));
    }

    #[tokio::test]
    async fn nothing_outlives_the_job() {
        // The background process would hold the output open for a minute.
        let begin = Instant::now();
        let output = ran("sleep 60 & echo $!", None).await.result::<Shell>().unwrap().unwrap();
        assert!(begin.elapsed() < secs(30));
        let pid: i32 = output.stdout.trim().parse().unwrap();
        let gone = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.contains("(sleep)") || stat.contains(") Z")
        };
        while !gone(pid) && begin.elapsed() < secs(30) {
            tokio::task::yield_now().await;
        }
        assert!(gone(pid));
        let late = ran("sleep 60", Some(50)).await;
        assert!(late.errors[0].error.contains("longer than 50 ms"), "{:?}", late.errors);
        assert!(begin.elapsed() < secs(30));
    }

    #[test]
    fn an_error_quotes_the_end() {
        let text = format!("{}end", "é".repeat(QUOTED));
        assert!(end_of(&text).len() <= QUOTED && end_of(&text).ends_with("éend"));
        let lines = format!("{}the reason", "a line\n".repeat(QUOTED));
        assert!(end_of(&lines).starts_with("a line\n") && end_of(&lines).ends_with("the reason"));
    }
}
