//! Asking again until the answer is there, for a bounded time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until there is an answer; gives up after a time. A question that fails ends the wait at once.
pub fn until<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if Instant::now() >= end {
            bail!("{what} took longer than {} s", limit.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn it_asks_again_and_gives_up() {
        let mut asked = 0;
        let answer = until("counting", Duration::from_secs(60), || {
            asked += 1;
            Ok((asked == 2).then_some(asked))
        });
        assert_eq!(answer.unwrap(), 2);
        let late = until::<()>("waiting", Duration::ZERO, || Ok(None)).unwrap_err();
        assert_eq!(late.to_string(), "waiting took longer than 0 s");
        assert!(until::<()>("failing", Duration::from_secs(60), || Err(anyhow!("broken"))).is_err());
    }
}
