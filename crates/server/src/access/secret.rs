//! A token: 32 random bytes as text. Only its digest is kept in the store, and it is never shown again.

use std::fmt;

use sha2::{Digest, Sha256};

const BYTES: usize = 32;

/// A token in the clear. It is shown by nothing but [`Secret::reveal`].
#[derive(Clone)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Makes a new one. `None` if the system has no random numbers.
    pub fn random() -> Option<Secret> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).ok()?;
        Some(Secret(hex(&bytes)))
    }

    /// Reads one; `None` if the text is no token.
    pub fn parse(text: &str) -> Option<Secret> {
        let fits = text.len() == 2 * BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Secret(text.to_owned()))
    }

    /// The token itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        digest(&self.0)
    }
}

/// What is kept of a text that may be a token. Comparing digests tells nobody how much of a guess was right.
pub(crate) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Bytes as text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text as bytes.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_read_and_hidden() {
        let secret = Secret::random().unwrap();
        let again = Secret::parse(secret.reveal()).unwrap();
        assert_eq!(again.hash(), secret.hash());
        assert_ne!(Secret::random().unwrap().hash(), secret.hash());
        assert_eq!(format!("{secret:?}"), "Secret");
        for wrong in ["", "short", &"x".repeat(64), &format!("{}0", secret.reveal())] {
            assert!(Secret::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(unhex::<2>(&hex(&[1, 255])), Some([1, 255]));
        assert_eq!(unhex::<2>("ää"), None);
    }
}
