//! The token: whoever has it may ask anything. It is in a file that only its user may read, and is never
//! printed.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::failure::refused;
use crate::private;

const BYTES: usize = 32;

/// A token.
pub(crate) struct Token(String);

impl Token {
    fn path(data: &Path) -> PathBuf {
        data.join("token")
    }

    /// Reads the token of a data directory; nothing if there is none yet.
    pub(crate) fn read(data: &Path) -> anyhow::Result<Option<Token>> {
        let path = Token::path(data);
        let Some(text) = private::read(&path)? else { return Ok(None) };
        let text = text.trim();
        if text.len() != 2 * BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refused(format!(
                "{0} is no token: remove it, the next `turnwise up` makes a new one",
                path.display()
            )));
        }
        Ok(Some(Token(text.to_owned())))
    }

    /// Reads the token of a data directory, or makes one.
    pub(crate) fn read_or_make(data: &Path) -> anyhow::Result<Token> {
        if let Some(token) = Token::read(data)? {
            return Ok(token);
        }
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| refused(format!("no random numbers: {error}")))?;
        let token = Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        private::write(&Token::path(data), &token.0).context("the token cannot be kept")?;
        Ok(token)
    }

    /// The header that proves to have it.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether a header proves to have it. Takes the same time wherever the first difference is, so that
    /// nobody can find the token letter by letter.
    pub(crate) fn is_proved_by(&self, header: &[u8]) -> bool {
        let expected = self.header();
        let expected = expected.as_bytes();
        let same =
            expected.iter().zip(header).fold(0, |seen, (one, two)| std::hint::black_box(seen | (one ^ two)));
        same == 0 && expected.len() == header.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_compared() {
        let home = tempfile::tempdir().unwrap();
        assert!(Token::read(home.path()).unwrap().is_none());
        let made = Token::read_or_make(home.path()).unwrap();
        let again = Token::read_or_make(home.path()).unwrap();
        assert!(again.is_proved_by(made.header().as_bytes()));
        let other = made.header().replace(&made.0[..1], "x");
        for wrong in [String::new(), "Bearer ".into(), made.0.clone(), other, format!("{}0", made.header())] {
            assert!(!again.is_proved_by(wrong.as_bytes()), "{wrong}");
        }
        private::write(&home.path().join("token"), "short").unwrap();
        assert!(Token::read(home.path()).err().unwrap().to_string().contains("makes a new one"));
    }
}
