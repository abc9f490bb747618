//! What an examination of a server finds, in sentences that say what to change.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// How long a server may take to let us in, and to answer a question: somebody sits before the screen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// Clocks that differ by more are worth a warning.
const APART: Duration = Duration::from_secs(1);

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// It works, but somebody should know.
    Warn,
    /// It will not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// On which server: `postgres`, `rabbitmq` or `redis`.
    pub server: &'static str,
    /// What was looked at.
    pub what: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found, and how to mend it.
    pub says: String,
}

/// The findings about one server.
pub(crate) struct Findings {
    server: &'static str,
    found: Vec<Finding>,
}

impl Findings {
    pub(crate) fn about(server: &'static str) -> Self {
        Findings { server, found: Vec::new() }
    }

    pub(crate) fn ok(&mut self, what: &'static str, says: impl Into<String>) {
        self.add(what, Health::Ok, says);
    }

    pub(crate) fn warn(&mut self, what: &'static str, says: impl Into<String>) {
        self.add(what, Health::Warn, says);
    }

    pub(crate) fn fail(&mut self, what: &'static str, says: impl Into<String>) {
        self.add(what, Health::Fail, says);
    }

    fn add(&mut self, what: &'static str, health: Health, says: impl Into<String>) {
        self.found.push(Finding { server: self.server, what, health, says: says.into() });
    }

    /// Compares a server's clock with ours, which was read before and after it was asked. `so` is what follows from a
    /// difference.
    pub(crate) fn clock(&mut self, theirs: Duration, (before, after): (SystemTime, SystemTime), so: &str) {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (before, after) = (since(before), since(after));
        // Whatever lies between the two is no difference.
        let apart = before.saturating_sub(theirs).max(theirs.saturating_sub(after));
        let shown = format!("{:.1} s", apart.as_secs_f32());
        match apart > APART {
            true => self.warn(
                "clock",
                format!(
                    "this machine's clock and the server's are {shown} apart: set both by NTP, for example with chrony. {so}"
                ),
            ),
            false => self.ok("clock", format!("the server's clock is at most {shown} from this machine's")),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_answer_is_no_difference_between_clocks() {
        let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        let judged = |theirs, before, after| {
            let mut findings = Findings::about("server");
            findings.clock(Duration::from_millis(theirs), (at(before), at(after)), "So what.");
            findings.into_vec().remove(0)
        };
        assert_eq!(judged(15_000, 10_000, 20_000).health, Health::Ok);
        assert_eq!(judged(9_000, 10_000, 20_000).health, Health::Ok);
        let behind = judged(8_500, 10_000, 20_000);
        assert!(behind.health == Health::Warn && behind.says.contains("1.5 s"), "{behind:?}");
        assert_eq!(judged(21_500, 10_000, 20_000).health, Health::Warn);
    }
}
