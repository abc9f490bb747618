//! The kinds of job that the program itself has handlers for.

mod echo;
mod http;
mod shell;
mod sleep;

use serde::de::DeserializeOwned;
use serde_json::Value;
use turnwise::{Engine, Job, Worker};

use crate::settings::Slots;

/// Which of the kinds that reach out of the engine may run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub(crate) shell: bool,
    pub(crate) http: bool,
}

impl Allowed {
    /// The kinds that are on, and the kinds that are off with the flag that allows each. A kind that was on in an earlier
    /// life is declared in the store still, so the store would take its jobs and nobody would run them.
    pub(crate) fn kinds(self) -> (Vec<&'static str>, Vec<(&'static str, &'static str)>) {
        let mut on = vec![echo::Echo::KIND, sleep::Sleep::KIND];
        let mut off = Vec::new();
        let guarded = [
            (self.shell, shell::Shell::KIND, "--allow-shell"),
            (self.http, http::Http::KIND, "--allow-http"),
        ];
        for (allowed, kind, flag) in guarded {
            if allowed { on.push(kind) } else { off.push((kind, flag)) }
        }
        (on, off)
    }
}

/// Registers the handlers of the kinds that are on.
pub(crate) fn register(engine: &Engine, allowed: Allowed, slots: &Slots) {
    let share = |worker: Worker, kind: &str| {
        let share = slots.of(kind);
        let worker = worker.slots(share.least);
        match share.most {
            Some(most) => worker.cap(most),
            None => worker,
        }
    };
    share(engine.worker(echo::echo), echo::Echo::KIND);
    share(engine.worker(sleep::sleep), sleep::Sleep::KIND);
    if allowed.shell {
        share(engine.worker(shell::shell), shell::Shell::KIND);
    }
    if allowed.http {
        share(engine.blocking_worker(http::http), http::Http::KIND);
    }
}

/// Looks at a payload before it is accepted: who submits it learns at once what is wrong, not from a dead
/// letter. Kinds that are not built in take what they get.
pub(crate) fn check(kind: &str, payload: &Value) -> Result<(), String> {
    let checked = match kind {
        sleep::Sleep::KIND => read::<sleep::Sleep>(payload).and_then(|job| job.span().map(drop)),
        shell::Shell::KIND => read::<shell::Shell>(payload).and_then(|job| job.limit().map(drop)),
        http::Http::KIND => read::<http::Http>(payload).and_then(|job| job.request().map(drop)),
        _ => Ok(()),
    };
    checked.map_err(|why| format!("the payload does not fit kind `{kind}`: {why}"))
}

fn read<J: DeserializeOwned>(payload: &Value) -> Result<J, String> {
    J::deserialize(payload).map_err(|error| error.to_string())
}

/// A span of milliseconds that a payload asks for, within a limit.
fn within(name: &str, millis: u64, most: std::time::Duration) -> Result<std::time::Duration, String> {
    let span = std::time::Duration::from_millis(millis);
    if span > most {
        return Err(format!("`{name}` is {millis}, but at most {} ms are allowed", most.as_millis()));
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_off_names_its_flag() {
        let none = Allowed { shell: false, http: false };
        assert_eq!(none.kinds().1, [("shell", "--allow-shell"), ("http", "--allow-http")]);
        assert_eq!(Allowed { shell: true, http: true }.kinds().0, ["echo", "sleep", "shell", "http"]);
    }

    #[test]
    fn payloads_are_looked_at() {
        assert!(check("echo", &json!([1, "anything"])).is_ok());
        assert!(check("mine", &json!(null)).is_ok());
        assert!(check("sleep", &json!({"ms": 5})).is_ok());
        for (kind, payload) in [
            ("sleep", json!({})),
            ("sleep", json!({"ms": 3_600_001})),
            ("sleep", json!({"ms": 1, "s": 1})),
            ("shell", json!({"command": ""})),
            ("shell", json!({"command": "x", "timeout_ms": 0})),
            ("http", json!({"url": "ftp://x"})),
        ] {
            assert!(check(kind, &payload).unwrap_err().contains(kind), "{kind} {payload}");
        }
    }
}
